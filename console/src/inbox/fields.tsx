/** The controls of a form, one a row, each with its label, its type and what is wrong with it. */
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import { wear } from "../late_style";
import { Button, Icon } from "../ui";
import { hidden, Visible, visible, withoutHidden } from "../visible";
import { KINDS, type Field, type Form, type Kind, type Mode } from "./form";
import { list, Num, readingAid, text as textOf, write, type Json } from "./json";
import { isSecret, withoutSecrets } from "./drafts";
import { FilePick } from "./file";
import { Hiding, type Reading } from "./reading";
import { isDated, isSpan, Moment, Span } from "./moment";
import { describe, keyOf, nameOfPath, resolve } from "./schema";
import style from "./fields.late.css";

wear(style);

interface Props {
  form: Form;
  field: Field;
  faults: ReadonlyMap<string, string>;
  reading?: Reading | undefined;
  /** What the form is called where a field has no name of its own. */
  root: string;
  off?: boolean;
}

const MODES: Record<Mode, string> = { value: "a value", null: "null", absent: "left out" };

/** Every field of a form. */
export function Fields({ form, reading, root, off = false }: { form: Form; reading?: Reading; root: string; off?: boolean }) {
  form.version.value;
  const { faults } = form.read();
  return (
    <div class="form editing" role="group" aria-label={root}>
      {rows(form.root).map((f) => (
        <Row key={keyOf(f.path)} form={form} field={f} faults={faults} reading={reading} root={root} off={off} />
      ))}
    </div>
  );
}

/** Groups are opened into rows; a group that can be null or left out has a row of its own for that. */
function rows(f: Field): Field[] {
  if (f.shape !== "group") return [f];
  const inner = f.mode === "value" ? f.fields.flatMap(rows) : [];
  return f.path.length && (f.modes.length > 1 || !inner.length) ? [f, ...inner] : inner;
}

function Row({ form, field: f, faults, reading, root, off }: Props) {
  const id = useId();
  const fault = faults.get(keyOf(f.path));
  const shown = fault && (f.touched || form.tried) ? fault : "";
  const key = nameOfPath(f.path);
  const said = resolve(f.schema, form.schema).schema;
  const title = f.path.length ? textOf(said.get("title")) : "";
  const about = textOf(said.get("description"));
  const name = title || key || root;
  const described = [about ? `${id}-about` : "", `${id}-ty`, shown ? `${id}-bad` : ""].filter(Boolean).join(" ");
  const own = { id, "aria-describedby": described, "aria-invalid": shown ? (true as const) : undefined, disabled: off };
  return (
    <div class="fr" data-field={nameOfPath(f.path)}>
      <div class="dt">
        <label class={title ? "k sans" : "k"} for={id}>
          <Visible text={name} />
        </label>
        {title && title !== key ? (
          <span class="ty mono">
            {" "}
            <Visible text={key} />
          </span>
        ) : null}
        <div class="ty" id={`${id}-ty`}>
          <Visible text={askedFor(f, form) + need(f)} />
        </div>
      </div>
      <div class="dd">
        {about ? (
          <div class="sm t2 about" id={`${id}-about`}>
            <Visible text={about} />
          </div>
        ) : null}
        {f.modes.length > 1 ? <ModeChoice form={form} field={f} name={name} off={off ?? false} /> : null}
        {f.mode === "value" && f.shape !== "group" ? (
          <Control form={form} field={f} own={own} name={name} reading={reading} faults={faults} root={root} />
        ) : null}
        {shown ? (
          <div class="bad sm fail" id={`${id}-bad`} role="alert">
            <Visible text={shown} />
          </div>
        ) : null}
      </div>
    </div>
  );
}

const CHOSEN: Partial<Record<Field["shape"], string>> = {
  choice: "choose one",
  many: "choose any",
  variant: "choose one",
  file: "a file",
};

