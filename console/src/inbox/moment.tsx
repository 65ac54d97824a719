/** Dates, times and lengths of time. The browser's own controls, where it has one. What is sent has the zone of this browser, and is shown. */
import { useRef, useState } from "preact/hooks";
import type { Field, Form } from "./form";
import { text } from "./json";
import { formatFault } from "./formats";
import { resolve } from "./schema";

const CONTROLS: Record<string, string> = { date: "date", time: "time", "date-time": "datetime-local" };

const formatOf = (f: Field, form: Form): string => text(resolve(f.schema, form.schema).schema.get("format"));

/** Whether a date or time control can show it; what somebody else wrote may be something else. */
export function isDated(f: Field, form: Form): boolean {
  const format = formatOf(f, form);
  if (!CONTROLS[format]) return false;
  return f.input === "" || (!formatFault(format, f.input) && (format !== "time" || /^[\d:]+$/.test(f.input)));
}

const pad = (n: number): string => String(n).padStart(2, "0");

/** Hours and minutes before or after UTC at a moment of this browser. */
function offset(at: Date): string {
  const minutes = -at.getTimezoneOffset();
  const size = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${pad(Math.floor(size / 60))}:${pad(size % 60)}`;
}

/** `2031-01-31T14:30` of this browser, as it is sent. */
export function withZone(local: string): string {
  const at = new Date(local);
  if (Number.isNaN(+at)) return "";
  return `${local.length === 16 ? `${local}:00` : local}${offset(at)}`;
}

/** What the control shows of a moment. */
export function withoutZone(sent: string): string {
  const at = new Date(sent);
  if (Number.isNaN(+at)) return "";
  const day = `${String(at.getFullYear()).padStart(4, "0")}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  return `${day}T${pad(at.getHours())}:${pad(at.getMinutes())}`;
}

interface Own {
  id: string;
  "aria-describedby": string;
  "aria-invalid": true | undefined;
  disabled: boolean | undefined;
}

export function Moment({ form, field: f, own }: { form: Form; field: Field; own: Own }) {
  const format = formatOf(f, form);
  const whole = format === "date-time";
  return (
    <div class="row wrap">
      <input
        {...own}
        class="inp moment"
        type={CONTROLS[format] ?? "text"}
        value={whole && f.input ? withoutZone(f.input) : f.input}
        onChange={(e) => form.set(f, { input: whole ? withZone(e.currentTarget.value) : e.currentTarget.value })}
      />
      {whole ? (
        <span class="sm t3">
          {Intl.DateTimeFormat().resolvedOptions().timeZone} time{f.input ? `, sent as ${f.input}` : ""}
        </span>
      ) : null}
    </div>
  );
}

const UNITS = ["minutes", "hours", "days"] as const;
const ENDS: Record<string, number> = { M: 0, H: 1, D: 2 };
const ONE = /^(?:PT(.*)([MH])|P([^T]*)(D))$/;

export const isSpan = (f: Field, form: Form): boolean => formatOf(f, form) === "duration";

/** So many minutes, hours or days. What is there already and has several of them stays the text that it is. */
export function Span({ form, field: f, own, name }: { form: Form; field: Field; own: Own; name: string }) {
  const several = useRef(f.input !== "" && !/^(PT\d+[MH]|P\d+D)$/.test(f.input));
  const found = ONE.exec(f.input);
  const [chosen, choose] = useState(0);
  const unit = found ? ENDS[found[2] ?? found[4] ?? ""]! : chosen;
  const set = (n: string, as: number): void => {
    choose(as);
    form.set(f, { input: n.trim() === "" ? "" : as === 2 ? `P${n.trim()}D` : `PT${n.trim()}${as ? "H" : "M"}` });
  };
  if (several.current) return <input {...own} class="inp" type="text" value={f.input} onInput={(e) => form.set(f, { input: e.currentTarget.value })} />;
  const typed = found?.[1] ?? found?.[3] ?? "";
  return (
    <div class="row wrap">
      <input {...own} class="inp number" type="text" inputMode="numeric" autocomplete="off" value={typed} onInput={(e) => set(e.currentTarget.value, unit)} />
      <select class="inp" aria-label={`${name}: minutes, hours or days`} value={String(unit)} disabled={own.disabled} onChange={(e) => set(typed, Number(e.currentTarget.value))}>
        {UNITS.map((word, n) => (
          <option key={word} value={String(n)}>
            {word}
          </option>
        ))}
      </select>
    </div>
  );
}
