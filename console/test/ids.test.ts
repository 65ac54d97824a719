/** Ids are read as `core/ids` writes them. The cases are made from that module, see `tests/console/test_units.py`. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import * as ids from "../src/ids";

const file = process.env["ADJOURN_IDS"] ?? "";

type Read = (...of: string[]) => unknown;

test("ids are read and built as the server does", { skip: !existsSync(file) }, () => {
  const cases = JSON.parse(readFileSync(file, "utf8")) as { name: string; of: string[]; is: unknown }[];
  for (const { name, of, is } of cases) assert.deepEqual((ids as unknown as Record<string, Read>)[name]!(...of), is, `${name}(${of.join(", ")})`);
  const tested = new Set(cases.map((c) => c.name));
  assert.deepEqual(Object.keys(ids).filter((name) => !tested.has(name)), []);
});
