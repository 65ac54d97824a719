/** The parts that every page is made of. Glyph, word and colour always come together; a button that is off says why. */
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX, RefObject } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { now, Problem } from "./api";
import type { RunStatus } from "./generated/types";
import { STATUS_WORDS } from "./generated/words";
import { tick } from "./live";
import { ago, exactTime, rough, duration, remaining, shortId } from "./words";
import { Visible } from "./visible";

// Glyphs and statuses

export function Icon({ name, size = "s" }: { name: string; size?: "s" | "m" | "l" }) {
  return (
    <svg class={`i ${size === "m" ? "" : size}`} aria-hidden="true" focusable="false">
      <use href={`#i-${name}`} />
    </svg>
  );
}

/** Of a run: status → tone (its colour's class), glyph. */
const LOOKS: Record<RunStatus, readonly [tone: string, glyph: string]> = {
  ready: ["idle", "ready"],
  held: ["idle", "ready"],
  running: ["run", "run"],
  waiting: ["wait", "wait"],
  pausing: ["pause", "pausing"],
  paused: ["pause", "pause"],
  completed: ["done", "done"],
  stopped: ["cancel", "cancel"],
  failed: ["fail", "fail"],
  cancelling: ["cancel", "undo"],
  stuck: ["wait", "doubt"],
  cancelled: ["cancel", "cancel"],
};

/** Status → tone, glyph, word: those of a run, and those that only steps and items have. */
export const STATUSES: Record<string, readonly [tone: string, glyph: string, word: string]> = {
  ...Object.fromEntries((Object.keys(LOOKS) as RunStatus[]).map((s) => [s, [...LOOKS[s], STATUS_WORDS[s]] as const])),
  finishing: ["run", "run", "Finishing…"],
  done: ["done", "done", "Done"],
  undone: ["cancel", "undo", "Undone"],
  denied: ["cancel", "denied", "Denied"],
  expired: ["cancel", "expired", "Expired"],
  in_doubt: ["wait", "doubt", "In doubt"],
  skipped: ["idle", "cancel", "Not run"],
  new: ["idle", "ready", "Not started"],
};

/** A status: glyph, word and colour. */
export function Pill({ status, bare = false }: { status: string; bare?: boolean }) {
  const [tone, glyph, word] = STATUSES[status] ?? ["idle", "ready", status];
  return (
    <span class={`st ${tone} ${bare ? "" : "pill"}`} data-status={status}>
      <Icon name={glyph} />
      {word}
    </span>
  );
}

// Buttons

export interface ButtonProps {
  children: ComponentChildren;
  onClick?: (e: MouseEvent) => void;
  /** Why it is off; it stays where it is, can be focused, and says so. */
  off?: string;
  /** What it says while what it asked for is not yet recorded. */
  busy?: string;
  look?: "" | "p" | "q" | "d" | "dp";
  big?: boolean;
  icon?: string;
  keys?: string;
  label?: string;
  type?: "button" | "submit";
  class?: string;
  focusRef?: RefObject<HTMLButtonElement>;
  pressed?: boolean;
  expanded?: boolean;
  title?: string;
  name?: string;
}

export function Button(p: ButtonProps) {
  const why = useId();
  const classes = ["b", p.look ?? "", p.big ? "big" : "", p.off ? "off" : "", p.busy ? "busy" : "", p.class ?? ""];
  return (
    <>
      <button
        ref={p.focusRef ?? null}
        type={p.type ?? "button"}
        class={classes.filter(Boolean).join(" ")}
        aria-disabled={p.off || p.busy ? true : undefined}
        aria-describedby={p.off ? why : undefined}
        aria-label={p.label}
        aria-pressed={p.pressed}
        aria-expanded={p.expanded}
        data-verb={p.name}
        title={p.off ? sentence(p.off) : p.title}
        onClick={(e) => {
          if (p.off || p.busy) e.preventDefault();
          else p.onClick?.(e);
        }}
      >
        {p.busy ? <Icon name="run" /> : p.icon ? <Icon name={p.icon} /> : null}
        {p.busy || p.children}
        {p.keys && !p.busy && !p.off ? <kbd aria-hidden="true">{p.keys}</kbd> : null}
      </button>
      {p.off ? (
        <span id={why} class="hide">
          {sentence(p.off)}
        </span>
      ) : null}
    </>
  );
}

