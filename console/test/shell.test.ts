import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { argument, onStore, quoted } from "../src/shell";

const ODD = [
  "plain", "a b", "order 1; touch pwned", "$(touch pwned)", "`touch pwned`", "a'b\"c", "a & b", "*", "a  b", "~root", "$HOME", "ünï-日本",
  "a\u2800b", "p\u0430y", "{a,b}", "PATH=x", "a\nb", "a\\b", "a\\'b", "\x1b[31m", "\u202eabc", "!x", "",
];

/** The words that a shell makes of it. */
function words(command: string): string[] {
  const script = `adjourn() { printf '%s\\0' "$@"; }\n${command}\n`;
  return execFileSync("bash", ["--norc", "-c", script]).toString("utf8").split("\0").slice(0, -1);
}

test("any text is one word of a shell, and nothing of it is hidden", () => {
  assert.deepEqual(words(["adjourn", ...ODD.map(quoted)].join(" ")), ODD);
  for (const text of ODD) assert.match(quoted(text), /^[^\p{C}\u2800]*$/u);
});

test("what looks like an option comes last, behind two dashes", () => {
  const command = onStore(`adjourn again ${argument("-rf")} APP.PY:NAME`, "my data's.db");
  assert.deepEqual(words(command), ["again", "--db", "my data's.db", "--", "-rf", "APP.PY:NAME"]);
  assert.deepEqual(words(onStore(`adjourn again ${argument("a b")} APP.PY:NAME`, "x.db")), ["again", "a b", "APP.PY:NAME", "--db", "x.db"]);
  assert.deepEqual(words(onStore(`adjourn halt '*' --reason ${quoted("so -- that")}`, "x.db")), ["halt", "*", "--reason", "so -- that", "--db", "x.db"]);
});
