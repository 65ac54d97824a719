/** This browser's subscription to messages. */
import { base, me, post } from "./api";
import type { OwnEndpointView as Own, PushKeyView } from "./generated/types";

/** The page's policy lets one address be loaded as a service worker, and no other: whatever this is given, it is that one. */
const policy = (
  globalThis as { trustedTypes?: { createPolicy(name: string, rules: { createScriptURL(): string }): { createScriptURL(url: string): unknown } } }
).trustedTypes?.createPolicy("adjourn-push", { createScriptURL: () => `${base}/push.js` });

/** Why messages cannot reach this browser; "" if they can. */
export function unable(): string {
  if (!isSecureContext) return "a browser takes messages only from an address with https, or of this machine";
  if (!("serviceWorker" in navigator) || !("PushManager" in globalThis)) {
    return /iPhone|iPad/.test(navigator.userAgent)
      ? "add this page to the home screen first, and open it from there"
      : "this browser takes no messages from pages";
  }
  if (Notification.permission === "denied") return "messages of this page are blocked; allow them in the browser's settings of this page";
  if (me.value?.link) return "log in with a key of your own: the link of this start belongs to no person in particular";
  return "";
}

const registered = async (): Promise<ServiceWorkerRegistration> => {
  await navigator.serviceWorker.register((policy?.createScriptURL("") ?? `${base}/push.js`) as string, { scope: `${base}/`, updateViaCache: "none" });
  return navigator.serviceWorker.ready;
};

/** What the server calls this browser's address; "" if it has not subscribed. */
export async function ownAddress(): Promise<string> {
  if (unable() || !("serviceWorker" in navigator)) return "";
  const found = await (await navigator.serviceWorker.getRegistration(`${base}/`))?.pushManager.getSubscription();
  return found ? digest(found.endpoint) : "";
}

async function digest(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes), (b) => b.toString(16).padStart(2, "0"))
    .join("")
    .slice(0, 20);
}

/** Subscribe, and tell the server. The browser asks the person. */
export async function subscribe(device: string): Promise<Own> {
  if ((await Notification.requestPermission()) !== "granted") throw new Error("you did not allow messages; nothing was changed");
  const { key } = await post<PushKeyView>("/me/notifications/key", {});
  const { pushManager } = await registered();
  const before = await pushManager.getSubscription();
  // one of another sender, for example of the server that was here before
  if (before && encoded(before.options.applicationServerKey) !== key) await before.unsubscribe();
  const made = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  const body = { url: made.endpoint, p256dh: encoded(made.getKey("p256dh")), auth: encoded(made.getKey("auth")), key, device };
  return post<Own>("/me/notifications", body);
}

/** End this browser's subscription, also where no message could come any more. */
export async function unsubscribe(): Promise<void> {
  const found = await (await navigator.serviceWorker?.getRegistration(`${base}/`))?.pushManager?.getSubscription();
  await found?.unsubscribe();
}

function encoded(value: ArrayBuffer | null): string {
  const text = String.fromCharCode(...new Uint8Array(value ?? new ArrayBuffer(0)));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** What a person would call this browser. */
export function deviceName(): string {
  const agent = navigator.userAgent;
  const browser = /Firefox/.test(agent) ? "Firefox" : /Edg\//.test(agent) ? "Edge" : /Chrome/.test(agent) ? "Chrome" : /Safari/.test(agent) ? "Safari" : "A browser";
  const system = /Android/.test(agent) ? "Android" : /iPhone|iPad/.test(agent) ? "iOS" : /Mac/.test(agent) ? "a Mac" : /Windows/.test(agent) ? "Windows" : /Linux/.test(agent) ? "Linux" : "";
  return system ? `${browser} on ${system}` : browser;
}
