/** Which rows of a long list of equal rows are on the screen. */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";

const OVER = 10;

export function useWindow(box: RefObject<HTMLElement>, count: number, height: number): { from: number; to: number } {
  const [range, setRange] = useState({ from: 0, to: Math.min(count, 60) });
  const look = (): void => {
    const top = box.current?.getBoundingClientRect().top;
    if (top === undefined) return;
    const from = Math.max(0, Math.floor(-top / height) - OVER);
    const to = Math.min(count, Math.ceil((innerHeight - top) / height) + OVER);
    setRange((old) => (old.from === from && old.to === to ? old : { from, to: Math.max(from, to) }));
  };
  useLayoutEffect(look, [count, height]);
  useEffect(() => onMove(look), [count, height]);
  return range;
}

/** Look again, at most once a frame, while the page is scrolled or resized, or something on it becomes higher or lower; until the
 * result is called. */
export function onMove(look: () => void): () => void {
  let frame = 0;
  const soon = (): void => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      look();
    });
  };
  addEventListener("scroll", soon, { passive: true });
  addEventListener("resize", soon);
  const heights = new ResizeObserver(soon);
  heights.observe(document.body);
  return () => {
    heights.disconnect();
    cancelAnimationFrame(frame);
    removeEventListener("scroll", soon);
    removeEventListener("resize", soon);
  };
}
