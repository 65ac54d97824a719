/** Types beside those of the API, which are in `generated/types`. */
import type { InterruptSummary, Json, Me, RecordView, StepKind, StepView } from "./generated/types";

export type Kind = InterruptSummary["kind"];
export type Role = Me["role"];

/** A step of a run, or a reply that is being written, of which nothing is recorded yet. */
export type Step = Omit<StepView, "kind"> & { kind: StepKind | "writing" };

/** A page of a list. */
export interface Page<T> {
  items: T[];
  after: string | null;
}

/** A flow's graph, as it was recorded. */
export interface Graph {
  chains: { root?: boolean; when?: Json; items: GraphItem[] }[];
  [more: string]: Json;
}
export interface GraphItem {
  is: string;
  name?: string;
  [more: string]: Json;
}

/** A line of a journal, as it is stored. */
export interface Recorded extends RecordView {
  record: { t: string; at: number; [more: string]: Json };
}

export interface GuideItem {
  id: string;
  title: string;
  text: string;
  done: boolean;
  link?: string;
  command?: string;
  action?: string;
}
