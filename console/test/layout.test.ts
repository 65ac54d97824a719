import assert from "node:assert/strict";
import { test } from "node:test";
import { planeOf } from "../src/run/layout";

const chunk = (name: string) => ({ is: "chunk", name });

test("the two branches of an if are arms of one choice, and what follows it is in none", () => {
  const choose = { is: "if", name: "size", conditions: ["big"], branches: [[chunk("ask")]], otherwise: [chunk("pay")] };
  const { boxes } = planeOf({ chains: [{ items: [chunk("read"), choose, chunk("send")] }] });
  const arms = new Map(boxes.map((b) => [b.place, b.arms]));
  assert.deepEqual(arms.get("size/ask"), [{ of: 0, branch: 0 }]);
  assert.deepEqual(arms.get("size/pay"), [{ of: 0, branch: 1 }]);
  assert.deepEqual([arms.get("read"), arms.get("send")], [[], []]);
});

test("a batch has a frame with a join, and its branches are no arms: all are taken", () => {
  const { boxes, frames, joins } = planeOf({ chains: [{ items: [{ is: "batch", name: "reads", branches: { left: [chunk("a")], right: [chunk("a")] } }] }] });
  assert.deepEqual(boxes.map((b) => [b.place, b.arms]), [["reads.left/a", []], ["reads.right/a", []]]);
  assert.deepEqual(joins.map((j) => j.frame), frames.map((f) => f.key));
});

test("a name that stands twice in a chain is two boxes of one place", () => {
  const { boxes } = planeOf({ chains: [{ items: [chunk("read"), chunk("read")] }] });
  assert.deepEqual(boxes.map((b) => b.place), ["read", "read"]);
  assert.equal(new Set(boxes.map((b) => b.key)).size, 2);
});
