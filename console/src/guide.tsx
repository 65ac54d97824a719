/** The demo's card: a few things to try, ticked from the journal. Where the server has no guide there is none. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get, me } from "./api";
import { listen } from "./live";
import { go } from "./router";
import { Button, Command } from "./ui";
import { Visible } from "./visible";
import type { GuideItem } from "./types";

const items = signal<GuideItem[] | null>(null);
const KEY = "adjourn.guide";
const hidden = signal(read());
let none = false;

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
  if (none || me.value?.demo === false) return;
  try {
    items.value = (await get<{ items: GuideItem[] }>("/guide")).items;
    none = !items.value.length;
  } catch {
    none = items.value === null;
  }
}

/** That this is the demo, where it is. */
export function GuideTag() {
  return items.value?.length ? <span class="tag">demo · scripted model</span> : null;
}

export function GuideCard() {
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
          <p class="t2">Everything here is real: a store, a worker and a scripted model. Nothing leaves this machine.</p>
        </div>
        <span class="sm t3 num">
          {done} of {all.length} done
        </span>
        <Button look="q" onClick={() => hide(true)}>
          Hide
        </Button>
      </div>
      <ol>
        {all.map((item, n) => (
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
                {item.done ? "See the record" : item.action || (item.link.startsWith("/inbox") ? "Open the inbox" : "Open the run")}
              </Button>
            ) : (
              <span />
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

const COUNT: Record<number, string> = { 1: "One", 2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six" };
