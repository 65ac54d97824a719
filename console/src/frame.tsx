/** What is around every page: the halt strip, the side bar (on a phone a top bar and a tab bar), the connection. */
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { me } from "./api";
import { connection, halts, state, waiting } from "./live";
import { Link, place } from "./router";
import { Icon, LiveRegion, Toasts } from "./ui";
import { asking, HaltButton } from "./halt";
import { helping } from "./keys";
import { later } from "./later";
import { Slow } from "./slow";
import { many } from "./words";

/** How many runs are open; the list of runs says so. */
export const openRuns = signal<number | null>(null);

const HaltDialogs = later(async () => (await import("./overlays")).HaltDialogs, true);
const HaltStrip = later(async () => (await import("./overlays")).HaltStrip, true);
const KeysHelp = later(async () => (await import("./overlays")).KeysHelp, true);

const PLACES = [
  { id: "inbox", word: "Inbox", icon: "inbox" },
  { id: "runs", word: "Runs", icon: "runs" },
  { id: "numbers", word: "Numbers", icon: "numbers" },
  { id: "workers", word: "Workers", icon: "work" },
  { id: "audit", word: "Audit", icon: "audit" },
  { id: "settings", word: "Settings", icon: "set" },
];

/** Where there is room for few: the others stand behind the last, *More*. */
const ON_PHONES = ["inbox", "runs", "audit"];

export function Connection() {
  const { tone, text } = connection.value;
  const icon = state.value === "broken" ? (tone === "fail" ? "fail" : "clock") : state.value === "back" ? "done" : "";
  return (
    <span class={`live ${tone}`} role="status" data-connection={state.value}>
      {icon ? <Icon name={icon} /> : <i aria-hidden="true" class={state.value === "live" ? "" : "off"} />}
      {text}
    </span>
  );
}

function Side({ on }: { on: string }) {
  const n = waiting.value;
  return (
    <nav class="side" aria-label="Main">
      <Link to="/runs" class="brand" aria-label="Adjourn, runs">
        <Icon name="mark" size="l" />
        Adjourn
      </Link>
      {PLACES.map((p) => (
        <Link key={p.id} to={`/${p.id}`} class={p.id === on ? "on" : ""} aria-current={p.id === on ? "page" : undefined} data-place={p.id}>
          <Icon name={p.icon} size="m" />
          {p.word}
          {p.id === "inbox" && n ? (
            <span class="n w" title={`${many(n)} wait for a person`}>
              {many(n)}
            </span>
          ) : null}
          {p.id === "runs" && openRuns.value ? <span class="n t3">{many(openRuns.value)}</span> : null}
        </Link>
      ))}
      <div class="foot">
        <HaltButton />
        <div>
          <Connection />
        </div>
        <div data-who>
          {me.value?.name} · {me.value?.role}
        </div>
      </div>
    </nav>
  );
}

function PhoneBar({ on }: { on: string }) {
  const n = waiting.value;
  return (
    <nav class="tab" aria-label="Main, phone">
      {PLACES.filter((p) => ON_PHONES.includes(p.id)).map((p) => (
        <Link key={p.id} to={`/${p.id}`} class={p.id === on ? "on" : ""} aria-current={p.id === on ? "page" : undefined}>
          <Icon name={p.icon} size="l" />
          {p.word}
          {p.id === "inbox" && n ? <em>{many(n)}</em> : null}
        </Link>
      ))}
      <Link to="/settings" class={ON_PHONES.includes(on) ? "" : "on"} aria-current={on === "settings" ? "page" : undefined}>
        <Icon name="set" size="l" />
        More
      </Link>
      <HaltButton phone />
    </nav>
  );
}

/** On a phone: the page's name, or what the page itself puts there. */
export function Top({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="top">
      <Link to="/runs" aria-label="Adjourn, runs" class="bare">
        <Icon name="mark" size="l" />
      </Link>
      <b class="grow clip">{title}</b>
      {children ?? <Connection />}
    </div>
  );
}

/** Whoever goes to another page begins at its beginning; the inbox and a run's tabs look after themselves. */
function useArrival(on: string): void {
  const at = on === "inbox" ? on : place.value.slice(0, 2).join("/");
  const before = useRef(at);
  useEffect(() => {
    if (before.current !== at) document.getElementById("main")?.focus({ preventScroll: true });
    before.current = at;
  }, [at]);
}

export function Frame({ on, children }: { on: string; children: ComponentChildren }) {
  useArrival(on);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      {halts.value.length ? <HaltStrip /> : null}
      <div class="app">
        <Side on={on} />
        <div class="page" id="main" tabIndex={-1}>
          <Slow />
          {children}
        </div>
        <PhoneBar on={on} />
      </div>
      {asking.value ? <HaltDialogs /> : null}
      {helping.value ? <KeysHelp /> : null}
      <Toasts />
      <LiveRegion />
    </>
  );
}
