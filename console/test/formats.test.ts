import assert from "node:assert/strict";
import { test } from "node:test";
import { Form } from "../src/inbox/form";
import { parse, write } from "../src/inbox/json";
import { withoutZone, withZone } from "../src/inbox/moment";
import { formatFault } from "../src/inbox/formats";
import { keyOf } from "../src/inbox/schema";
import cases from "./format_cases.json";

test("formats are checked by the same cases as on the server", () => {
  for (const [format, { fit, not }] of Object.entries(cases)) {
    for (const text of fit) assert.equal(formatFault(format, text), "", `${format}: ${text}`);
    for (const text of not) assert.notEqual(formatFault(format, text), "", `${format}: ${text}`);
  }
  assert.equal(formatFault("colour", "banana"), "");
});

test("a moment has the zone of this browser, and comes back as it was", () => {
  assert.equal(withoutZone(withZone("2031-01-31T14:30")), "2031-01-31T14:30");
  assert.equal(formatFault("date-time", withZone("2031-01-31T14:30")), "");
  assert.equal(withZone(""), "");
});

const VISIT = parse(`{"type": "object", "required": ["day"], "properties": {"day": {"type": "string", "format": "date"},
  "phone": {"type": "string"}, "people": {"type": "integer"}, "gate": {"enum": ["north", "south"]}}}`);
const set = (form: Form, name: string, input: string): void =>
  form.set(form.root.fields.find((f) => f.label === name)!, { input });

test("what is optional and empty is left out, without a choice of its own", () => {
  const form = new Form(VISIT);
  assert.deepEqual(form.root.fields.map((f) => f.modes), [["value"], ["value"], ["value"], ["value"]]);
  set(form, "day", "2026-11-17");
  assert.equal(write(form.read().value!), '{"day": "2026-11-17"}');
  set(form, "people", "3");
  set(form, "gate", "1");
  assert.equal(write(form.read().value!), '{"day": "2026-11-17", "people": 3, "gate": "south"}');
  set(form, "people", "");
  set(form, "gate", "");
  assert.equal(write(form.read().value!), '{"day": "2026-11-17"}');
});

test("a date that is none is refused beside its field", () => {
  const form = new Form(VISIT);
  set(form, "day", "banana");
  assert.equal(form.read().faults.get(keyOf(["day"])), "A date such as 2031-01-31.");
});
