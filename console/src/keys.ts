/** The keyboard. Keys are dead while somebody types, while a key is held down, and while a dialog is open. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** What sends a form, as this machine writes it. */
export const SEND = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘↵" : "Ctrl ↵";

/** Whether the list of keys is shown. */
export const helping = signal(false);

export type Bindings = Record<string, (e: KeyboardEvent) => void>;

const layers: Bindings[] = [];
const SEQUENCE = 700;
let pending = "";
let timer = 0;
let deadUntil = 0;

/** No key does anything for a moment: what is on the page has just changed under the hands. */
export function deaden(ms = 700): void {
  deadUntil = performance.now() + ms;
}

/** Bind keys while a component is there: `{"j": next, "g i": inbox}`. The newest binding of a key wins. */
export function useKeys(bindings: Bindings): void {
  useEffect(() => {
    layers.push(bindings);
    return () => {
      layers.splice(layers.indexOf(bindings), 1);
    };
  });
}

const find = (key: string): ((e: KeyboardEvent) => void) | undefined => layers.findLast((l) => key in l)?.[key];
const begins = (key: string): boolean => layers.some((l) => Object.keys(l).some((k) => k.startsWith(`${key} `)));

/** Whether keys go into a text just now. */
export function typing(e: KeyboardEvent): boolean {
  const target = e.target as HTMLElement | null;
  return !!target?.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
}

function fire(key: string, e: KeyboardEvent): boolean {
  const bound = find(key);
  if (!bound) return false;
  e.preventDefault();
  bound(e);
  return true;
}

addEventListener("keydown", (e) => {
  if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.isComposing) return;
  if (document.querySelector("[role=dialog]")) return;
  if (typing(e)) {
    if (e.key === "Escape") (e.target as HTMLElement).blur();
    return;
  }
  if (e.repeat || performance.now() < deadUntil) return;
  const native = (e.target as HTMLElement | null)?.closest?.("a[href], button, summary, [role=tab], [role=switch]");
  if (native && (e.key === "Enter" || e.key === " ")) return;
  const joined = pending ? `${pending} ${e.key}` : e.key;
  clearTimeout(timer);
  pending = "";
  if (joined !== e.key && fire(joined, e)) return;
  if (begins(e.key)) {
    e.preventDefault();
    pending = e.key;
    timer = window.setTimeout(() => {
      pending = "";
      find(e.key)?.(e);
    }, SEQUENCE);
    return;
  }
  fire(e.key, e);
});
