import assert from "node:assert/strict";
import { test } from "node:test";
import { filesIn, sizeWords } from "../src/file_refs";
import { talkOf } from "../src/run/talk";
import type { Recorded, Step } from "../src/types";

const records = [
  { seq: 1, record: { t: "started", at: 10, by: "shop-api", input: "Order 4417 arrived broken" } },
  { seq: 2, record: { t: "claimed", at: 10 } },
  {
    seq: 3,
    record: { t: "replied", at: 14, took: 2, upto: 2, model: "m-1", usage: { input_tokens: 5 }, parts: [{ type: "text", text: "I look." }], sent: { terms: { instructions: "a", tools: "t" } } },
  },
  { seq: 4, record: { t: "said", at: 20, by: "ana", text: "No date, please." } },
  { seq: 5, record: { t: "replied", at: 21, took: 2, upto: 3, model: "m-1", parts: [] } },
  { seq: 6, record: { t: "replied", at: 21.5, took: 0.2, upto: 3, path: "1.0", model: "m-2", parts: [] } },
  { seq: 7, record: { t: "broke", at: 26, took: 1, upto: 6, text: "Half a", sent: { terms: { instructions: "b" } } } },
] as unknown as Recorded[];
const steps = [
  { first_seq: 3, kind: "model", call_id: "1", path: "" },
  { first_seq: 3, kind: "tool", call_id: "1.0", path: "" },
  { first_seq: 6, kind: "tool", call_id: "1.0/1.0", path: "1.0" },
  { first_seq: 5, kind: "model", call_id: "2", path: "" },
  { first_seq: 7, kind: "model", call_id: "3", path: "" },
] as unknown as Step[];

test("every message has an author, a time and what it did", () => {
  const talk = talkOf(records, steps);
  assert.deepEqual(
    talk.map((m) => [m.author, m.name, m.did, m.at]),
    [
      ["person", "shop-api", "started the run", 10],
      ["model", "m-1", "", 12],
      ["person", "ana", "said", 20],
      ["model", "m-1", "", 19],
      ["model", "", "", 25],
    ],
  );
});

test("a call stands in the reply that asked for it, and a nested agent's does not", () => {
  assert.deepEqual(
    talkOf(records, steps).map((m) => m.calls.map((c) => c.call_id)),
    [[], ["1.0"], [], [], []],
  );
});

test("it says when the model read what a person said: not in the request that was sent before", () => {
  assert.equal(talkOf(records, steps)[2]!.readAt, 25);
});

test("a system prompt is shown where it is first sent, and again where it changes", () => {
  assert.deepEqual(
    talkOf(records, steps).map((m) => m.terms),
    [false, true, false, false, true],
  );
});

test("a reply that was cut off says so and keeps its words", () => {
  const last = talkOf(records, steps).at(-1)!;
  assert.deepEqual([last.flaw, last.text], ["cut off", "Half a"]);
});

test("of an input of texts and files the texts are said, and the files are shown below", () => {
  const photo = { $file: "a".repeat(64), type: "image/png", size: 2048, name: "a.png" };
  const said = (input: unknown) => talkOf([{ seq: 1, record: { t: "started", at: 1, input } }] as unknown as Recorded[], [])[0]!;
  assert.equal(said(["Look.", photo, "Well?"]).text, "Look.\nWell?");
  assert.equal(said(photo).text, "");
  assert.match(said({ of: photo }).text, /\$file/);
  assert.deepEqual(filesIn(said({ of: [photo] }).given), [{ digest: photo.$file, type: "image/png", size: 2048, name: "a.png" }]);
  assert.deepEqual(filesIn({ ...photo, $file: "../../other" }), []);
  assert.deepEqual([812, 40_960, 1_258_291].map(sizeWords), ["812 bytes", "40 KB", "1.2 MB"]);
});

test("what a fork was told stands in its conversation", () => {
  const forked = [...records.slice(0, 3), { seq: 4, record: { t: "forked", at: 30, of: "DEMO-1", at_seq: 3, by: "bob", instruction: "Only half." } }] as unknown as Recorded[];
  const said = talkOf(forked, steps).at(-1)!;
  assert.deepEqual([said.author, said.name, said.did, said.text], ["person", "bob", "instructed, and forked the run", "Only half."]);
});
