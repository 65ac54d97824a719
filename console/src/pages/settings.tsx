/** For administrators who may use it, who is told and what has not arrived; the rules; and for everybody who they are, and how it looks. */
import { useEffect, useState } from "preact/hooks";
import { denied, logout, me } from "../api";
import { Connection, Top } from "../frame";
import { KeysTable } from "../help";
import { ROLES } from "../generated/words";
import { Link } from "../router";
import { choice, choose, type Choice } from "../theme";
import { Button, refused } from "../ui";
import { Visible } from "../visible";
import { Endpoints, Letters } from "./notices";
import { OwnNotices } from "./own_notices";
import { People, Sessions } from "./people";
import { Policies } from "./policies";

const CONTENTS: readonly [group: string, parts: readonly [id: string, name: string][]][] = [
  [
    "Adjourn",
    [
      ["set-people", "People"],
      ["set-told", "Where messages go"],
      ["set-letters", "Not delivered"],
      ["set-rules", "Policies"],
    ],
  ],
  [
    "You",
    [
      ["set-you", "Who you are"],
      ["set-own", "My notifications"],
      ["set-sessions", "Sessions"],
      ["set-theme", "Theme"],
      ["set-keys", "Keyboard"],
    ],
  ],
];

/** What there is on the page: beside it, or where there is no room, above it. */
function Contents() {
  const [there, setThere] = useState<readonly string[]>([]);
  useEffect(() => setThere(CONTENTS.flatMap(([, parts]) => parts.map(([id]) => id)).filter((id) => document.getElementById(id))), []);
  const show = (e: MouseEvent, id: string): void => {
    e.preventDefault(); // the address stays that of the page
    const head = document.getElementById(id);
    head?.closest("section")?.scrollIntoView({ block: "start" });
    head?.setAttribute("tabindex", "-1");
    head?.focus({ preventScroll: true });
  };
  return (
    <nav class="set-nav" aria-label="Settings">
      {CONTENTS.map(([group, parts]) => [
        there.includes(parts.at(group === "You" ? 0 : -1)?.[0] ?? "") ? (
          <span key={group} class="set-group">
            {group}
          </span>
        ) : null,
        ...parts
          .filter(([id]) => there.includes(id))
          .map(([id, name]) => (
            <a key={id} href={`#${id}`} onClick={(e) => show(e, id)}>
              {name}
            </a>
          )),
      ])}
    </nav>
  );
}

export function SettingsPage() {
  const who = me.value;
  const [busy, setBusy] = useState(false);
  if (!who) return null;
  return (
    <main class="plain-page settings">
      <Top title="Settings" />
      <div class="row head">
        <h1 class="grow">Settings</h1>
      </div>
      <Contents />
      <section class="card pad stack phone-only" aria-labelledby="set-more">
        <h2 id="set-more">More</h2>
        <Link to="/numbers" class="b">
          Numbers
        </Link>
        <Link to="/workers" class="b">
          Workers
        </Link>
      </section>
      {denied("admin") ? null : (
        <>
          <People />
          <Endpoints />
          <Letters />
        </>
      )}
      {denied("control") && denied("decide") ? null : <Policies />}
      <section class="card pad stack" aria-labelledby="set-you">
        <h2 id="set-you">You</h2>
        <dl class="kv">
          <dt>Name</dt>
          <dd>
            <Visible text={who.name} />
          </dd>
          <dt>Role</dt>
          <dd>
            {who.role}: may {ROLES[who.role] ?? "look"}
          </dd>
          <dt>Groups</dt>
          <dd>{who.groups.length ? <Visible text={who.groups.join(", ")} /> : <span class="t3">none</span>}</dd>
          <dt>Connection</dt>
          <dd>
            <Connection />
          </dd>
        </dl>
        <div>
          <Button
            busy={busy ? "Sending…" : ""}
            onClick={() => {
              setBusy(true);
              logout()
                .catch((e: unknown) => refused("Not logged out", e))
                .finally(() => setBusy(false));
            }}
          >
            Log out
          </Button>
        </div>
      </section>
      <OwnNotices />
      <Sessions all={!denied("admin")} />
      <section class="card pad stack" aria-labelledby="set-theme">
        <h2 id="set-theme">Theme</h2>
        <div class="seg" role="radiogroup" aria-label="Theme">
          {(["system", "light", "dark"] as Choice[]).map((c) => (
            <button
              key={c}
              type="button"
              role="radio"
              aria-checked={choice.value === c}
              class={choice.value === c ? "on" : ""}
              onClick={() => choose(c)}
            >
              {c === "system" ? "As the system" : c === "light" ? "Light" : "Dark"}
            </button>
          ))}
        </div>
      </section>
      <section class="card pad stack" aria-labelledby="set-keys">
        <h2 id="set-keys">Keyboard</h2>
        <KeysTable />
      </section>
    </main>
  );
}
