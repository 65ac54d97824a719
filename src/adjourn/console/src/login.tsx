/** Without a session: where the link is, or a key. */
import { useState } from "preact/hooks";
import { login, Problem } from "./api";
import { Button, Icon } from "./ui";

export function LoginPage() {
  const [key, setKey] = useState("");
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");
  const send = (e: Event): void => {
    e.preventDefault();
    if (!key.trim() || busy) return;
    setBusy(true);
    login(key.trim()).catch((problem: unknown) => {
      setBusy(false);
      setWrong(problem instanceof Problem ? problem.detail : String(problem));
    });
  };
  return (
    <main class="login">
      <form class="card stack" onSubmit={send}>
        <div class="brand">
          <Icon name="mark" size="l" />
          Adjourn
        </div>
        <h1>Who are you?</h1>
        <p class="t2">Open the address that the server printed when it started, or enter your key.</p>
        <label class="stack">
          <span class="lb">Key</span>
          <input
            class="inp"
            type="password"
            autocomplete="current-password"
            value={key}
            onInput={(e) => setKey(e.currentTarget.value)}
            aria-describedby="wrong"
            aria-invalid={wrong ? true : undefined}
            data-first
          />
        </label>
        <p id="wrong" class="fail sm" role="alert">
          {wrong ? `Not logged in: ${wrong}.` : ""}
        </p>
        <div class="row">
          <span class="grow sm t3">An administrator makes one: adjourn user add</span>
          <Button look="p" type="submit" off={key.trim() ? "" : "enter your key first"} busy={busy ? "Sending…" : ""}>
            Log in
          </Button>
        </div>
      </form>
    </main>
  );
}
