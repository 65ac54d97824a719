/** A bundle of its own that only the demo's server loads: a card of things to try, ticked from the journals. */
import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { base, fetchHere, me } from "./api";
import { listen } from "./live";
import { go } from "./router";
import { Button, Command } from "./ui";
import { Visible } from "./visible";
import "./css/demo.css";

interface GuideItem {
  id: string;
  title: string;
  text: string;
  done: boolean;
  link?: string;
  command?: string;
}

interface NowYours {
  file: string;
  text: string;
  commands: [command: string, then: string][];
}

const items = signal<GuideItem[] | null>(null);
const yours = signal<NowYours | null>(null);
const KEY = "adjourn.guide";
const hidden = signal(read());
/** On a phone one task is there at a time: the runs begin on the first screen. */
const whole = signal(!matchMedia("(max-width: 640px)").matches);

function read(): boolean {
  try {
    return sessionStorage.getItem(KEY) === "hidden";
  } catch {
    return false;
  }
}

function hide(on: boolean): void {
  hidden.value = on;
  try {
    sessionStorage.setItem(KEY, on ? "hidden" : "");
  } catch {
    // then it is there again next time
  }
}

async function load(): Promise<void> {
  if (!me.value) return;
  try {
    const response = await fetchHere(`${base}/demo/guide`, {});
    if (!response.ok) return;
    const found = (await response.json()) as { items: GuideItem[]; yours: NowYours };
    yours.value = found.yours;
    items.value = found.items;
  } catch {
    // it comes with the next change
  }
}

function GuideTag() {
  return items.value?.length ? <span class="tag">demo · scripted model</span> : null;
}

function GuideCard() {
  useEffect(() => {
    void load();
    let timer = 0;
    const stop = listen({
      changed: () => {
        timer ||= window.setTimeout(() => {
          timer = 0;
          void load();
        }, 700);
      },
      whole: () => void load(),
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [me.value?.name]);
  const all = items.value;
  if (!all?.length) return null;
  const done = all.filter((i) => i.done).length;
  const next = all.find((i) => !i.done)?.id;
  if (hidden.value) {
    return (
      <p class="sm t3 guide-back">
        {done} of {all.length} things tried ·{" "}
        <button type="button" class="link" onClick={() => hide(false)}>
          show the guide
        </button>
      </p>
    );
  }
  return (
    <section class="card guide" aria-label="Things to try">
      <div class="row">
        <div class="grow">
          <h2>{COUNT[all.length] ?? all.length} things to try</h2>
          {whole.value ? <p class="t2">Everything here is real: a store, a worker and a scripted model. Nothing leaves this machine.</p> : null}
        </div>
        <span class="sm t3 num">
          {done} of {all.length} done
        </span>
        <Button look="q" onClick={() => hide(true)}>
          Hide
        </Button>
      </div>
      <ol>
        {all.map((item, n) => whole.value || item.id === next ? (
          <li key={item.id} data-task={item.id} data-done={item.done}>
            <span class={`tick ${item.done ? "ok" : ""}`} role="img" aria-label={item.done ? "done" : `task ${n + 1}`}>
              {item.done ? "✓" : n + 1}
            </span>
            <div>
              <div class={`todo ${item.done ? "t2" : ""}`}>
                <Visible text={item.title} />
              </div>
              <div class="sm t2">
                <Visible text={item.text} />
              </div>
              {item.command && !item.done ? <Command text={item.command} /> : null}
            </div>
            {item.link ? (
              <Button look={item.done ? "q" : item.id === next ? "p" : ""} onClick={() => go(item.link ?? "/runs")}>
                {item.done ? "Show the run" : item.link.startsWith("/inbox") ? "Open the inbox" : "Open the run"}
              </Button>
            ) : (
              <span />
            )}
          </li>
        ) : null)}
      </ol>
      {whole.value ? null : (
        <button type="button" class="link guide-all" onClick={() => (whole.value = true)}>
          show all {all.length}
        </button>
      )}
      {yours.value && (whole.value || !next) ? <Yours {...yours.value} done={done === all.length} /> : null}
    </section>
  );
}

/** At the end: the visitor's own agent, in a console of its own. */
function Yours({ file, text, commands, done }: NowYours & { done: boolean }) {
  return (
    <details class="yours" open={done} data-yours>
      <summary>
        <b>Now yours.</b> {done ? "You did all of it, and nothing was lost. " : ""}One file, two commands, and your own agent is in a console
        like this one.
      </summary>
      <h3>1. Write it, or take this one</h3>
      <pre class="code">{text}</pre>
      <p class="sm t2">
        <a class="b" href={`data:text/x-python;charset=utf-8,${encodeURIComponent(text)}`} download={file}>
          Save as {file}
        </a>{" "}
        With a provider the model is a string: <code>model="openai:gpt-5-mini"</code>
      </p>
      {commands.map(([command, then], n) => (
        <div key={command}>
          <h3>{n ? `${n + 2}. Ask it something` : "2. Serve it, in that folder"}</h3>
          <Command text={command} />
          <p class="sm t2">{then}</p>
        </div>
      ))}
    </details>
  );
}

const COUNT: Record<number, string> = { 1: "One", 2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six" };

/** Into the places that the page of runs keeps for others, whenever it is shown. */
function place(): void {
  for (const [id, part] of [
    ["beside-the-title", <GuideTag />],
    ["above-the-runs", <GuideCard />],
  ] as const) {
    const found = document.getElementById(id);
    if (found && !found.hasChildNodes()) render(part, found);
  }
}

new MutationObserver(place).observe(document.body, { childList: true, subtree: true });
effect(() => {
  if (me.value) place();
});
