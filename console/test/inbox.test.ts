import assert from "node:assert/strict";
import { test } from "node:test";
import { answerOf } from "../src/inbox/answered";
import { alikeOf, outcomeWords, retriedOf } from "../src/inbox/alike";
import { byUrgency, escalatedWords, itemOf, type Item } from "../src/inbox/items";
import { obj, parse } from "../src/inbox/json";

const item = (more: Record<string, unknown>): Item => itemOf(parse(JSON.stringify({ kind: "approval", on_expiry: "deny", groups: [], ...more })));

test("what was escalated stands first, then what expires soonest, then what has waited longest", () => {
  const items = [
    item({ ref: "late", opened_at: 5, expires_at: null }),
    item({ ref: "early", opened_at: 1, expires_at: null }),
    item({ ref: "soon", opened_at: 9, expires_at: 100 }),
    item({ ref: "escalated last", opened_at: 9, expires_at: 900, escalated: true }),
    item({ ref: "escalated", opened_at: 9, expires_at: 800, escalated: true }),
  ];
  assert.deepEqual(
    items.sort(byUrgency).map((i) => i.ref),
    ["escalated", "escalated last", "soon", "early", "late"],
  );
});

test("an escalated item says for whom it is now, and until when", () => {
  const then = "then denied by expiry, 14:05";
  assert.equal(
    escalatedWords(item({ ref: "r", escalated: true, groups: ["finance", "leads"] }), then),
    "No one decided it in time. It is now for finance or leads; then denied by expiry, 14:05.",
  );
  assert.match(escalatedWords(item({ ref: "r", escalated: true }), then), /for every person who may decide/);
});

test("the time of a look is sent back exactly as it came", () => {
  const found = alikeOf(obj(parse('{"refs": ["a:1?0", "b:1?0"], "until": 1763290000.1234567}')));
  assert.deepEqual(found, { refs: ["a:1?0", "b:1?0"], until: "1763290000.1234567" });
});

test("what came of retrying many is said in two sentences at most", () => {
  const answer = (refused: (string | null)[]): string =>
    JSON.stringify({
      items: refused.map((why, n) => ({ ref: `r${n}:x`, run_id: `r${n}`, seq: why ? null : 9, refused: why && { code: "halted", detail: why } })),
    });
  const words = (...refused: (string | null)[]) => outcomeWords(retriedOf(obj(parse(answer(refused)))));
  assert.deepEqual(words(null, null, null), { done: "Retried 3.", refused: "" });
  assert.deepEqual(words(null, "it is halted", "other"), { done: "Retried 1.", refused: "2 not retried: it is halted" });
  assert.deepEqual(words("it is halted"), { done: "", refused: "1 not retried: it is halted" });
});

test("an answer in a list is its fields by their titles, and a secret is dots", () => {
  const schema = {
    $defs: { code: { type: "string", format: "password" } },
    properties: { keep: { type: "boolean", title: "Keep them" }, code: { $ref: "#/$defs/code" }, cars: { type: "array" } },
  };
  const asked = item({ kind: "question", answer_schema: schema });
  const value = '{"keep": true, "code": "4711", "cars": ["AB 1", "CD 2"], "n": 12345678901234567890, "host": {"name": "Kari"}}';
  assert.equal(answerOf(asked, parse(value)), "Keep them: yes, code: •••, cars: AB 1, CD 2, n: 12345678901234567890, host: {…}");
});

test("an answer that is one value is that value, unless it is a secret or long", () => {
  assert.equal(answerOf(item({ kind: "question" }), "Room 7"), "Room 7");
  assert.equal(answerOf(item({ kind: "question" }), false), "no");
  assert.equal(answerOf(item({ kind: "question", answer_schema: { writeOnly: true } }), "4711"), "•••");
  assert.equal(answerOf(item({ kind: "question" }), "x".repeat(999)).length, 201);
});
