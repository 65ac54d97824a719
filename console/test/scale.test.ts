import assert from "node:assert/strict";
import { test } from "node:test";
import { RIGHT, scaleOf } from "../src/run/scale";
import type { Step } from "../src/types";

/** Steps one after the other, each of so many seconds. */
function steps(...seconds: number[]): Step[] {
  let at = 1000;
  return seconds.map((took) => {
    const step = { kind: "tool", at, took, spans: [{ kind: "run", start: at, end: at + took }] };
    at += took;
    return step as unknown as Step;
  });
}

/** How many percent of the track each step has. */
function widths(all: Step[], cut = true): number[] {
  const { x, end } = scaleOf(all, 0, false, cut);
  assert.equal(Math.round(x(end)), RIGHT);
  return all.map(({ spans: [s] }) => x(s!.end!) - x(s!.start));
}

const LOOKS = [1, 1, 1, 1, 1] as const;

test("to scale a long step flattens all others", () => {
  assert.ok(Math.max(...widths(steps(...LOOKS, 600), false).slice(0, 5)) < 0.5);
});

for (const long of [[600], [600, 600], [600, 500, 400], [600, 600, 600, 600]]) {
  test(`beside ${long.length} long steps the others keep a width`, () => {
    const all = steps(...LOOKS, ...long.flatMap((seconds) => [seconds, 2]));
    const found = widths(all);
    for (const [n, step] of all.entries()) assert.ok(found[n]! > (step.took! > 100 ? 8 : 2), `step ${n} has ${found[n]} %`);
    assert.equal(scaleOf(all, 0, false, true).parts.filter((p) => p.busy).length, long.length);
  });
}

test("a long step in which others begin and end is cut on both sides of them", () => {
  const all = [...steps(3, 2, 600), ...steps(305, 2).slice(1)];
  const parts = scaleOf(all, 0, false, true).parts.filter((p) => p.busy);
  assert.equal(parts.length, 2);
  assert.ok(widths(all)[3]! > 5);
});

test("steps of one order of size are left as they are", () => {
  for (const all of [[10, 12, 14], [30, 40, 50, 60], [9, 9], [20, 20, 20, 5, 5]]) {
    assert.deepEqual(scaleOf(steps(...all), 0, false, true).parts.filter((p) => p.cut), [], String(all));
  }
});

test("ten thousand steps are placed at once", () => {
  const all = steps(...Array.from({ length: 10_000 }, (_, n) => (n % 3 ? 1 : 9)));
  const began = performance.now();
  scaleOf(all, 0, false, true);
  assert.ok(performance.now() - began < 500);
});
