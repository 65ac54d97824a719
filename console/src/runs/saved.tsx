/** Saved filters: names for what stands in the address, kept in this browser. To share one, share its address. */
import { signal } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { me } from "../api";
import { wear } from "../late_style";
import { Link } from "../router";
import { Button, say } from "../ui";
import { Visible } from "../visible";
import type { Wanted } from "./groups";
import css from "./saved.late.css";

wear(css);

interface Filter {
  name: string;
  /** The query of the address. */
  at: string;
}

const MOST = 20;
const saved = signal<readonly Filter[]>([]);
let readFor = "";

/** Who else uses this browser has their own. */
const place = (): string => `adjourn.saved-filters.${me.value?.name ?? ""}`;

const isFilter = (x: unknown): x is Filter =>
  typeof x === "object" && x !== null && typeof (x as Filter).name === "string" && typeof (x as Filter).at === "string";

function read(): void {
  if (readFor === place()) return;
  readFor = place();
  try {
    const found: unknown = JSON.parse(localStorage.getItem(readFor) ?? "[]");
    saved.value = Array.isArray(found) ? found.filter(isFilter).slice(0, MOST) : [];
  } catch {
    saved.value = []; // what another program wrote there is not ours
  }
}

function keep(next: readonly Filter[]): void {
  saved.value = next;
  try {
    localStorage.setItem(place(), JSON.stringify(next));
  } catch {
    // then they last as long as this page
  }
}

/** What of the address filters. */
export function filterOf(w: Wanted): string {
  const q = new URLSearchParams();
  if (w.tab !== "all") q.set("tab", w.tab);
  if (w.q) q.set("q", w.q);
  if (w.time) q.set("time", w.time);
  return q.toString();
}

export function SavedFilters({ w }: { w: Wanted }) {
  const [naming, setNaming] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  read();
  const here = filterOf(w);
  const known = saved.value.some((f) => f.at === here);
  if (!saved.value.length && !here) return null;
  const save = (): void => {
    const name = field.current?.value.trim() ?? "";
    if (!name) return field.current?.focus();
    keep([...saved.value.filter((f) => f.name !== name), { name, at: here }].slice(-MOST));
    setNaming(false);
    say(`Saved as ${name}.`);
  };
  const remove = (name: string): void => {
    keep(saved.value.filter((f) => f.name !== name));
    say(`Removed ${name}.`);
  };
  return (
    <div class="saved" role="group" aria-label="Saved filters">
      {saved.value.map((f) => (
        <span key={f.name} class={f.at === here ? "chip on" : "chip"} data-saved={f.name}>
          <Link to={`/runs?${f.at}`} aria-current={f.at === here ? "page" : undefined}>
            <Visible text={f.name} />
          </Link>
          <button type="button" aria-label={`Remove the saved filter ${f.name}`} onClick={() => remove(f.name)}>
            ×
          </button>
        </span>
      ))}
      {!here || known ? null : naming ? (
        <form
          class="row"
          onSubmit={(e) => {
            e.preventDefault();
            save();
          }}
          onKeyDown={(e) => {
            if (e.key === "Escape") setNaming(false);
          }}
        >
          <input ref={field} class="inp sans" aria-label="Name of the filter" maxLength={40} placeholder="Failed refunds" autofocus />
          <Button type="submit" name="save-filter-now">
            Save
          </Button>
        </form>
      ) : (
        <button type="button" class="link sm" data-verb="save-filter" onClick={() => setNaming(true)}>
          Save this filter…
        </button>
      )}
    </div>
  );
}
