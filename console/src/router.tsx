/** Real addresses: the place is the path, filters are the query. Going back restores where you were. */
import { computed, signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { base } from "./api";

const here = signal({ path: location.pathname, search: location.search });

/** The parts of the path below where the console is mounted, each decoded. */
export const place = computed<string[]>(() =>
  here.value.path
    .slice(base.length)
    .split("/")
    .filter(Boolean)
    .map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    }),
);
/** The query. */
export const query = computed(() => new URLSearchParams(here.value.search));

/** What the page at this address is about, for the window's title; "" is the page's own name. */
export const about = signal("");

/** A path of the console as an address of this server. */
export const href = (path: string): string => base + path;

/** The address of a place: `to("runs", id)`, each part encoded. */
export const to = (...parts: string[]): string => `/${parts.map(encodeURIComponent).join("/")}`;

function arrived(): void {
  here.value = { path: location.pathname, search: location.search };
}

/** Go to a path of the console, for example `/runs/7Q2M-41KD?step=9.4`. */
export function go(path: string, { replace = false } = {}): void {
  if (replace) history.replaceState(history.state, "", href(path));
  else {
    history.replaceState({ ...(history.state as object | null), y: scrollY }, "");
    history.pushState({ deep: depth() + 1 }, "", href(path));
    window.scrollTo(0, 0);
  }
  arrived();
}

const depth = (): number => (history.state as { deep?: number } | null)?.deep ?? 0;

/** Go back inside the console, or to `otherwise` if this page was opened directly. */
export function back(otherwise: string): void {
  if (depth() > 0) history.back();
  else go(otherwise);
}

/** Change some of the query, in place. Empty values leave it. */
export function setQuery(change: Record<string, string | undefined | null>): void {
  const q = new URLSearchParams(here.value.search);
  for (const [k, v] of Object.entries(change)) {
    if (v) q.set(k, v);
    else q.delete(k);
  }
  const text = q.toString();
  history.replaceState(history.state, "", here.value.path + (text ? `?${text}` : ""));
  arrived();
}

/** Where the page was scrolled to when it was left; a page that has its content calls this once. */
export function restoreScroll(): void {
  const y = (history.state as { y?: number } | null)?.y;
  if (y) window.scrollTo(0, y);
}

history.scrollRestoration = "manual";
addEventListener("popstate", arrived);

type LinkProps = Omit<JSX.IntrinsicElements["a"], "href"> & { to: string; children?: ComponentChildren };

/** A link inside the console: an ordinary one for new tabs and copying, without loading the page again for a click. */
export function Link({ to: path, onClick, ...rest }: LinkProps) {
  return (
    <a
      {...rest}
      href={href(path)}
      onClick={(e) => {
        (onClick as ((e: unknown) => void) | undefined)?.(e);
        if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
        e.preventDefault();
        go(path);
      }}
    />
  );
}