export const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1) + (/[.?!…]$/.test(text) ? "" : ".");

export function Switch({ on, set, children }: { on: boolean; set: (on: boolean) => void; children: ComponentChildren }) {
  return (
    <button type="button" role="switch" aria-checked={on} class="swb" onClick={() => set(!on)}>
      <span class={`sw ${on ? "on" : ""}`} aria-hidden="true" />
      {children}
    </button>
  );
}

/** Text that a click copies. */
export function CopyText({ text, children, label }: { text: string; children?: ComponentChildren; label?: string }) {
  const [done, setDone] = useState(false);
  return (
    <button
      type="button"
      class="copy mono"
      title={done ? "Copied" : `Copy ${text}`}
      aria-label={label}
      onClick={(e) => {
        e.preventDefault();
        e.stopPropagation();
        void copy(text).then(() => {
          setDone(true);
          say("Copied.");
          setTimeout(() => setDone(false), 1500);
        });
      }}
    >
      {children ?? text}
      {done ? " copied" : label ? null : <span class="hide"> copy</span>}
    </button>
  );
}

/** A run's id; a click copies all of it. */
/** The heading of a table, by its columns. */
export function TableHead({ columns }: { columns: readonly string[] }) {
  return (
    <thead>
      <tr>
        {columns.map((name) => (
          <th key={name} scope="col">
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}

export function RunId({ id }: { id: string }) {
  return (
    <CopyText text={id} label={`Copy run id ${id}`}>
      <Visible text={shortId(id)} />
    </CopyText>
  );
}

export async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const box = document.createElement("textarea");
  box.value = text;
  box.className = "hide";
  document.body.append(box);
  box.select();
  document.execCommand("copy");
  box.remove();
}

/** A command to paste into a terminal. */
export function Command({ text }: { text: string }) {
  const [done, setDone] = useState(false);
  const copied = async (): Promise<void> => {
    await copy(text);
    setDone(true);
    say("Copied.");
  };
  return (
    <div class="cmd">
      <span class="grow">{text}</span>
      <Button icon="copy" label={`Copy the command ${text}`} onClick={() => void copied()}>
        {done ? "Copied" : "Copy"}
      </Button>
    </div>
  );
}

// Time

/** A moment: how long ago, the exact time on hover. */
export function Time({ at, bare = false }: { at: number; bare?: boolean }) {
  tick.value;
  const text = bare ? rough(now() - at) : ago(at, now());
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={exactTime(at)}>
      {text}
    </time>
  );
}

/** How long something took, or takes: it counts while `to` is null. */
export function Duration({ from, to, exact = false }: { from: number; to: number | null; exact?: boolean }) {
  if (to === null) tick.value;
  const s = (to ?? now()) - from;
  return <>{to === null && !exact ? rough(s) : duration(s)}</>;
}

/** What remains; red in its last minute. `over` is called at zero, once. */
export function Countdown({ to, over }: { to: number; over?: () => void }) {
  tick.value;
  const left = to - now();
  useEffect(() => {
    if (left <= 0) over?.();
  }, [left <= 0]);
  return <span class={left < 60 ? "fail num" : "num"}>{left <= 0 ? "now" : `in ${remaining(left)}`}</span>;
}

// What is said to people

export interface Toast {
  id: number;
  tone: "done" | "fail" | "t2";
  head: string;
  text: string;
  action?: { word: string; go: () => void };
}
export const toasts = signal<Toast[]>([]);
let made = 0;

/** Say what the store recorded, or why it refused. It stays until it was there for a while; a refusal until it is closed. */
export function toast(tone: Toast["tone"], head: string, text = "", action?: Toast["action"]): Toast {
  const item: Toast = { id: ++made, tone, head, text, ...(action ? { action } : {}) };
  toasts.value = [...toasts.value.slice(-3), item];
  if (tone !== "fail") setTimeout(() => dismiss(item.id), 7000);
  return item;
}
export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((t) => t.id !== id);
}

/** What did not happen, why, and that nothing changed; or that this is not known. Its code is for programs. */
export function refused(what: string, e: unknown): void {
  const p = e instanceof Problem ? e : new Problem(0, "failed", String(e));
  toast("fail", `${what}: ${p.detail}`, p.code === "no_answer" || p.status >= 500 ? "No clear answer came: it may have been done, or not." : "Nothing changed.");
}

export function Toasts() {
  return (
    <div class="toasts" role="region" aria-label="Answers from the server">
      {toasts.value.map((t) => (
        <div class="card toast" key={t.id} role={t.tone === "fail" ? "alert" : "status"} data-tone={t.tone}>
          <span class={t.tone}>
            <Icon name={t.tone === "fail" ? "fail" : "done"} size="m" />
          </span>
          <div class="grow">
            <b>
              <Visible text={t.head} />
            </b>
            {t.text ? (
              <div class="sm t2">
                <Visible text={t.text} />
              </div>
            ) : null}
          </div>
          {t.action ? (
            <Button look="q" onClick={t.action.go}>
              {t.action.word}
            </Button>
          ) : null}
          <Button look="q" label="Close" class="x" onClick={() => dismiss(t.id)}>
            ×
          </Button>
        </div>
      ))}
    </div>
  );
}

const spoken = signal("");
let queue: string[] = [];
let speaking = 0;
/** Say something to screen readers: one sentence every five seconds, whatever happens. */
export function say(text: string): void {
  queue.push(text);
  const speak = (): void => {
    spoken.value = queue.length > 3 ? `${queue.length} changes. ${queue.at(-1) ?? ""}` : queue.join(" ");
    queue = [];
    speaking = window.setTimeout(() => {
      speaking = 0;
      if (queue.length) speak();
    }, 5000);
  };
  if (!speaking) speak();
}
export function LiveRegion() {
  return (
    <div class="hide" role="status" aria-live="polite">
      {spoken.value}
    </div>
  );
}

// Tabs

export interface Tab {
  id: string;
  word: string;
  n?: number | string | null;
  to: string;
}

/** Tabs that are places: each has its own address. */
export function Tabs({
  tabs,
  on,
  label,
  go: choose,
  look = "tabs",
}: {
  tabs: Tab[];
  on: string;
  label: string;
  go: (t: Tab) => void;
  look?: "tabs" | "uline";
}) {
  const list = useRef<HTMLDivElement>(null);
  const moved = useRef("");
  useEffect(() => {
    const tab = list.current?.querySelector<HTMLElement>("[aria-selected=true]");
    if (moved.current === on || !tab || !list.current || list.current.scrollWidth <= list.current.clientWidth) return;
    list.current.scrollLeft = tab.offsetLeft - 24;
  }, [on, tabs.map((t) => t.n).join()]); // until somebody moves them: a count that arrives makes its tab wider
  const move = (e: JSX.TargetedKeyboardEvent<HTMLElement>, by: number): void => {
    const next = tabs[(tabs.findIndex((t) => t.id === on) + by + tabs.length) % tabs.length];
    if (!next) return;
    e.preventDefault();
    choose(next);
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>("[aria-selected=true]")?.focus());
  };
  return (
    <div
      class={look}
      role="tablist"
      aria-label={label}
      ref={list}
      onPointerDown={() => (moved.current = on)}
      onWheel={() => (moved.current = on)}
      onKeyDown={(e) => {
        if (e.key === "ArrowRight") move(e, 1);
        if (e.key === "ArrowLeft") move(e, -1);
      }}
    >
      {tabs.map((t) => (
        <a
          key={t.id}
          role="tab"
          href={t.to}
          class={t.id === on ? "on" : ""}
          aria-selected={t.id === on}
          tabIndex={t.id === on ? 0 : -1}
          data-tab={t.id}
          onClick={(e) => {
            if (e.metaKey || e.ctrlKey || e.shiftKey || e.button !== 0) return;
            e.preventDefault();
            choose(t);
          }}
        >
          {t.word}
          {t.n === undefined || t.n === null ? null : <span>{t.n}</span>}
        </a>
      ))}
    </div>
  );
}
