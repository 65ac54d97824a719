/** Values as they are: exact, whole, typed. Long ones scroll, and it is known whether their end was seen. */
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Icon } from "../ui";
import { hidden, Shown, pieces, Visible, visible } from "../visible";
import { count, many } from "../words";
import type { Change } from "./diff";
import { isObj, Num, readingAid, write, type Json } from "./json";
import { describe, keyOf, nameOfPath, resolve, type Path } from "./schema";

/** Which values have an end that was not yet seen, by name. */
export class Reading {
  readonly unread = signal<ReadonlyMap<string, string>>(new Map());
  private readonly done = new Set<string>();

  mark(key: string, name: string, seen: boolean): void {
    if (seen) this.done.add(key);
    const is = this.unread.peek().has(key);
    const should = !this.done.has(key);
    if (is === should) return;
    const next = new Map(this.unread.peek());
    if (should) next.set(key, name);
    else next.delete(key);
    this.unread.value = next;
  }

  /** Why nothing can be approved yet, or "". */
  get off(): string {
    const [first] = this.unread.value.values();
    return first === undefined ? "" : `read ${visible(first) || "the value"} to its end first`;
  }
}

const BLOCK = 16_000;
const NEAR = 400;
const END = 6;

/** A text in blocks that end between words, so that none is too much to draw at once. */
export function blocks(text: string): string[] {
  const out: string[] = [];
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + BLOCK);
    if (to < text.length) {
      const space = Math.max(text.lastIndexOf(" ", to), text.lastIndexOf("\n", to));
      if (space > from + BLOCK / 2) to = space + 1;
      else if (/[\ud800-\udbff]/.test(text[to - 1]!)) to += 1;
    }
    out.push(text.slice(from, to));
    from = to;
  }
  return out;
}

interface BoxProps {
  text: string;
  name: string;
  reading?: Reading | undefined;
  place?: string;
  class?: string;
  quoted?: boolean;
  /** JSON on lines: its line feeds are ours, those of the value are escaped. */
  pretty?: boolean;
}

/** A text, whole. Over twenty lines it scrolls, and its end is marked as seen when it was. */
export function Whole({ text, name, reading, place = name, class: look = "val", quoted = false, pretty = false }: BoxProps) {
  const box = useRef<HTMLDivElement>(null);
  // The same element again is passed over: what is drawn already costs nothing.
  const parts = useMemo(
    () => blocks(text).map((part, n, all) => <Block key={n} text={part} pretty={pretty} one={all.length === 1} />),
    [text],
  );
  const [drawn, setDrawn] = useState(1);
  const [scrolls, setScrolls] = useState(false);
  const all = drawn >= parts.length;
  const look_ = (): void => {
    const el = box.current;
    if (!el) return;
    const left = el.scrollHeight - el.clientHeight - el.scrollTop;
    setScrolls(el.scrollHeight > el.clientHeight + 1 || !all);
    if (!all && left < NEAR) setDrawn((n) => Math.min(parts.length, n + 1));
    reading?.mark(place, name, all && left <= END);
  };
  useLayoutEffect(look_, [drawn, text]);
  useEffect(() => {
    const watcher = new ResizeObserver(look_);
    if (box.current) watcher.observe(box.current);
    return () => watcher.disconnect();
  }, [drawn, text]);
  const label = `${visible(name)}, ${many([...text].length)} characters`;
  return (
    <div
      ref={box}
      class={`${look} whole ${quoted ? "quoted" : ""} ${scrolls ? "scrolls" : ""}`}
      onScroll={look_}
      {...(scrolls ? { tabIndex: 0, role: "region", "aria-label": label } : {})}
    >
      <bdi>{parts.slice(0, drawn)}</bdi>
      {all ? null : <span class="t3 more"> … more follows as you scroll</span>}
    </div>
  );
}

/** A part of a long text is a box of its own, which the browser skips while it is out of sight. */
function Block({ text, pretty, one }: { text: string; pretty: boolean; one: boolean }) {
  const drawn = useMemo(() => pieces(text).map((p, n) => (pretty && p.code === 10 ? "\n" : <Shown key={n} piece={p} />)), [text]);
  return one ? drawn : <span class="part">{drawn}</span>;
}

/** How many characters of a value hide. */
export function Hiding({ n, children }: { n: number; children?: ComponentChildren }) {
  if (!n) return null;
  return (
    <div class="hiding sm fail">
      <Icon name="fail" />
      <span class="grow">
        {n === 1 ? "1 character that cannot normally be seen. It is" : `${many(n)} characters that cannot normally be seen. They are`} part
        of the value.
      </span>
      {children}
    </div>
  );
}

const SHORT = 80;

