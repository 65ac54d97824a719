/** The service worker: shows a message while no tab is open, and opens what it is about. It decides nothing and keeps nothing.
 * It imports nothing, so that browsers without modules in service workers run it too. */

interface Message {
  title: string;
  text: string;
  path: string;
  tag: string;
}
interface Waiting {
  waitUntil(work: Promise<unknown>): void;
}
interface Page {
  url: string;
  focus(): Promise<unknown>;
  navigate(url: string): Promise<unknown>;
}
interface Scope {
  registration: {
    scope: string;
    showNotification(title: string, options: { body: string; tag: string; data: { url: string }; icon: string; renotify: boolean }): Promise<void>;
  };
  clients: { matchAll(options: { type: "window"; includeUncontrolled: boolean }): Promise<readonly Page[]>; openWindow(url: string): Promise<unknown> };
  addEventListener(kind: "push", heard: (e: Waiting & { data: { json(): unknown } | null }) => void): void;
  addEventListener(kind: "notificationclick", heard: (e: Waiting & { notification: { data: unknown; close(): void } }) => void): void;
}

const scope = globalThis as unknown as Scope;
const word = (x: unknown): string => (typeof x === "string" ? x : "");

/** A page of this console; whatever a message says, no other. */
function pageOf(path: string): string {
  const home = scope.registration.scope;
  const url = new URL(`.${/^\/(?!\/)/.test(path) ? path : "/"}`, home).href;
  return url.startsWith(home) ? url : home;
}

function read(data: { json(): unknown } | null): Message {
  let found: Partial<Record<keyof Message, unknown>> = {};
  try {
    found = (data?.json() ?? {}) as typeof found;
  } catch {
    // then it is shown that something came
  }
  const path = word(found.path) || "/";
  return { title: word(found.title) || "Something waits in Adjourn", text: word(found.text), path, tag: word(found.tag) || path };
}

scope.addEventListener("push", (e) => {
  const { title, text, path, tag } = read(e.data);
  const options = { body: text, tag, data: { url: pageOf(path) }, icon: new URL("./icon.svg", scope.registration.scope).href, renotify: true };
  e.waitUntil(scope.registration.showNotification(title, options));
});

scope.addEventListener("notificationclick", (e) => {
  e.notification.close();
  const { url } = e.notification.data as { url: string };
  e.waitUntil(open(url));
});

/** In a tab that shows it already, or in a new one: what somebody types in another tab is not taken away. */
async function open(url: string): Promise<unknown> {
  const pages = await scope.clients.matchAll({ type: "window", includeUncontrolled: true });
  const there = pages.find((page) => page.url === url);
  return there ? there.focus() : scope.clients.openWindow(url);
}
