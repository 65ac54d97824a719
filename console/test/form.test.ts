import assert from "node:assert/strict";
import { test } from "node:test";
import { encoded, refusal } from "../src/inbox/file_bytes";
import { Form, type Field } from "../src/inbox/form";
import { from, Num, parse, write, type Json, type Obj } from "../src/inbox/json";
import { describe, keyOf, placeOf } from "../src/inbox/schema";

const REFUND = parse(`{"type": "object", "additionalProperties": false, "required": ["order_id", "cents", "currency", "memo"],
  "properties": {"order_id": {"type": "string"}, "cents": {"type": "integer", "exclusiveMinimum": 0},
    "currency": {"$ref": "#/$defs/Currency"}, "notify": {"type": "boolean", "default": true}, "rate": {"type": "number"},
    "memo": {"type": "string", "maxLength": 2000}, "tags": {"type": "array", "items": {"type": "string"}},
    "to": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}]}},
  "$defs": {"Currency": {"enum": ["EUR", "NOK", 5]},
    "Address": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}, "zip": {"type": ["integer", "null"]}}}}}`);
const ARGS = parse(`{"order_id": "4417", "cents": 9007199254740993, "currency": "EUR", "notify": true, "rate": 1.0,
  "memo": "Damaged\\r\\non arrival", "tags": ["a", "b"], "to": {"city": "Oslo", "zip": null}}`);

function at(form: Form, ...path: (string | number)[]): Field {
  let here = form.root;
  for (const p of path) here = here.fields.find((f) => f.path.at(-1) === p)!;
  assert.ok(here, `no field ${path.join(".")}`);
  return here;
}
const fault = (form: Form, ...path: (string | number)[]): string | undefined => form.read().faults.get(keyOf(path));
const sent = (form: Form): string => write(form.read().value!);

test("a form that nobody touched sends exactly what it was given", () => {
  assert.equal(sent(new Form(REFUND, ARGS)), write(ARGS));
  assert.equal(new Form(REFUND, ARGS).changed, false);
  assert.equal(sent(new Form(undefined, ARGS)), write(ARGS));
});

test("every field has the control of its type", () => {
  const form = new Form(REFUND, ARGS);
  const shapes = Object.fromEntries(form.root.fields.map((f) => [f.label, f.shape]));
  assert.deepEqual(shapes, {
    order_id: "text",
    cents: "whole",
    currency: "choice",
    notify: "switch",
    rate: "number",
    memo: "long",
    tags: "list",
    to: "group",
  });
  assert.equal(at(form, "to", "zip").mode, "null");
  assert.deepEqual(at(form, "to").modes, ["value", "null", "absent"]);
});

test("an edit keeps the types of everything", () => {
  const form = new Form(REFUND, ARGS);
  form.set(at(form, "cents"), { input: "39900" });
  form.set(at(form, "notify"), { input: "false" });
  form.set(at(form, "currency"), { input: "2" });
  form.set(at(form, "to", "zip"), { mode: "value", input: "150" });
  form.add(at(form, "tags"));
  form.set(at(form, "tags", 2), { input: "" });
  form.remove(at(form, "tags"), 0);
  const wanted =
    '{"order_id": "4417", "cents": 39900, "currency": 5, "notify": false, "rate": 1.0, "memo": "Damaged\\r\\non arrival", ' +
    '"tags": ["b", ""], "to": {"city": "Oslo", "zip": 150}}';
  assert.equal(sent(form), wanted);
  assert.equal(form.changed, true);
});

test("numbers are refused where they would become others", () => {
  const form = new Form(REFUND, ARGS);
  const cents = at(form, "cents");
  for (const [typed, why] of [
    ["1.5", /decimal point/],
    ["1,000", /digits only/],
    ["", /needed/],
    ["007", /begin with 0/],
    ["0", /More than 0/],
  ] as [string, RegExp][]) {
    form.set(cents, { input: typed });
    assert.match(fault(form, "cents") ?? "", why, typed);
    assert.equal(form.read().value, undefined);
  }
  form.set(cents, { input: "123456789012345678901234567890" });
  assert.equal(fault(form, "cents"), undefined);
  form.set(at(form, "rate"), { input: "0.10000000000000000001" });
  assert.match(fault(form, "rate") ?? "", /would become 0\.1/);
});