/** Formats by the names that people have for them. */
const FORMATS: Record<string, string> = {
  date: "a date",
  time: "a time",
  "date-time": "a date and a time",
  duration: "a length of time",
  email: "an e-mail address",
  uri: "a web address",
  uuid: "an id (UUID)",
  ipv4: "an IPv4 address",
  ipv6: "an IPv6 address",
  hostname: "the name of a host",
};

/** What a field takes, for people; what is edited keeps the words of its schema. */
function askedFor(f: Field, form: Form): string {
  if (isSecret(f, form)) return "text, shown as dots";
  const format = textOf(resolve(f.schema, form.schema).schema.get("format"));
  return (f.original === undefined && (CHOSEN[f.shape] || FORMATS[format])) || describe(f.schema, form.schema, f.original);
}

/** What might stand there, as its author says. */
function exampleOf(f: Field, form: Form): string {
  const first = list(resolve(f.schema, form.schema).schema.get("examples"))[0];
  if (first === undefined) return "";
  return visible(typeof first === "string" ? first : write(first));
}

/** Whether an answer must have it. */
const need = (f: Field): string => (!f.path.length ? "" : f.required ? " · required" : f.blank ? " · optional" : "") +
  (!f.touched && f.original === undefined && f.input !== "" ? " · filled in by default" : "");

function ModeChoice({ form, field: f, name, off }: { form: Form; field: Field; name: string; off: boolean }) {
  if (f.shape === "group" && !f.modes.includes("null")) {
    const on = f.mode === "value";
    return <Toggle own={{ "aria-label": `${visible(name)}: filled in`, disabled: off }} on={on} word={on ? "filled in" : "left out"} set={() => form.set(f, { mode: on ? "absent" : "value" })} />;
  }
  return (
    <select
      class="inp mode"
      aria-label={`${visible(name)}: a value or none`}
      value={f.mode}
      disabled={off}
      onChange={(e) => form.set(f, { mode: e.currentTarget.value as Mode })}
    >
      {f.modes.map((m) => (
        <option key={m} value={m}>
          {MODES[m]}
        </option>
      ))}
    </select>
  );
}

/** A switch, with what it says now beside it. */
function Toggle({ own, on, word, set }: { own: object; on: boolean; word: string; set: () => void }) {
  return (
    <button {...own} type="button" role="switch" aria-checked={on} class="swb yes" onClick={set}>
      <span class={`sw ${on ? "on" : ""}`} aria-hidden="true" />
      {word}
    </button>
  );
}

type Own = { id: string; "aria-describedby": string; "aria-invalid": true | undefined; disabled: boolean | undefined };
interface ControlProps {
  form: Form;
  field: Field;
  own: Own;
  name: string;
  reading?: Reading | undefined;
  faults: ReadonlyMap<string, string>;
  root: string;
}

function Control(p: ControlProps) {
  const { form, field: f, own, name } = p;
  const set = (input: string): void => form.set(f, { input });
  switch (f.shape) {
    case "choice":
      if (f.choices.length <= FEW) return <Radios {...p} />;
      return (
        <select {...own} class="inp choice" value={f.input} onChange={(e) => set(e.currentTarget.value)}>
          {f.blank ? <option value="">left out</option> : f.input === "" ? <option value="">choose…</option> : null}
          {f.labels.map((label, n) => (
            <option key={n} value={String(n)}>
              {visible(label)}
            </option>
          ))}
        </select>
      );
    case "switch":
      return (
        <Toggle own={own} on={f.input === "true"} word={f.input === "true" ? "yes" : "no"} set={() => set(String(f.input !== "true"))} />
      );
    case "pair":
      return <YesNo {...p} />;
    case "many":
      return <Ticks {...p} />;
    case "file":
      return <FilePick {...p} />;
    case "variant":
      return <Variant {...p} />;
    case "list":
      return <List {...p} />;
    case "any":
      return (
        <div class="any">
          <select
            class="inp mode"
            aria-label={`${visible(name)}: sent as`}
            value={f.kind}
            disabled={own.disabled}
            onChange={(e) => form.set(f, { kind: e.currentTarget.value as Kind })}
          >
            {KINDS.map((k) => (
              <option key={k} value={k}>{`as ${k}`}</option>
            ))}
          </select>
          {f.kind === "yes or no" ? <YesNo {...p} /> : f.kind === "number" ? <NumberBox {...p} /> : <TextArea {...p} />}
        </div>
      );
    case "whole":
    case "number":
      return <NumberBox {...p} />;
    case "text":
      if (isDated(f, form)) return <Moment form={form} field={f} own={own} />;
      if (isSpan(f, form)) return <Span form={form} field={f} own={own} name={visible(name)} />;
      return (
        <>
          <input
            {...own}
            class={`inp ${hidden(f.input) ? "forced" : ""}`}
            type={typeOf(f, form)}
            value={f.input}
            placeholder={exampleOf(f, form)}
            autocomplete="off"
            spellcheck={false}
            onInput={(e) => set(e.currentTarget.value)}
          />
          <After {...p} />
        </>
      );
    default:
      return <TextArea {...p} />;
  }
}

