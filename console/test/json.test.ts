import assert from "node:assert/strict";
import { test } from "node:test";
import { BadJson, compare, equal, loses, Num, parse, readingAid, write, type Json } from "../src/inbox/json";

test("a value is written back as it was read, to the last digit and in the same order", () => {
  for (const text of [
    '{"b": 1, "2": 2, "1": 3, "__proto__": {"constructor": null}}',
    "[9007199254740993, 1.0, 1, -0.0, 1e400, 0.1, 123456789012345678901234567890]",
    '"\\u0000 \\" \\\\ \u202e"',
    "{}",
    "[]",
    "null",
    '{"a": [[], {}, [{"b": "c"}]]}',
  ]) {
    assert.equal(write(parse(text)), text === '"\\u0000 \\" \\\\ \u202e"' ? JSON.stringify(JSON.parse(text)) : text);
  }
});

test("what is not JSON is refused, saying where", () => {
  for (const [text, why] of [
    ['{"a": 1, "a": 2}', /"a" is there twice, at line 1, character 10/],
    ["[1,]", /not a JSON value/],
    ["{a: 1}", /name in quotes/],
    ["01", /not a number|more after/],
    ["1 2", /more after the value/],
    ['"a', /no closing quote/],
    ['"\n"', /not written as JSON/],
    ["", /a value is missing/],
    ["[1\n 2]", /comma or \] is missing, at line 2, character 2/],
    ["NaN", /not a JSON value/],
    ["[".repeat(300), /nested deeper/],
  ] as [string, RegExp][]) {
    assert.throws(
      () => parse(text),
      (e: unknown) => e instanceof BadJson && why.test(e.message),
      text,
    );
  }
});

test("texts of a megabyte full of quotes and backslashes are read quickly", () => {
  const long = '\\"'.repeat(250_000) + "\\".repeat(250_000);
  assert.equal(parse(JSON.stringify(long)), long);
});

test("numbers are equal if they are written alike, objects whatever the order of their names", () => {
  assert.ok(!equal(new Num("1"), new Num("1.0")));
  assert.ok(equal(parse('{"a": 1, "b": [2]}'), parse('{"b": [2], "a": 1}')));
  assert.ok(!equal(parse('{"a": null}') as Json, parse("{}")));
  assert.ok(!equal("1", new Num("1")));
});

test("a decimal that a double does not hold is noticed", () => {
  assert.equal(loses("0.1"), "");
  assert.equal(loses("1.50e2"), "");
  assert.equal(loses("9007199254740993"), "");
  assert.equal(loses("9007199254740993.5"), "9007199254740994");
  assert.equal(loses("0.10000000000000000001"), "0.1");
  assert.equal(loses("1e400"), "too large");
});

test("numbers are compared to their last digit, and read with their thousands apart", () => {
  assert.ok(compare(new Num("9007199254740993"), new Num("9007199254740992")) > 0);
  assert.ok(compare(new Num("1.5"), new Num("2")) < 0);
  assert.equal(readingAid("48250"), "48,250");
  assert.equal(readingAid("-1234567.25"), "-1,234,567.25");
  assert.equal(readingAid("999"), "");
});
