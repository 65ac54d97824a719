/** A flow's graph as boxes on a plane, left to right: what opens together stands one under the other, and closes together. */
import type { Graph, GraphItem } from "../types";

export interface Box {
  key: string;
  name: string;
  kind: string;
  x: number;
  y: number;
  branch: string;
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
}

export const W = 188;
export const H = 56;
const GAP_X = 74;
const GAP_Y = 30;

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

  private unique(key: string): string {
    const n = this.seen.get(key) ?? 0;
    this.seen.set(key, n + 1);
    return n ? `${key}~${n}` : key;
  }

  private link(ends: Ends, to: string): void {
    for (const from of ends.from) this.edges.push({ from, to, label: ends.label });
  }

  chain(items: GraphItem[], label: string, x: number, y: number, from: Ends): Laid {
    const sizes = items.map((i) => size(i));
    const tall = Math.max(H, ...sizes.map((s) => s.h));
    let at = x;
    let ends: Ends = from;
    items.forEach((item, n) => {
      const s = sizes[n] ?? { w: W, h: H };
      const laid = this.item(item, label, at, y + (tall - s.h) / 2, ends);
      at += laid.w + GAP_X;
      ends = { from: laid.ends, label: "" };
    });
    return { ends: ends.from, w: Math.max(0, at - x - GAP_X), h: tall, mid: y + tall / 2 };
  }

  private item(item: GraphItem, label: string, x: number, y: number, from: Ends): Laid {
    const name = String(item["name"] ?? item["event"] ?? item.is);
    const branches = branchesOf(item);
    if (!branches.length) return this.box(item, name, label, x, y, from);
    const joined = item.is === "batch" || item.is === "each";
    const s = size(item);
    if (joined)
      this.frames.push({
        key: `${label}${name}`,
        x,
        y,
        w: s.w - (item.is === "batch" ? 62 : 0),
        h: s.h,
        label: item.is === "each" ? `${name} · for each` : name,
      });
    let inner = y + (joined ? 40 : 0);
    const ends: string[] = [];
    for (const b of branches) {
      const prefix = item.is === "batch" ? `${label}${name}.${b.key}/` : `${label}${name}/`;
      const laid = this.chain(b.items, prefix, x + (joined ? 14 : 0), inner, { from: from.from, label: b.label || from.label });
      ends.push(...(b.items.length ? laid.ends : from.from));
      inner += laid.h + GAP_Y;
    }
    if (item.is === "batch") {
      const key = this.unique(`${label}${name}!join`);
      const join: Join = { key, x: x + s.w - 18, y: y + s.h / 2, of: branches.length, parts: ends };
      this.joins.push(join);
      for (const e of ends) this.edges.push({ from: e, to: key, label: "" });
      return { ends: [key], w: s.w, h: s.h, mid: join.y };
    }
    return { ends, w: s.w, h: s.h, mid: y + s.h / 2 };
  }

  private box(item: GraphItem, name: string, label: string, x: number, y: number, from: Ends): Laid {
    const key = this.unique(`${label}${name}`);
    this.boxes.push({ key, name, kind: item.is, x, y, branch: label });
    this.link(from, key);
    return { ends: [key], w: W, h: H, mid: y + H / 2 };
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

function size(item: GraphItem): { w: number; h: number } {
  const branches = branchesOf(item);
  if (!branches.length) return { w: W, h: H };
  const inner = branches.map((b) => chainSize(b.items));
  const joined = item.is === "batch" || item.is === "each";
  const w = Math.max(W, ...inner.map((s) => s.w)) + (joined ? 28 : 0) + (item.is === "batch" ? 62 : 0);
  const h = inner.reduce((sum, s) => sum + s.h, 0) + GAP_Y * (inner.length - 1) + (joined ? 54 : 0);
  return { w, h };
}

function chainSize(items: GraphItem[]): { w: number; h: number } {
  const all = items.map(size);
  return { w: all.reduce((s, i) => s + i.w, 0) + GAP_X * Math.max(0, all.length - 1), h: Math.max(H, ...all.map((i) => i.h)) };
}

/** Every chain of the graph, one under the other. */
export function planeOf(graph: Graph): Plane {
  const layout = new Layout();
  let y = 24;
  let w = 0;
  graph.chains.forEach((c, n) => {
    const event = whenOf(c as Record<string, unknown>);
    const label = event ? `when${n}/` : "";
    let x = 18;
    let from: Ends = { from: [], label: "" };
    if (event) {
      const key = `@${event}`;
      layout.boxes.push({ key, name: event, kind: "when", x, y, branch: "" });
      from = { from: [key], label: "" };
      x += W + GAP_X;
    }
    const laid = layout.chain(c.items ?? [], label, x, y, from);
    w = Math.max(w, x + laid.w);
    y += laid.h + GAP_Y + 6;
  });
  return { boxes: layout.boxes, frames: layout.frames, joins: layout.joins, edges: layout.edges, w: w + 24, h: y };
}

function whenOf(chain: Record<string, unknown>): string {
  for (const name of ["when", "any", "all", "collected"]) {
    const found = chain[name];
    if (typeof found === "string" && found) return found;
    if (Array.isArray(found) && found.length) return found.join(name === "all" ? " and " : " or ");
  }
  return "";
}
