/** The list at the left: rows of one height, so that of thousands only those in sight are drawn. */
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { now } from "../api";
import { tick } from "../live";
import { Link } from "../router";
import { Icon } from "../ui";
import { shownText, visible } from "../visible";
import { count, rough } from "../words";
import { afterUnhalt } from "../touched";
import { escalatedWords, type Item } from "./items";
import { afterwards, isCheck, kindOf, titleOf } from "./naming";
import { picked } from "./chosen";
import { alikeCount, gone, itemBy, newer, order, showNewer, touched } from "./pending";

export const ROW = 84;
const MARGIN = 4;

/** Where an item is. */
export const addressOf = (ref: string, search: string): string => `/inbox/${encodeURIComponent(ref)}${search}`;

export function List({ on, search }: { on: string; search: string }) {
  const box = useRef<HTMLDivElement>(null);
  const range = useSignal({ from: 0, to: 12 });
  const refs = order.value;
  const measure = (): void => {
    const el = box.current;
    if (!el) return;
    const from = Math.max(0, Math.floor(el.scrollTop / ROW) - MARGIN);
    const to = Math.ceil((el.scrollTop + el.clientHeight) / ROW) + MARGIN;
    if (from !== range.peek().from || to !== range.peek().to) range.value = { from, to };
  };
  useLayoutEffect(measure, [refs.length]);
  useEffect(() => {
    const watcher = new ResizeObserver(measure);
    if (box.current) watcher.observe(box.current);
    return () => {
      watcher.disconnect();
      touched.pointer = touched.focus = false;
    };
  }, []);
  useEffect(() => reveal(box.current, refs.indexOf(on)), [on]);
  const { from, to } = range.value;
  return (
    <>
      {newer.value.length ? (
        <button type="button" class="newer" onClick={showNewer}>
          {count(newer.value.length, "newer", "newer")} <kbd aria-hidden="true">.</kbd>
        </button>
      ) : null}
      <div
        class="scroll"
        ref={box}
        onScroll={measure}
        onPointerEnter={() => (touched.pointer = true)}
        onPointerLeave={() => (touched.pointer = false)}
        onFocusIn={() => (touched.focus = true)}
        onFocusOut={() => (touched.focus = false)}
      >
        <ul class="il-list" role="list" aria-label="Waiting for a person" style={{ height: `${refs.length * ROW}px` }}>
          {refs.slice(from, to).map((ref, n) => {
            const item = itemBy(ref);
            return item ? <Row key={ref} item={item} on={ref === on} n={from + n} of={refs.length} search={search} /> : null;
          })}
        </ul>
      </div>
    </>
  );
}

/** Bring a row into sight, moving no more than needed. */
function reveal(el: HTMLElement | null, n: number): void {
  if (!el || n < 0) return;
  if (n * ROW < el.scrollTop) el.scrollTop = n * ROW;
  else if ((n + 1) * ROW > el.scrollTop + el.clientHeight) el.scrollTop = (n + 1) * ROW - el.clientHeight;
}

function When({ item: i }: { item: Item }) {
  tick.value;
  if (i.expiresAt === null)
    return (
      <span class="t3 num" title="waiting for">
        {rough(now() - i.openedAt)}
      </span>
    );
  const left = i.expiresAt - now();
  return <span class={`num ${left < 60 ? "fail" : "t3"}`}>{left <= 0 ? "expired" : `expires ${rough(left)}`}</span>;
}

function Row({ item: i, on, n, of, search }: { item: Item; on: boolean; n: number; of: number; search: string }) {
  const [glyph, word] = kindOf(i);
  const { tool, rest } = titleOf(i);
  const leaving = gone.value.has(i.ref);
  const others = leaving ? 0 : alikeCount(i);
  const after = leaving ? "" : afterUnhalt(i.kind, [i.agent], i.call?.tool ?? "");
  const tone = i.kind === "error" || i.kind === "undo" ? "fail" : "wait";
  const why = i.call?.reason || (isCheck(i) ? "let it pass or stop" : i.kind === "limit" ? "extend it or stop" : i.kind === "in_doubt" ? "its end was not recorded" : "");
  return (
    <li class="il-at" style={{ top: `${n * ROW}px` }} aria-setsize={of} aria-posinset={n + 1} data-ref={i.ref}>
      {leaving ? null : (
        <label class="pick-item" title="Choose, to decide several at once">
          <input
            type="checkbox"
            tabIndex={on ? 0 : -1}
            aria-label={`Choose ${visible(`${tool} ${rest}`.trim())}`}
            checked={picked.ids.value.has(i.ref)}
            onChange={() => picked.toggle(i.ref)}
          />
        </label>
      )}
      <Link to={addressOf(i.ref, search)} class={`il ${on ? "on" : ""} ${leaving ? "leaving" : ""}`} aria-current={on ? "true" : undefined}>
        <div class="row sm">
          <span class={tone}>
            <Icon name={glyph} />
          </span>
          <b class={`${tone} semi`}>{leaving ? "No longer open" : word}</b>
          {i.escalated && !leaving ? (
            <span class="tag fail" title={escalatedWords(i, afterwards(i))} data-escalated>
              Escalated
            </span>
          ) : null}
          <span class="grow" />
          {leaving ? null : <When item={i} />}
        </div>
        <div class="clip what">
          {tool ? <span class="mono">{shownText(tool)}</span> : null} {shownText(rest)}
        </div>
        <div class="row sm t3">
          <span class="clip grow">
            {shownText(i.agent)}
            {after || why ? " · " : ""}
            {shownText(after || why.slice(0, 200))}
          </span>
          {i.assigned ? (
            <span class="tag" data-assigned>
              → {shownText(i.assigned)}
            </span>
          ) : null}
          {others ? (
            <span class="tag">
              <Icon name="copy" />
              {others} more the same
            </span>
          ) : null}
        </div>
      </Link>
    </li>
  );
}
