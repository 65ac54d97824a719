/** Reading something, and reading it again: what there is stays on the page until the new is there. */
import { useEffect, useRef, useState } from "preact/hooks";

export interface Loaded<T> {
  data: T | null;
  error: unknown;
  again: () => void;
}

/** `read` runs at once, when `deps` change, and by `again`; an older answer never replaces a newer one. */
export function useLoaded<T>(read: (signal: AbortSignal) => Promise<T>, deps: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<{ data: T | null; error: unknown }>({ data: null, error: null });
  const control = useRef<AbortController | null>(null);
  const again = (): void => {
    control.current?.abort();
    const mine = new AbortController();
    control.current = mine;
    read(mine.signal).then(
      (data) => mine.signal.aborted || setState({ data, error: null }),
      (error: unknown) => mine.signal.aborted || setState((s) => ({ data: s.data, error })),
    );
  };
  useEffect(() => {
    again();
    return () => control.current?.abort();
  }, deps);
  return { ...state, again };
}
