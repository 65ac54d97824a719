/** The records of a run, read page by page; a later record is one more page. */
import { useEffect, useState } from "preact/hooks";
import { at, get } from "../api";
import type { RunModel } from "./model";
import type { Page, Recorded } from "../types";

export interface Read {
  records: Recorded[];
  /** Whether what the run had when it was last looked at is here. */
  whole: boolean;
  error: unknown;
  again: () => void;
}

export function useRecords(model: RunModel): Read {
  const [records, setRecords] = useState<Recorded[]>([]);
  const [error, setError] = useState<unknown>(null);
  const seq = model.clock.value.seq;
  useEffect(() => {
    let gone = false;
    const read = async (from: Recorded[]): Promise<void> => {
      let have = from;
      while (!gone && (have.at(-1)?.seq ?? 0) < seq) {
        const page = await get<Page<Recorded>>(`/runs/${at(model.id)}/records`, { after: have.at(-1)?.seq ?? 0, limit: 200 });
        if (!page.items.length || gone) return;
        have = [...have, ...page.items];
        setRecords(have);
      }
    };
    if (!error) read(records).catch((e: unknown) => gone || setError(e));
    return () => {
      gone = true;
    };
  }, [seq, error]);
  return { records, whole: (records.at(-1)?.seq ?? 0) >= seq, error, again: () => setError(null) };
}
