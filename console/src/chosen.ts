/** Things that a person has chosen, to do the same to all of them. */
import { signal } from "@preact/signals";

export class Choice {
  readonly ids = signal<ReadonlySet<string>>(new Set());

  /** Choose one, or take it out again. */
  toggle(id: string): void {
    const next = new Set(this.ids.peek());
    if (!next.delete(id)) next.add(id);
    this.ids.value = next;
  }

  /** Choose these and no others. */
  choose(ids: readonly string[]): void {
    this.ids.value = new Set(ids);
  }
}
