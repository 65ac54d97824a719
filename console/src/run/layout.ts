/** A flow's graph as boxes on a plane, left to right: what opens together stands one under the other, and closes together. On a phone
 * it runs down, and what opens together stands side by side: laid out as if it ran to the right, then turned. */
import { branchLabel, labelOf } from "../ids";
import type { Graph, GraphItem } from "../types";

export interface Box {
  key: string;
  name: string;
  kind: string;
  x: number;
  y: number;
  /** Where its calls stand: several boxes may be one place. */
  place: string;
  /** The branches that it is in, of ifs and matches, from the outside in: of each only one is taken. */
  arms: readonly Arm[];
}
export interface Arm {
  /** Which if or match, and which of its branches. */
  of: number;
  branch: number;
}
export interface Frame {
  x: number;
  y: number;
  w: number;
  h: number;
  label: string;
  key: string;
}
export interface Join {
  key: string;
  x: number;
  y: number;
  of: number;
  parts: string[];
  /** The key of its frame. */
  frame: string;
}
export interface Edge {
  from: string;
  to: string;
  label: string;
}
export interface Plane {
  boxes: Box[];
  frames: Frame[];
  joins: Join[];
  edges: Edge[];
  w: number;
  h: number;
  /** How wide a box is; all are `H` high. */
  box: number;
}

export const H = 56;
/** Sizes along the way that a flow runs, and across it: of a box, between boxes, and from a frame to what is in it. */
interface Way {
  along: number;
  across: number;
  gap: number;
  beside: number;
  lead: number;
  ends: number;
  side: number;
  sides: number;
  edge: number;
}
const RIGHT: Way = { along: 188, across: H, gap: 74, beside: 30, lead: 14, ends: 28, side: 40, sides: 54, edge: 24 };
const DOWN: Way = { along: H, across: 160, gap: 44, beside: 12, lead: 40, ends: 54, side: 14, sides: 28, edge: 12 };
const TO_JOIN = 62;

/** What a chain leaves behind: the ends that the next item goes on from, and how much room it took. */
interface Laid {
  ends: string[];
  w: number;
  h: number;
  mid: number;
}
type Ends = { from: string[]; label: string };

class Layout {
  boxes: Box[] = [];
  frames: Frame[] = [];
  joins: Join[] = [];
  edges: Edge[] = [];
  private seen = new Map<string, number>();
  private choices = 0;
  constructor(private way: Way) {}

  private unique(key: string): string {
    const n = this.seen.get(key) ?? 0;
    this.seen.set(key, n + 1);
    return n ? `${key}~${n}` : key;
  }

  private link(ends: Ends, to: string): void {
    for (const from of ends.from) this.edges.push({ from, to, label: ends.label });
  }

  chain(items: GraphItem[], label: string, x: number, y: number, from: Ends, arms: readonly Arm[] = []): Laid {
    const sizes = items.map((i) => size(i, this.way));
    const tall = Math.max(this.way.across, ...sizes.map((s) => s.h));
    let at = x;
    let ends: Ends = from;
    items.forEach((item, n) => {
      const s = sizes[n] ?? { w: this.way.along, h: this.way.across };
      const laid = this.item(item, label, at, y + (tall - s.h) / 2, ends, arms);
      at += laid.w + this.way.gap;
      ends = { from: laid.ends, label: "" };
    });
    return { ends: ends.from, w: Math.max(0, at - x - this.way.gap), h: tall, mid: y + tall / 2 };
  }

  private item(item: GraphItem, label: string, x: number, y: number, from: Ends, arms: readonly Arm[]): Laid {
    const name = String(item["name"] ?? item["event"] ?? item.is);
    const place = `${label}${name}`;
    const branches = branchesOf(item);
    if (!branches.length) return this.box({ place, name, kind: item.is, x, y, arms }, from);
    const choice = item.is === "if" || item.is === "match" ? this.choices++ : -1;
    const joined = item.is === "batch" || item.is === "each";
    const s = size(item, this.way);
    if (joined)
      this.frames.push({
        key: place,
        x,
        y,
        w: s.w - (item.is === "batch" ? TO_JOIN : 0),
        h: s.h,
        label: item.is === "each" ? `${name} · for each` : name,
      });
    let inner = y + (joined ? this.way.side : 0);
    const ends: string[] = [];
    for (const [branch, b] of branches.entries()) {
      const prefix = item.is === "batch" ? branchLabel(place, b.key) : labelOf(place);
      const within = choice < 0 ? arms : [...arms, { of: choice, branch }];
      const laid = this.chain(b.items, prefix, x + (joined ? this.way.lead : 0), inner, { from: from.from, label: b.label || from.label }, within);
      ends.push(...(b.items.length ? laid.ends : from.from));
      inner += laid.h + this.way.beside;
    }
    if (item.is === "batch") {
      const key = this.unique(`${place}!join`);
      const join: Join = { key, x: x + s.w - 18, y: y + s.h / 2, of: branches.length, parts: ends, frame: place };
      this.joins.push(join);
      for (const e of ends) this.edges.push({ from: e, to: key, label: "" });
      return { ends: [key], w: s.w, h: s.h, mid: join.y };
    }
    return { ends, w: s.w, h: s.h, mid: y + s.h / 2 };
  }

