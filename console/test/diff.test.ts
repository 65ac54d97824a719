import assert from "node:assert/strict";
import { test } from "node:test";
import { diff } from "../src/inbox/diff";
import { parse, write, type Json } from "../src/inbox/json";

const told = (was: string, now: string): string[] =>
  diff(parse(was), parse(now)).map((c) => `${c.name}: ${shown(c.was)} → ${shown(c.now)}`);
const shown = (v: Json | undefined): string => (v === undefined ? "nothing" : write(v));

test("each leaf that differs is told, and nothing else", () => {
  assert.deepEqual(told('{"order": "4417", "cents": 48250}', '{"cents": 39900, "order": "4417"}'), ["cents: 48250 → 39900"]);
  assert.deepEqual(told('{"a": {"b": [1, 2]}}', '{"a": {"b": [1, 3, 4]}}'), ["a.b[1]: 2 → 3", "a.b[2]: nothing → 4"]);
  assert.deepEqual(told('{"a": 1, "b": 2}', '{"c": 3, "a": 1}'), ["c: nothing → 3", "b: 2 → nothing"]);
  assert.deepEqual(told("{}", "{}"), []);
});

test("another type is another value", () => {
  assert.deepEqual(told('{"n": 1, "t": "1"}', '{"n": 1.0, "t": 1}'), ["n: 1 → 1.0", 't: "1" → 1']);
  assert.deepEqual(told('{"a": {}}', '{"a": []}'), ["a: {} → []"]);
});
