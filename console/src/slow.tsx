/** A request that waits for long says so, on every page. */
import { useEffect, useState } from "preact/hooks";
import { unanswered } from "./api";

const LATE = 3000;

export function Slow() {
  const all = [...unanswered.value];
  const first = Math.min(...all.map((one) => one.since));
  const [, count] = useState(0);
  useEffect(() => {
    if (!all.length) return;
    const timer = setInterval(() => count((n) => n + 1), 500);
    return () => clearInterval(timer);
  }, [all.length > 0]);
  const waited = performance.now() - first;
  if (!all.length || waited < LATE) return null;
  const seconds = Math.floor(waited / 1000);
  return (
    <p class="slow sm" role="status" data-slow>
      {all.some((one) => one.changes)
        ? `Sending… ${seconds} s. The server has not answered yet. Do not do it again: the same request counts once.`
        : `Still asking the server, ${seconds} s. The page is fine; the answer is slow. Nothing was changed.`}
    </p>
  );
}