/** One value: exact, with what helps the eye beside it in grey. */
export function Value({ value, name, place, reading }: { value: Json; name: string; place: string; reading?: Reading | undefined }) {
  const unseen = useMemo(() => (typeof value === "string" ? hidden(value) : 0), [value]);
  if (typeof value === "string") {
    const plain = value.length <= SHORT && !unseen && !/[\n\t]/.test(value);
    if (plain)
      return (
        <div class="val">
          <Visible text={JSON.stringify(value)} />
        </div>
      );
    return (
      <>
        <Whole text={value} name={name} place={place} reading={reading} quoted />
        <Hiding n={unseen} />
      </>
    );
  }
  if (value instanceof Num) {
    const aid = readingAid(value.text);
    return (
      <div class="val">
        {value.text}
        {aid ? (
          <span class="aid" title="to help reading; not part of the value">
            {aid}
          </span>
        ) : null}
      </div>
    );
  }
  if (value === null || typeof value === "boolean") return <div class="val">{write(value)}</div>;
  const line = write(value);
  const text = line.length <= SHORT ? line : write(value, 2);
  return (
    <>
      <Whole text={text} name={name} place={place} reading={reading} pretty />
      <Hiding n={hidden(text)} />
    </>
  );
}

export interface Leaf {
  path: Path;
  value: Json;
  schema: Json | undefined;
  required: boolean;
}

/** The rows of a value: groups and lists of groups are opened, lists of plain values are one row. */
export function leaves(value: Json, schema: Json | undefined, root: Json | undefined, path: Path = [], required = false): Leaf[] {
  const { schema: s } = resolve(schema, root);
  if (isObj(value) && value.size) {
    const known = s.get("properties");
    const needed = s.get("required");
    return [...value].flatMap(([k, v]) =>
      leaves(v, isObj(known) ? known.get(k) : undefined, root, [...path, k], Array.isArray(needed) && needed.includes(k)),
    );
  }
  if (Array.isArray(value) && value.some((v) => isObj(v) || Array.isArray(v))) {
    return value.flatMap((v, n) => leaves(v, s.get("items"), root, [...path, n]));
  }
  return [{ path, value, schema, required }];
}

/** What a row says about its type. */
export function typeLine(leaf: Leaf, root: Json | undefined): string {
  const parts = [describe(leaf.schema, root, leaf.value)];
  if (leaf.required) parts.push("required");
  if (typeof leaf.value === "string" && leaf.value.length > SHORT) parts.push(`${count([...leaf.value].length, "character")}, all shown`);
  if (Array.isArray(leaf.value)) parts.push(many(leaf.value.length));
  return parts.join(" · ");
}

/** Every leaf of a value, one a row. `changes`: what will be different, shown old → new in its row. */
export function Rows({
  value,
  schema,
  reading,
  changes = [],
  label,
}: {
  value: Json;
  schema?: Json | undefined;
  reading?: Reading;
  changes?: Change[];
  label: string;
}) {
  const found = leaves(value, schema, schema);
  const news = new Map(changes.map((c) => [keyOf(c.path), c]));
  if (isObj(value) && !value.size) return <p class="none t3">No arguments.</p>;
  return (
    <dl class="form" aria-label={label}>
      {found.map((leaf) => (
        <Row key={keyOf(leaf.path)} leaf={leaf} root={schema} reading={reading} change={news.get(keyOf(leaf.path))} />
      ))}
    </dl>
  );
}

function Row({
  leaf,
  root,
  reading,
  change,
}: {
  leaf: Leaf;
  root: Json | undefined;
  reading?: Reading | undefined;
  change: Change | undefined;
}) {
  const name = nameOfPath(leaf.path);
  const type = useMemo(() => typeLine(leaf, root), [leaf.value, root]);
  return (
    <div class="fr" data-field={name}>
      <dt>
        <div class="k">
          <Visible text={name || "value"} />
        </div>
        <div class="ty">
          <Visible text={type} />
        </div>
      </dt>
      <dd>
        {change && change.now !== undefined ? (
          <div class="val">
            <OldNew change={change} />
          </div>
        ) : (
          <Value value={leaf.value} name={name} place={keyOf(leaf.path)} reading={reading} />
        )}
      </dd>
    </div>
  );
}

/** Old → new. */
export function OldNew({ change: c }: { change: Change }) {
  return (
    <>
      {c.was === undefined ? (
        <span class="t3">nothing</span>
      ) : (
        <del>
          <Visible text={brief(c.was)} />
        </del>
      )}
      <span aria-label="becomes"> → </span>
      {c.now === undefined ? (
        <span class="t3">nothing</span>
      ) : (
        <ins>
          <Visible text={brief(c.now)} />
        </ins>
      )}
    </>
  );
}

const BANNER = 400;
/** A value in a banner: long ones are shown whole in the new action itself. */
function brief(v: Json): string {
  const text = write(v);
  return text.length > BANNER ? `${text.slice(0, BANNER)}… (${many(text.length)} characters)` : text;
}
