/** How it looks, who you are, the keys; for administrators who is told of events, and what has not arrived. */
import { useState } from "preact/hooks";
import { denied, logout, me } from "../api";
import { Connection, Top } from "../frame";
import { KeysTable } from "../help";
import { ROLES } from "../generated/words";
import { choice, choose, type Choice } from "../theme";
import { Button, refused } from "../ui";
import { Visible } from "../visible";
import { Endpoints, Letters } from "./notices";
import { People, Sessions } from "./people";

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
      <Sessions all={!denied("admin")} />
      {denied("admin") ? null : (
        <>
          <People />
          <Endpoints />
          <Letters />
        </>
      )}
      <section class="card pad stack" aria-labelledby="set-keys">
        <h2 id="set-keys">Keyboard</h2>
        <KeysTable />
      </section>
    </main>
  );
}
