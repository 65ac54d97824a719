/** Without a session: where the link is, or a key. */
import { useEffect, useState } from "preact/hooks";
import { base, fetchHere, login, loginByLink, me, offered, Problem, wrongLink } from "./api";
import { Button, Icon } from "./ui";
import { Visible } from "./visible";

export function LoginPage() {
  const [key, setKey] = useState("");
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");
  const [single, setSingle] = useState(false);
  useEffect(() => {
    fetchHere(`${base}/login/options`, {})
      .then((response) => response.json())
      .then((options: { oidc: boolean }) => setSingle(options.oidc))
      .catch(() => setSingle(false));
  }, []);
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
        <h1>Sign in</h1>
        <p class="t2">Enter your key, or open the address that the server printed when it started.</p>
        {wrongLink.value ? (
          <p class="fail sm" data-link>
            The link opened nothing: {wrongLink.value}.
          </p>
        ) : null}
        {single ? (
          <a class="b p" href={`${base}/login`} data-oidc>
            Log in with single sign-on
          </a>
        ) : null}
        {single ? (
          <a class="sm t3" href={`${base}/login/end`}>
            End your session there
          </a>
        ) : null}
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
          <span class="grow sm t3">An administrator makes one: adjourn user add NAME</span>
          <Button look="p" type="submit" off={key.trim() ? "" : "enter your key first"} busy={busy ? "Sending…" : ""}>
            Log in
          </Button>
        </div>
      </form>
    </main>
  );
}

/** Somebody who is logged in came by a link that would make them somebody else. Nothing has happened yet. */
export function SwitchPage() {
  const [busy, setBusy] = useState(false);
  const who = me.value;
  const stay = (): void => {
    offered.value = "";
  };
  const change = (): void => {
    setBusy(true);
    void loginByLink(offered.value).finally(stay);
  };
  return (
    <main class="login">
      <form class="card stack" onSubmit={(e) => e.preventDefault()}>
        <div class="brand">
          <Icon name="mark" size="l" />
          Adjourn
        </div>
        <h1>Stay who you are?</h1>
        <p class="t2">
          You are logged in as{" "}
          <b>
            <Visible text={who?.name ?? ""} />
          </b>
          , {who?.role}. The link that you opened would log you in as the person who started this server, for all pages of this browser. What you decide
          then is recorded under that name.
        </p>
        <div class="row wrap">
          <Button look="p" onClick={stay} name="stay">
            Stay <Visible text={who?.name ?? ""} />
          </Button>
          <Button onClick={change} busy={busy ? "Sending…" : ""} name="switch">
            Use the link
          </Button>
        </div>
      </form>
    </main>
  );
}