test("an answer needs what is required, and a choice is never made for the person", () => {
  const form = new Form(
    parse(`{"type": "object", "required": ["keep", "days", "except"], "properties": {"keep": {"type": "boolean"},
    "days": {"type": "integer", "minimum": 30, "maximum": 3650}, "except": {"type": "array", "items": {"type": "string"}}, "why": {"type": "string"}}}`),
  );
  assert.equal(at(form, "keep").shape, "pair");
  assert.equal(fault(form, "keep"), "Choose yes or no.");
  assert.equal(fault(form, "days"), "This is needed.");
  form.set(at(form, "keep"), { input: "true" });
  form.set(at(form, "days"), { input: "20" });
  assert.equal(fault(form, "days"), "At least 30.");
  form.set(at(form, "days"), { input: "30" });
  form.add(at(form, "except"));
  form.set(at(form, "except", 0), { input: "c_20911" });
  assert.equal(sent(form), '{"keep": true, "days": 30, "except": ["c_20911"]}');
});

test("what no control fits is a JSON field that is checked, never nothing", () => {
  const odd = parse(
    '{"type": "object", "properties": {"x": {"oneOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}, "free": {"type": "object"}}}',
  );
  const form = new Form(odd, parse('{"x": [1, 2.0], "free": {"a": 9007199254740993}}'));
  assert.equal(at(form, "x").shape, "json");
  form.set(at(form, "x"), { input: "[1, 2" });
  assert.match(fault(form, "x") ?? "", /Not JSON: a comma or \]/);
  form.set(at(form, "x"), { input: '["a"]' });
  assert.match(fault(form, "x") ?? "", /none of the forms/);
  form.set(at(form, "x"), { input: "[7]" });
  assert.equal(sent(form), '{"x": [7], "free": {"a": 9007199254740993}}');
});

test("a value that does not fit its schema is still shown and sent as it is until somebody changes it", () => {
  const form = new Form(
    parse('{"type": "object", "properties": {"n": {"type": "integer"}, "e": {"enum": ["a"]}}}'),
    from({ n: "four", e: "z" }),
  );
  assert.equal(at(form, "n").input, '"four"');
  assert.equal(at(form, "e").choices.length, 2);
  assert.match(fault(form, "n") ?? "", /must be an integer/);
});

test("a question without a schema takes a text, a number, yes or no, or JSON, and says which", () => {
  const form = new Form(null);
  assert.equal(form.root.shape, "any");
  assert.equal(fault(form), "This is needed.");
  form.set(form.root, { input: "true" });
  assert.equal(form.read().value, "true");
  form.set(form.root, { kind: "yes or no" });
  assert.equal(form.read().value, true);
  form.set(form.root, { kind: "number", input: "12" });
  assert.deepEqual(form.read().value, new Num("12"));
  form.set(form.root, { kind: "JSON", input: '{"approved": true}' });
  assert.equal(sent(form), '{"approved": true}');
});

test("fields named like JavaScript's own things are fields", () => {
  const value = parse('{"__proto__": "x", "constructor": {"toString": 1}, "": 2}') as Json;
  const form = new Form(undefined, value);
  form.set(at(form, "__proto__"), { input: "y" });
  assert.equal(sent(form), '{"__proto__": "y", "constructor": {"toString": 1}, "": 2}');
});

test("schemas that refer to themselves end", () => {
  const tree = parse(
    '{"$ref": "#/$defs/T", "$defs": {"T": {"type": "object", "properties": {"next": {"$ref": "#/$defs/T"}}}, "L": {"$ref": "#/$defs/L"}}}',
  );
  assert.equal(sent(new Form(tree, parse('{"next": {"next": {}}}'))), '{"next": {"next": {}}}');
  assert.equal(new Form(parse('{"$ref": "#/$defs/L", "$defs": {"L": {"$ref": "#/$defs/L"}}}'), parse("1")).read().value?.valueOf(), 1);
});

test("types are described in words", () => {
  const about = (name: string): string => describe((REFUND as Map<string, Map<string, Json>>).get("properties")!.get(name), REFUND);
  assert.equal(about("cents"), "integer · > 0");
  assert.equal(about("currency"), "one of EUR, NOK, 5");
  assert.equal(about("tags"), "list of text");
  assert.equal(about("to"), "group · or null");
});

