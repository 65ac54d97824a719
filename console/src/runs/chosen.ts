/** The runs that a person has chosen, to do the same to all of them. */
import { signal } from "@preact/signals";
import { Choice } from "../chosen";

export const chosen = new Choice();

export type BulkVerb = "pause" | "resume" | "cancel" | "deny";

/** What a person is asked about the chosen runs. */
export const asking = signal<BulkVerb | null>(null);

/** So many runs are commanded at once. */
export const MOST = 1000;
