/** A run in 168 px: thin is a model, a block is a tool, hatched waits, `//` is time cut out, the right edge is now or the end. */
import type { Bar as Piece } from "../generated/types";
import { now } from "../api";

const WIDTH = 168;
const LONG = 1800;
const CUT = 12;

/** Longer is wider, but an hour is not sixty times a minute. */
const weight = (s: number): number => 1 + Math.log2(1 + Math.min(s, LONG) * 3);

export function Shape({ pieces: done, status, since }: { pieces: Piece[]; status: string; since: number }) {
  // A model that is still writing has no record yet.
  const writes = (status === "running" || status === "finishing") && !done.some((p) => p.end === null && p.kind !== "wait");
  const pieces = writes ? [...done, { kind: "model" as const, start: since, end: null, status: "running" as const }] : done;
  if (!pieces.length) {
    return (
      <svg class="strip" viewBox="0 0 168 22" aria-hidden="true">
        <line x1="0" x2="168" y1="11" y2="11" stroke="var(--edge)" stroke-dasharray="2 4" />
      </svg>
    );
  }
  const shown = pieces.slice(-40);
  const gap = shown.length > 16 ? 1 : 3;
  const cuts = shown.map((p, i) => i > 0 && p.start - end(shown.slice(0, i)) > 60);
  const long = shown.map((p) => (p.kind === "pause" || p.kind === "wait") && p.end !== null && p.end - p.start > LONG);
  const room = WIDTH - gap * (shown.length - 1) - CUT * (cuts.filter(Boolean).length + long.filter(Boolean).length);
  const total = shown.reduce((sum, p) => sum + weight((p.end ?? now()) - p.start), 0);
  let x = 0;
  return (
    <svg class="strip" viewBox="0 0 168 22" aria-hidden="true">
      {shown.map((p, i) => {
        const before = cuts[i] ? <Cut x={x} /> : null;
        if (cuts[i]) x += CUT;
        const w = Math.max(1.5, (weight((p.end ?? now()) - p.start) / total) * Math.max(20, room));
        const bar = <Bar piece={p} x={x} w={Math.min(w, WIDTH - x)} status={status} />;
        x += w;
        const after = long[i] ? <Cut x={x} /> : null;
        if (long[i]) x += CUT;
        x += gap;
        return [before, bar, after];
      })}
    </svg>
  );
}

const end = (pieces: Piece[]): number => Math.max(...pieces.map((p) => p.end ?? Infinity));

function Cut({ x }: { x: number }) {
  return <path d={`M${x + 2} 16l4-10M${x + 6} 16l4-10`} stroke="var(--edge)" stroke-width="1.2" stroke-linecap="round" />;
}

function Bar({ piece: p, x, w, status }: { piece: Piece; x: number; w: number; status: string }) {
  const block = { x: x + 0.5, y: 5.5, width: Math.max(1, w - 1), height: 11, rx: 1.5 };
  const running = p.end === null && status !== "waiting" && p.kind !== "undo";
  if (p.kind === "wait") return <rect {...block} fill="url(#p-wait)" stroke="var(--wait-m)" />;
  if (p.kind === "pause") return <rect {...block} fill="url(#p-pause)" stroke="var(--pause)" />;
  if (p.kind === "undo")
    return (
      <rect
        {...block}
        fill={p.end === null ? "none" : "var(--cancel-t)"}
        stroke="var(--cancel)"
        stroke-dasharray={p.end === null ? "2 2" : undefined}
      />
    );
  if (p.status === "failed") return <rect {...block} y={3} height={16} fill="var(--fail)" />;
  if (running) return <rect {...block} fill="var(--run)" />;
  if (p.kind === "model") return <rect x={x} y={9.5} width={w} height={3} rx={1.5} fill="var(--edge)" />;
  return <rect {...block} fill="var(--done)" />;
}