  private box(box: Omit<Box, "key">, from: Ends): Laid {
    const key = this.unique(box.place);
    this.boxes.push({ ...box, key });
    this.link(from, key);
    return { ends: [key], w: this.way.along, h: this.way.across, mid: box.y + this.way.across / 2 };
  }
}

interface Branch {
  key: string;
  label: string;
  items: GraphItem[];
}

function branchesOf(item: GraphItem): Branch[] {
  const list = (x: unknown): GraphItem[] => (Array.isArray(x) ? (x as GraphItem[]) : []);
  switch (item.is) {
    case "batch":
      return Object.entries((item["branches"] ?? {}) as Record<string, GraphItem[]>).map(([key, items]) => ({
        key,
        label: "",
        items: list(items),
      }));
    case "each":
    case "side":
      return [{ key: "", label: item.is === "side" ? "aside" : "", items: list(item["body"]) }];
    case "if":
    case "match": {
      const names = (item.is === "if" ? item["conditions"] : item["values"]) as unknown[] | undefined;
      const made = ((item["branches"] ?? []) as GraphItem[][]).map((items, n) => ({
        key: String(n),
        label: item.is === "if" ? `when ${String(names?.[n] ?? "")}` : `= ${JSON.stringify(names?.[n])}`,
        items: list(items),
      }));
      const rest = list(item["otherwise"]);
      return [...made, { key: "else", label: "else", items: rest }];
    }
    case "flow": {
      const chains = ((item["graph"] as Graph | undefined)?.chains ?? []).filter((c) => list(c.items).length);
      return chains.map((c, n) => ({ key: String(n), label: "", items: list(c.items) }));
    }
    default:
      return [];
  }
}

function size(item: GraphItem, way: Way): { w: number; h: number } {
  const branches = branchesOf(item);
  if (!branches.length) return { w: way.along, h: way.across };
  const inner = branches.map((b) => chainSize(b.items, way));
  const joined = item.is === "batch" || item.is === "each";
  const w = Math.max(way.along, ...inner.map((s) => s.w)) + (joined ? way.ends : 0) + (item.is === "batch" ? TO_JOIN : 0);
  const h = inner.reduce((sum, s) => sum + s.h, 0) + way.beside * (inner.length - 1) + (joined ? way.sides : 0);
  return { w, h };
}

function chainSize(items: GraphItem[], way: Way): { w: number; h: number } {
  const all = items.map((i) => size(i, way));
  return { w: all.reduce((s, i) => s + i.w, 0) + way.gap * Math.max(0, all.length - 1), h: Math.max(way.across, ...all.map((i) => i.h)) };
}

/** Every chain of the graph, one under the other; if it runs `down`, one beside the other. */
export function planeOf(graph: Graph, down = false): Plane {
  const way = down ? DOWN : RIGHT;
  const layout = new Layout(way);
  let y = way.edge;
  let w = 0;
  graph.chains.forEach((c, n) => {
    const event = whenOf(c as Record<string, unknown>);
    const label = event ? labelOf(`when${n}`) : "";
    let x = 18;
    let from: Ends = { from: [], label: "" };
    if (event) {
      const key = `@${event}`;
      layout.boxes.push({ key, name: event, kind: "when", x, y, place: key, arms: [] });
      from = { from: [key], label: "" };
      x += way.along + way.gap;
    }
    const laid = layout.chain(c.items ?? [], label, x, y, from);
    w = Math.max(w, x + laid.w);
    y += laid.h + way.beside + 6;
  });
  const { boxes, frames, joins, edges } = layout;
  if (!down) return { boxes, frames, joins, edges, w: w + 24, h: y, box: way.along };
  return { boxes: boxes.map(turned), frames: frames.map((f) => ({ ...turned(f), w: f.h, h: f.w })), joins: joins.map(turned), edges, w: y, h: w + 24, box: way.across };
}

const turned = <T extends { x: number; y: number }>(at: T): T => ({ ...at, x: at.y, y: at.x });

function whenOf(chain: Record<string, unknown>): string {
  for (const name of ["when", "any", "all", "collected"]) {
    const found = chain[name];
    if (typeof found === "string" && found) return found;
    if (Array.isArray(found) && found.length) return found.join(name === "all" ? " and " : " or ");
  }
  return "";
}