const FEW = 5;
/** The keyboard that a phone shows. */
const TYPES: Record<string, string> = { email: "email", uri: "url", password: "password" };

function typeOf(f: Field, form: Form): string {
  if (isSecret(f, form)) return "password";
  return f.input.length < 200 ? (TYPES[textOf(resolve(f.schema, form.schema).schema.get("format"))] ?? "text") : "text";
}

/** Some of a few values. */
function Ticks({ form, field: f, own, name }: ControlProps) {
  const on = new Set(f.input === "" ? [] : f.input.split(","));
  const turn = (n: string): void => {
    if (!on.delete(n)) on.add(n);
    form.set(f, { input: [...on].sort((a, b) => Number(a) - Number(b)).join(",") });
  };
  return (
    <div class="pair wrap" role="group" id={own.id} aria-label={visible(name)} aria-describedby={own["aria-describedby"]}>
      {f.labels.map((label, n) => (
        <label key={n}>
          <input type="checkbox" disabled={own.disabled} checked={on.has(String(n))} onChange={() => turn(String(n))} />
          {visible(label)}
        </label>
      ))}
    </div>
  );
}

/** Which of several forms; then the fields of that one. */
function Variant(p: ControlProps) {
  const { field: f, own, name, form, faults, root, reading } = p;
  const [inner] = f.fields;
  return (
    <div class="any">
      {f.choices.length <= FEW ? (
        <Radios {...p} />
      ) : (
        <select {...own} class="inp choice" value={f.input} onChange={(e) => form.set(f, { input: e.currentTarget.value })}>
          <option value="">{f.blank ? "left out" : "choose…"}</option>
          {f.labels.map((label, n) => (
            <option key={n} value={String(n)}>
              {visible(label)}
            </option>
          ))}
        </select>
      )}
      {inner?.shape === "group" ? (
        <div class="form editing nested" role="group" aria-label={visible(f.labels[Number(f.input)] ?? name)}>
          {rows(inner).map((one) => (
            <Row key={keyOf(one.path)} form={form} field={one} faults={faults} reading={reading} root={root} off={own.disabled ?? false} />
          ))}
        </div>
      ) : inner ? (
        <ItemControl {...p} field={inner} name={f.labels[Number(f.input)] ?? name} />
      ) : null}
    </div>
  );
}

/** A few choices, all of them seen. */
function Radios(p: ControlProps) {
  return <Options {...p} all={p.field.labels.map((label, n) => [String(n), visible(label)])} />;
}

function YesNo(p: ControlProps) {
  return <Options {...p} all={[["true", "yes"], ["false", "no"]]} />;
}

