/** For which later calls of the run a decision stands: which arguments, how long, how often. */
import { useEffect, useState } from "preact/hooks";
import { wear } from "../late_style";
import { Visible, visible } from "../visible";
import type { Deciding } from "./deciding";
import type { Item } from "./items";
import { isFixed, Num, type Json } from "./json";
import css from "./standing.late.css";

wear(css);

type Which = "same" | "any" | "fit";
const SPANS: readonly [number, string][] = [
  [0, "as long as this run"],
  [3600, "1 hour"],
  [8 * 3600, "8 hours"],
  [24 * 3600, "24 hours"],
];
const LEAST = 2;

export function Terms({ deciding: d, item: i }: { deciding: Deciding; item: Item }) {
  const [which, setWhich] = useState<Which>("same");
  const [where, setWhere] = useState(() => conditionsOf(i));
  const [lasts, setLasts] = useState(0);
  const [times, setTimes] = useState("");
  const exact = isFixed(i.schema); // no edits, so no other arguments either
  useEffect(() => {
    const fits = where.split("\n").map((line) => line.trim());
    const chosen = which === "any" ? ["*"] : which === "fit" ? fits.filter(Boolean) : [];
    const says = new Map<string, Json>([["where", chosen]]);
    if (lasts) says.set("lasts", new Num(String(lasts)));
    if (times) says.set("times", new Num(String(Number(times))));
    d.stands.value = says;
  }, [which, where, lasts, times]);
  const pick = (id: Which, word: string) => (
    <label class="pick">
      <input type="radio" name="standing-where" checked={which === id} disabled={exact && id !== "same"} onChange={() => setWhich(id)} />
      {word}
    </label>
  );
  return (
    <fieldset class="standing" data-standing>
      <legend class="sm t2">
        This decision also answers later calls of <b class="mono">{visible(i.call?.tool ?? "")}</b> in this run, in your name. It can be revoked
        on the run's page.
      </legend>
      <div class="row wrap" role="radiogroup" aria-label="Which arguments">
        {pick("same", "the same arguments")}
        {pick("fit", "arguments that fit")}
        {pick("any", "any arguments")}
      </div>
      {exact ? <p class="sm t3">These arguments cannot be changed, so it stands for the same ones only.</p> : null}
      {which === "fit" ? (
        <label class="fits">
          <span class="sm t3">
            One condition a line, all must fit: <code>order_id=44*</code>, <code>amount&lt;=100</code>. An argument without one may be anything.
          </span>
          <textarea class="mono" rows={3} aria-label="Conditions" value={where} onInput={(e) => setWhere(e.currentTarget.value)} />
        </label>
      ) : null}
      <div class="row wrap">
        <label>
          <span class="sm t3">for</span>
          <select aria-label="For how long" value={String(lasts)} onChange={(e) => setLasts(Number(e.currentTarget.value))}>
            {SPANS.map(([seconds, word]) => (
              <option key={word} value={String(seconds)}>
                {word}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span class="sm t3">at most</span>
          <input
            type="number"
            min={LEAST}
            max={10_000}
            step={1}
            class="num"
            aria-label="At most so many calls, this one included"
            placeholder="any number"
            value={times}
            onInput={(e) => setTimes(e.currentTarget.value)}
          />
          <span class="sm t3">calls, this one included</span>
        </label>
      </div>
      {times && Number(times) < LEAST ? (
        <p class="sm fail" role="alert">
          <Visible text={`It counts this call too: at least ${LEAST}, or leave it empty.`} />
        </p>
      ) : null}
    </fieldset>
  );
}

/** Conditions that say what this call says: to be widened by whoever decides. */
function conditionsOf(i: Item): string {
  const lines: string[] = [];
  for (const [name, value] of i.call?.arguments ?? []) {
    if (typeof value === "string") lines.push(`${name}=${JSON.stringify(value)}`);
    else if (typeof value === "boolean") lines.push(`${name}=${value}`);
    else if (value instanceof Num) lines.push(`${name}=${value.text}`);
  }
  return lines.join("\n");
}
