/** The rows that are on the screen, and a few more: tens of thousands of runs, a few dozen elements. */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { effect, signal } from "@preact/signals";
import { useKeys } from "../keys";
import { row } from "../rows";
import { onMove } from "../window";
import { chosen } from "./chosen";
import { moved, want } from "./glances";
import { EmptyRow, Row } from "./row";
import { GROUPS, type GroupId } from "./groups";
import type { List, Section } from "./list";
import { many } from "../words";

const OVER = 8;
const AHEAD = 12;
const narrow = matchMedia("(max-width: 640px)");
const height = signal(narrow.matches ? 92 : 64);
narrow.addEventListener("change", (e) => (height.value = e.matches ? 92 : 64));

interface Window {
  from: number;
  to: number;
}

export function Rows({ list }: { list: List }) {
  const sections = list.sections.value ?? [];
  const boxes = useRef(new Map<GroupId, HTMLElement>());
  const [windows, setWindows] = useState<Partial<Record<GroupId, Window>>>({});
  const [selected, setSelected] = useState("");
  const h = height.value;

  const look = useCallback((): void => {
    const next: Partial<Record<GroupId, Window>> = {};
    const visible: string[] = [];
    for (const s of list.sections.peek() ?? []) {
      const box = boxes.current.get(s.id);
      if (!box) continue;
      const top = box.getBoundingClientRect().top;
      const first = Math.floor(-top / h);
      const last = Math.ceil((innerHeight - top) / h);
      const within = { from: Math.max(0, first - OVER), to: Math.min(s.ids.length, last + OVER) };
      next[s.id] = within.to > within.from ? within : { from: 0, to: 0 };
      visible.push(...s.ids.slice(Math.max(0, first), Math.max(0, last)));
      if (last + AHEAD > s.ids.length && top < innerHeight && s.feed && !s.feed.done) void list.more(s.id);
    }
    setWindows((old) => (same(old, next) ? old : next));
    want(visible);
  }, [list, h]);

  useLayoutEffect(look, [sections, h]);
  useEffect(() => onMove(look), [look]);
  // A visible row that has moved is asked about again.
  useEffect(
    () =>
      effect(() => {
        for (const s of list.sections.value ?? []) {
          const w = windows[s.id];
          for (const id of s.ids.slice(w?.from ?? 0, w?.to ?? 0)) row(id)?.value;
        }
        moved();
      }),
    [list, windows],
  );

  const flat = sections.flatMap((s) => s.ids);
  const step = (by: number): void => {
    const at = flat.indexOf(selected);
    const id = flat[Math.min(flat.length - 1, Math.max(0, at < 0 ? (by > 0 ? 0 : flat.length - 1) : at + by))];
    if (id) choose(id);
  };
  const choose = (id: string): void => {
    setSelected(id);
    const s = sections.find((x) => x.ids.includes(id));
    const box = s && boxes.current.get(s.id);
    if (!s || !box) return;
    const top = box.getBoundingClientRect().top + s.ids.indexOf(id) * h;
    if (top < 120) scrollBy(0, top - 120);
    else if (top + h > innerHeight - 80) scrollBy(0, top + h - innerHeight + 80);
    requestAnimationFrame(() =>
      requestAnimationFrame(() =>
        document.querySelector<HTMLElement>(`[data-row-link="${CSS.escape(id)}"]`)?.focus({ preventScroll: true }),
      ),
    );
  };
  useKeys({ j: () => step(1), k: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1), x: () => selected && chosen.toggle(selected) });

  const enter = useCallback((id: string) => {
    list.held = id;
  }, [list]);
  const leave = useCallback((id: string) => {
    if (list.held === id) list.held = "";
  }, [list]);
  const tabbed = selected && flat.includes(selected) ? selected : flat[0];
  let before = 0;
  return (
    <div role="grid" aria-label="Runs" aria-rowcount={sections.some((s) => s.feed && !s.feed.done) ? -1 : flat.length + 1} class="runs">
      <div class="rl h" role="row" aria-rowindex={1}>
        {["Status", "Run", "Now", "Shape", "Cost", "Age"].map((word) => (
          <div key={word} role="columnheader" class={`c-${word.toLowerCase()} ${word === "Cost" || word === "Age" ? "end" : ""}`}>
            {word}
          </div>
        ))}
      </div>
      {sections.map((s) => {
        const base = before;
        before += s.ids.length;
        const w = windows[s.id] ?? { from: 0, to: Math.min(s.ids.length, 20) };
        const shown = s.ids.slice(w.from, w.to).map((id, i) => ({ id, at: w.from + i }));
        const kept = tabbed === undefined ? -1 : s.ids.indexOf(tabbed);
        if (kept >= 0 && (kept < w.from || kept >= w.to)) shown.push({ id: s.ids[kept] as string, at: kept });
        return (
          <div key={s.id} role="rowgroup" aria-label={GROUPS[s.id].word}>
            <section role="presentation" data-group={s.id}>
              <GroupHead section={s} />
              <div
                class="card list"
                ref={(el) => void (el ? boxes.current.set(s.id, el) : boxes.current.delete(s.id))}
                style={{ height: `${s.ids.length * h + 2}px` }}
              >
                {shown.map(({ id, at }) => (
                  <Row
                    key={id}
                    id={id}
                    top={at * h}
                    index={base + at}
                    last={at === s.ids.length - 1}
                    selected={id === tabbed && (id === selected || kept >= 0)}
                    leaving={list.leaving.value.has(id)}
                    enter={enter}
                    leave={leave}
                  />
                ))}
              </div>
              {s.feed && !s.feed.done ? <EmptyRow n={0} /> : null}
            </section>
          </div>
        );
      })}
    </div>
  );
}

function GroupHead({ section: s }: { section: Section }) {
  const note = s.id === "needs" ? "soonest expiry first" : GROUPS[s.id].note;
  return (
    <div class="grp" role="row">
      <span role="gridcell" class="row">
        <b>{GROUPS[s.id].word}</b>
        <span class="t3 num">{many(s.ids.length) + (s.feed && !s.feed.done ? "+" : "")}</span>
      </span>
      <span class="grow" />
      <span class="t3 sm">{note}</span>
    </div>
  );
}

function same(a: Partial<Record<GroupId, Window>>, b: Partial<Record<GroupId, Window>>): boolean {
  const keys = Object.keys(b) as GroupId[];
  return keys.length === Object.keys(a).length && keys.every((k) => a[k]?.from === b[k]?.from && a[k]?.to === b[k]?.to);
}
