/** This tab's end of the one stream: in a shared worker if the browser has them, else here. */
import { address, base } from "./api";
import type { FromTab, ToTab } from "./stream_hub";

/** Changes when tabs and worker would no longer understand each other: an older worker may still run. */
const PROTOCOL = "adjourn 2";
/** A tab that has crashed does not say so: one that is looked at says that it is there. */
const HERE = 5_000;

/** The page's policy lets one address be loaded as a script, and no other: whatever this is given, it is that one. */
const policy = (
  globalThis as { trustedTypes?: { createPolicy(name: string, rules: { createScriptURL(): string }): { createScriptURL(url: string): unknown } } }
).trustedTypes?.createPolicy("adjourn-stream", { createScriptURL: () => `${base}/stream.js` });

type Hear = (message: ToTab) => void;
type Say = (said: FromTab) => void;

/** Say something to the stream. Nothing is opened before the tab looks; `lost`: everything must be said again. */
export function shared(hear: Hear, lost: () => void): Say {
  let say = inWorker(hear, () => {
    say = here(hear);
    lost();
  });
  setInterval(() => document.hidden || say({ kind: "here" }), HERE);
  return (said) => say(said);
}

function inWorker(hear: Hear, failed: () => void): Say {
  if (typeof SharedWorker === "undefined") return here(hear);
  const open = (): MessagePort => {
    const worker = new SharedWorker((policy?.createScriptURL("") ?? `${base}/stream.js`) as string, { type: "module", name: PROTOCOL });
    worker.onerror = failed;
    worker.port.onmessage = (e: MessageEvent<ToTab>) => worker.port === port && hear(e.data);
    return worker.port;
  };
  let port: MessagePort | null = null;
  try {
    port = open();
  } catch {
    return here(hear); // where the browser keeps nothing, for example
  }
  return (said) => {
    // A page that is gone has no port: its browser may keep it. One that is shown again has a new one.
    if (said.kind === "watch" || (said.kind === "look" && said.on)) port ??= open();
    port?.postMessage(said);
    if (said.kind !== "gone") return;
    port?.close();
    port = null;
  };
}

function here(hear: Hear): Say {
  const hub = import("./overlays").then(({ StreamHub }) => new StreamHub(address("/events")));
  const tab = { tell: hear };
  return (said) => void hub.then((found) => found.hear(tab, said));
}