/** Radio buttons, each with what it stands for; the last one for nothing, where that may be. */
function Options({ form, field: f, own, name, all }: ControlProps & { all: [string, string][] }) {
  const labelled = { "aria-label": visible(name), "aria-describedby": own["aria-describedby"], "aria-invalid": own["aria-invalid"] };
  return (
    <div class="pair wrap" role="radiogroup" id={own.id} {...labelled}>
      {(f.blank ? [...all, ["", "left out"]] : all).map(([value, word]) => (
        <label key={value}>
          <input type="radio" name={own.id} disabled={own.disabled} checked={f.input === value} onChange={() => form.set(f, { input: value! })} />
          {word}
        </label>
      ))}
    </div>
  );
}

function NumberBox({ form, field: f, own }: ControlProps) {
  const was = f.original instanceof Num && f.original.text !== f.input.trim() ? f.original.text : "";
  const aid = readingAid(f.input.trim());
  return (
    <div class="row wrap">
      <input
        {...own}
        class="inp number"
        type="text"
        inputMode={f.shape === "whole" ? "numeric" : "decimal"}
        autocomplete="off"
        value={f.input}
        placeholder={exampleOf(f, form)}
        onInput={(e) => form.set(f, { input: e.currentTarget.value })}
      />
      <span class="sm t3">
        {was ? (
          <>
            was <del class="mono">{was}</del>
            {aid ? " · " : ""}
          </>
        ) : null}
        {aid ? `reads ${aid}` : ""}
      </span>
    </div>
  );
}

function TextArea(p: ControlProps) {
  const { form, field: f, own, reading } = p;
  const box = useRef<HTMLTextAreaElement>(null);
  const place = keyOf(f.path);
  const look = (): void => {
    const el = box.current;
    if (el) reading?.mark(place, nameOfPath(f.path), el.scrollHeight - el.clientHeight - el.scrollTop <= 6);
  };
  useEffect(() => {
    const el = box.current;
    if (!el) return;
    el.style.height = "auto"; // as high as its text, up to twenty lines
    el.style.height = `${Math.min(420, el.scrollHeight + 2)}px`;
    look();
  }, [f.input]);
  return (
    <>
      <textarea
        {...own}
        ref={box}
        class={`inp ${hidden(f.input) ? "forced" : ""}`}
        rows={2}
        value={f.input}
        placeholder={exampleOf(f, form)}
        spellcheck={false}
        autocomplete="off"
        onScroll={look}
        onInput={(e) => form.set(f, { input: e.currentTarget.value })}
      />
      {f.touched && typeof f.original === "string" && /\r/.test(f.original) ? (
        <div class="sm t3">Line ends are sent as line feeds, without carriage returns.</div>
      ) : null}
      <After {...p} />
    </>
  );
}

/** What a field of text hides, shown below it: a browser's own field would not show it. */
function After({ form, field: f }: ControlProps) {
  const n = hidden(f.input);
  if (!n) return null;
  return (
    <>
      <div class="preview val" aria-label="As it will be sent">
        <Visible text={f.input.length > 4000 ? `${f.input.slice(0, 4000)}…` : f.input} />
      </div>
      <Hiding n={n}>
        <button type="button" class="link" onClick={() => form.set(f, { input: withoutHidden(f.input) })}>
          Remove them
        </button>
      </Hiding>
    </>
  );
}

/** What stays in hand when a list has changed: the line that was added or moved, or where one adds another. */
type Hand = { line: number; on: "line" | "up" | "down" } | { on: "add" };
const LINE = "input, textarea, select, button";

