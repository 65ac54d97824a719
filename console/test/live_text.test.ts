import assert from "node:assert/strict";
import { test } from "node:test";
import { LiveText, type TextArrived } from "../src/run/live_text";

const WORDS = ["Section 2. ", "Of ", "the ", "nine 🐦 ", "suppliers"];
const pieces: TextArrived[] = WORDS.map((text, n) => ({
  type: "text",
  text,
  upto: 4,
  offset: Array.from(WORDS.slice(0, n).join("")).length,
}));
const whole = (n: number): TextArrived => ({ type: "text", text: WORDS.slice(0, n).join(""), whole: true, upto: 4, offset: 0 });

function painted(...found: TextArrived[]): string {
  const live = new LiveText();
  for (const piece of found) live.add(piece);
  return live.shown().get("") ?? "";
}

test("a piece that comes twice is painted once", () => {
  assert.equal(painted(...pieces, ...pieces), WORDS.join(""));
  assert.equal(painted(...pieces.flatMap((p) => [p, p])), WORDS.join(""));
});

test("a piece that the whole has already is not added to it", () => {
  for (let n = 0; n <= WORDS.length; n++) {
    assert.equal(painted(whole(n), ...pieces.slice(Math.max(0, n - 2))), WORDS.join(""), `whole of ${n}`);
    assert.equal(painted(...pieces, whole(n)), WORDS.join(""), "an older whole takes nothing away");
  }
});

test("pieces that grew together overlap what was painted", () => {
  const together: TextArrived = { type: "text", text: WORDS.slice(1).join(""), upto: 4, offset: pieces[1]!.offset! };
  assert.equal(painted(pieces[0]!, pieces[1]!, pieces[2]!, together), WORDS.join(""));
});

test("what was missed is shown as missed until the whole is there", () => {
  assert.equal(painted(pieces[3]!, pieces[4]!), "…nine 🐦 suppliers");
  assert.equal(painted(pieces[3]!, pieces[4]!, whole(5)), WORDS.join(""));
});

test("another reply begins anew, and a piece of one that is recorded comes too late", () => {
  const live = new LiveText();
  for (const piece of pieces) live.add(piece);
  live.add({ type: "text", text: "Section 3.", upto: 6, offset: 0 });
  assert.equal(live.shown().get(""), "Section 3.");
  live.end("");
  live.add({ type: "text", text: " Late", upto: 6, offset: 10 });
  assert.equal(live.shown().size, 0);
});
