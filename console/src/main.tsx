/** The console: which page is at which address, and what every page shares. */
import { effect } from "@preact/signals";
import { render } from "preact";
import "./theme";
import { begin, known, me, offered } from "./api";
import { Frame } from "./frame";
import { helping, useKeys } from "./keys";
import { connect, disconnect, waiting } from "./live";
import { about, go, place } from "./router";
import { fetchAll, later } from "./later";
import { Empty, Failure } from "./states";
import { useState } from "preact/hooks";
import { Button } from "./ui";

const LoginPage = later(async () => (await import("./overlays")).LoginPage);
const SwitchPage = later(async () => (await import("./overlays")).SwitchPage);
const RunsPage = later(async () => (await import("./runs")).RunsPage);
const RunPage = later(async () => (await import("./run")).RunPage);
const InboxPage = later(async () => (await import("./inbox")).InboxPage);
const AuditPage = later(async () => (await import("./pages/audit")).AuditPage);
const ComparePage = later(async () => (await import("./pages/compare")).ComparePage);
const NumbersPage = later(async () => (await import("./pages/numbers")).NumbersPage);
const WorkersPage = later(async () => (await import("./pages/workers")).WorkersPage);
const SettingsPage = later(async () => (await import("./pages/settings")).SettingsPage);

function Page() {
  const [first = "runs", second] = place.value;
  useKeys({
    "?": () => (helping.value = true),
    "g i": () => go("/inbox"),
    "g r": () => go("/runs"),
    "/": () => document.querySelector<HTMLInputElement>("input[type=search]")?.focus(),
  });
  switch (first) {
    case "inbox":
      return <InboxPage />;
    case "runs":
      return second ? <RunPage key={second} id={second} /> : <RunsPage />;
    case "workers":
      return <WorkersPage />;
    case "audit":
      return <AuditPage />;
    case "compare":
      return <ComparePage />;
    case "numbers":
      return <NumbersPage />;
    case "settings":
      return <SettingsPage />;
    default:
      return (
        <main>
          <Empty icon="search" title="Page not found" whole>
            <div class="row center">
              <Button look="p" onClick={() => go("/runs")}>
                See the runs
              </Button>
            </div>
          </Empty>
        </main>
      );
  }
}

function App({ failed }: { failed: unknown }) {
  const [error, setError] = useState(failed);
  if (error)
    return (
      <main class="login">
        <Failure whole error={error} again={() => void begin().then(() => setError(null), setError)} />
      </main>
    );
  if (!known.value) return null;
  if (!me.value) return <LoginPage />;
  if (offered.value) return <SwitchPage />;
  return (
    <Frame on={place.value[0] ?? "runs"}>
      <Page />
    </Frame>
  );
}

const TITLES: Record<string, string> = {
  inbox: "Inbox",
  compare: "Compare",
  numbers: "Numbers",
  workers: "Workers",
  audit: "Audit",
  settings: "Settings",
};
effect(() => {
  const [first = "runs"] = place.value;
  const n = waiting.value ? `(${waiting.value}) ` : "";
  document.title = `${n}${about.value || (TITLES[first] ?? "Runs")} · Adjourn`;
});

let who = "";
effect(() => {
  const name = me.value ? `${me.value.name} ${me.value.csrf}` : "";
  if (name && name !== who) connect();
  if (!name && who) disconnect();
  who = name;
});

const root = document.getElementById("app");
if (root)
  begin()
    .then(
      () => null,
      (e: unknown) => e,
    )
    .then((failed) => {
      render(<App failed={failed} />, root);
      fetchAll();
    });