function List(p: ControlProps) {
  const { form, field: f, own, name, faults, root, reading } = p;
  const box = useRef<HTMLDivElement>(null);
  const hand = useRef<Hand | null>(null);
  // before the next key, which is for what is in hand then
  useLayoutEffect(() => {
    const held = hand.current;
    hand.current = null;
    if (!held) return;
    const line = held.on === "add" ? null : box.current?.querySelectorAll(":scope > .item")[held.line];
    const found = held.on === "add" ? box.current?.querySelector(":scope > .add") : line?.querySelector(held.on === "line" ? LINE : `[data-verb=${held.on}]`);
    (found as HTMLElement | null | undefined)?.focus();
  });
  const add = (): void => {
    hand.current = { line: f.fields.length, on: "line" };
    form.add(f);
  };
  const move = (n: number, by: -1 | 1): void => {
    hand.current = { line: n + by, on: by < 0 ? "up" : "down" };
    form.move(f, n, by);
  };
  const remove = (n: number): void => {
    hand.current = { on: "add" };
    form.remove(f, n);
  };
  const most = mostOf(form, f);
  /** Enter ends a line, and begins the next one. */
  const typed = (e: KeyboardEvent): void => {
    const line = e.target instanceof HTMLInputElement && e.target.type === "text" && e.target.closest(".item")?.parentElement === box.current;
    if (e.key !== "Enter" || e.ctrlKey || e.metaKey || e.isComposing || !line || f.fields.some((x) => x.shape === "group")) return;
    e.preventDefault();
    if (!most || f.fields.length < Number(most)) add();
  };
  return (
    <div class="items" id={own.id} ref={box} role="group" aria-label={visible(name)} onKeyDown={typed}>
      {f.fields.map((x, n) => (
        <div class="item" key={n}>
          {x.shape === "group" ? (
            <div class="form editing nested" role="group" aria-label={`${visible(name)} ${n + 1}`}>
              {rows(x).map((y) => (
                <Row key={keyOf(y.path)} form={form} field={y} faults={faults} reading={reading} root={root} off={own.disabled ?? false} />
              ))}
            </div>
          ) : (
            <ItemControl {...p} field={x} name={`${name}[${n}]`} />
          )}
          {f.fields.length > 1 ? (
            <>
              <Button look="q" class="x" off={n ? "" : "it is the first"} label={`Move ${visible(name)} ${n + 1} up`} name="up" onClick={() => move(n, -1)}>
                ↑
              </Button>
              <Button
                look="q"
                class="x"
                off={n + 1 < f.fields.length ? "" : "it is the last"}
                label={`Move ${visible(name)} ${n + 1} down`}
                name="down"
                onClick={() => move(n, 1)}
              >
                ↓
              </Button>
            </>
          ) : null}
          <Button look="q" class="x" label={`Remove ${visible(name)} ${n + 1}`} onClick={() => remove(n)}>
            ×
          </Button>
        </div>
      ))}
      <Button icon="" class="add" label={`Add to ${visible(name)}`} onClick={add}>
        Add…
      </Button>
      {most ? (
        <span class="sm t3">
          {f.fields.length} of at most {most}
        </span>
      ) : null}
    </div>
  );
}

/** How many there may be; "" without a limit. */
function mostOf(form: Form, f: Field): string {
  const most = resolve(f.schema, form.schema).schema.get("maxItems");
  return most instanceof Num ? most.text : "";
}

function ItemControl(p: ControlProps) {
  const id = useId();
  const fault = p.faults.get(keyOf(p.field.path));
  const shown = fault && (p.field.touched || p.form.tried) ? fault : "";
  const own: Own = { id, "aria-describedby": shown ? `${id}-bad` : "", "aria-invalid": shown ? true : undefined, disabled: p.own.disabled };
  return (
    <div class="grow" data-field={nameOfPath(p.field.path)}>
      <label class="hide" for={id}>
        {visible(p.name)}
      </label>
      <Control {...p} own={own} />
      {shown ? (
        <div class="bad sm fail" id={`${id}-bad`} role="alert">
          <Visible text={shown} />
        </div>
      ) : null}
    </div>
  );
}

/** The value exactly as it will be sent, but for secrets. */
export function Sent({ value, form }: { value: Json | undefined; form: Form }) {
  if (value === undefined) return null;
  const text = write(withoutSecrets(value, form));
  return (
    <p class="sent sm t3">
      <Icon name="right" /> Sent as{" "}
      <code>
        <Visible text={text.length > 300 ? `${text.slice(0, 300)}…` : text} />
      </code>
    </p>
  );
}