test("a refusal of the server is tied to its field", () => {
  const found = placeOf(parse(`{"place": ["to", "cities", 2], "reason": "'x' is too short"}`) as Obj);
  assert.deepEqual(found, { path: ["to", "cities", 2], message: "'x' is too short." });
  assert.equal(placeOf(parse('{"detail": "it was decided"}') as Obj), null);
  const form = new Form(REFUND, ARGS);
  form.refuse({ path: ["cents"], message: "Too much." });
  assert.equal(fault(form, "cents"), "Too much.");
  form.set(at(form, "cents"), { input: "1" });
  assert.equal(fault(form, "cents"), undefined);
});

test("what is wrong inside of a field that is written as a whole stands at that field, with its place", () => {
  const form = new Form(parse('{"type": "object", "properties": {"free": {"type": "object", "required": ["a"]}, "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}}}'), parse('{"free": {}, "rows": [{"n": 1}]}'));
  form.refuse({ path: ["free", "deep", 1], message: "Too long." });
  assert.equal(fault(form, "free"), "deep[1]: Too long.");
  form.refuse({ path: ["rows", 0, "n"], message: "Too much." });
  assert.equal(fault(form, "rows", 0, "n"), "Too much.");
  form.set(at(form, "free"), { input: "{}" });
  assert.equal(fault(form, "free"), "a: This is needed.");
});

test("what is optional and yes or no is left out, or one of both; a default is chosen", () => {
  const form = new Form(parse('{"type": "object", "properties": {"park": {"type": "boolean", "default": true}, "walk": {"type": "boolean"}}}'));
  assert.deepEqual(form.root.fields.map((f) => [f.shape, f.input, ...f.modes]), [["pair", "true", "value"], ["pair", "", "value"]]);
  assert.equal(sent(form), '{"park": true}');
  form.set(at(form, "park"), { input: "" });
  form.set(at(form, "walk"), { input: "false" });
  assert.equal(sent(form), '{"walk": false}');
});

test("branches with a value each are choices with titles, and with a title each are chosen first", () => {
  const form = new Form(
    parse(`{"type": "object", "required": ["meal", "pay"], "properties": {
      "meal": {"oneOf": [{"const": 1, "title": "Fish"}, {"const": 2}]},
      "pay": {"anyOf": [{"title": "Card", "type": "object", "required": ["n"], "properties": {"n": {"type": "string"}}}, {"title": "Cash", "type": "integer"}]}}}`),
  );
  assert.deepEqual(at(form, "meal").labels, ["Fish", "2"]);
  assert.equal(fault(form, "pay"), "Choose one.");
  form.set(at(form, "meal"), { input: "0" });
  form.set(at(form, "pay"), { input: "0" });
  assert.equal(fault(form, "pay", "n"), "This is needed.");
  form.set(at(form, "pay").fields[0]!.fields[0]!, { input: "4111" });
  assert.equal(sent(form), '{"meal": 1, "pay": {"n": "4111"}}');
  form.set(at(form, "pay"), { input: "1" });
  form.set(at(form, "pay").fields[0]!, { input: "7" });
  assert.equal(sent(form), '{"meal": 1, "pay": 7}');
});

test("some of a few values are ticked in the order of the schema, and a file is a string in base64", () => {
  const schema = parse(`{"type": "object", "required": ["days"], "properties": {
      "days": {"type": "array", "uniqueItems": true, "minItems": 1, "items": {"enum": ["Mon", "Tue", "Wed"]}},
      "plan": {"type": "string", "contentEncoding": "base64"}}}`);
  const form = new Form(schema);
  assert.deepEqual([at(form, "days").shape, at(form, "plan").shape], ["many", "file"]);
  assert.match(fault(form, "days") ?? "", /At least 1/);
  form.set(at(form, "days"), { input: "0,2" });
  assert.equal(sent(form), '{"days": ["Mon", "Wed"]}');
  form.set(at(form, "plan"), { input: encoded(new TextEncoder().encode("a gate")), file: "yard.txt" });
  assert.equal(sent(form), '{"days": ["Mon", "Wed"], "plan": "YSBnYXRl"}');
  assert.equal(new Form(schema, parse('{"days": ["Wed", "Mon"]}')).root.fields[0]!.shape, "list");
  assert.match(refusal({ name: "yard.heic", size: 5, type: "image/heic" }, "image/png"), /it must be image\/png/);
  assert.match(refusal({ name: "yard.png", size: 700_001, type: "image/png" }, "image/*"), /at most 700 KB/);
  assert.equal(refusal({ name: "yard.png", size: 5, type: "image/png" }, "image/*"), "");
});
