import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { hidden, pieces, visible, withoutHidden } from "../src/visible";

/** Python's answers for hostile strings: `[{text, visible, hidden}]`, written by the test that runs this one. */
const EXPECTED = process.env["ADJOURN_VISIBLE"];
const NAMED = /⟨U\+([0-9A-F]+)( [^⟩]*)?⟩/g;

test("plain text stays as it is", () => {
  assert.equal(visible("refund order 4417"), "refund order 4417");
  assert.equal(hidden("Grüße, naïve café 東京 Привет 😀"), 0);
});

test("what cannot be seen is shown by number and name", () => {
  assert.equal(visible("a\u202eb"), "a⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩b");
  assert.equal(visible("\x1b[31m"), "⟨U+001B ESCAPE⟩[31m");
  assert.equal(visible("\u{e0041}"), "⟨U+E0041 TAG LATIN CAPITAL LETTER A⟩");
  assert.equal(hidden("a\u200b\u200b\n\tb"), 2);
});

test("letters of another script in a Latin word are shown, and ordinary words in that script are not", () => {
  assert.equal(visible("pаypal"), "p⟨U+0430 CYRILLIC SMALL LETTER A⟩ypal");
  assert.equal(hidden("Привет мир, paypal"), 0);
  assert.equal(hidden("Δt µm"), 0);
});

test("the same character many times is one piece, and nothing is lost", () => {
  const text = `x${"\u200b".repeat(1000)}y\n\n`;
  const found = pieces(text);
  assert.equal(found.length, 5);
  assert.equal(found.map((p) => p.text.repeat(p.times)).join(""), text);
  assert.equal(hidden(text), 1000);
});

test("what hides can be taken away without touching what is seen", () => {
  assert.equal(withoutHidden("in\u200bstead\tof\n‘\u202e7140’ ⟨x"), "instead\tof\n‘7140’ ⟨x");
});

test("a megabyte is looked through quickly", () => {
  const began = performance.now();
  assert.equal(hidden("\u200ba".repeat(500_000)), 500_000);
  assert.ok(performance.now() - began < 5000);
});

test("it shows what the command line shows", { skip: !EXPECTED }, () => {
  const cases = JSON.parse(readFileSync(EXPECTED!, "utf8")) as { text: string; visible: string; hidden: number }[];
  assert.ok(cases.length > 60);
  for (const wanted of cases) {
    const ours = visible(wanted.text);
    // JavaScript has no names: ours are few, and where there is one it is the same.
    const theirs = [...wanted.visible.matchAll(NAMED)].map((m) => m[2] ?? "");
    let n = 0;
    for (const m of ours.matchAll(NAMED)) {
      if (m[2]) assert.equal(m[2], theirs[n], JSON.stringify(wanted.text));
      n += 1;
    }
    assert.equal(ours.replace(NAMED, "⟨$1⟩"), wanted.visible.replace(NAMED, "⟨$1⟩"), JSON.stringify(wanted.text));
    assert.equal(hidden(wanted.text), wanted.hidden, JSON.stringify(wanted.text));
  }
});
