/** The controls of a form, one a row, each with its label, its type and what is wrong with it. */
import { useEffect, useId, useRef } from "preact/hooks";
import { Button, Icon } from "../ui";
import { hidden, Visible, visible, withoutHidden } from "../visible";
import { KINDS, type Field, type Form, type Kind, type Mode } from "./form";
import { Num, readingAid, write, type Json } from "./json";
import { Hiding, type Reading } from "./reading";
import { describe, keyOf, nameOfPath } from "./schema";

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
  const name = nameOfPath(f.path) || root;
  const described = [`${id}-ty`, shown ? `${id}-bad` : ""].filter(Boolean).join(" ");
  const own = { id, "aria-describedby": described, "aria-invalid": shown ? (true as const) : undefined, disabled: off };
  return (
    <div class="fr" data-field={nameOfPath(f.path)}>
      <div class="dt">
        <label class="k" for={id}>
          <Visible text={name} />
        </label>
        <div class="ty" id={`${id}-ty`}>
          <Visible text={describe(f.schema, form.schema, f.original) + (f.required && f.path.length ? " · required" : "")} />
        </div>
      </div>
      <div class="dd">
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

function ModeChoice({ form, field: f, name, off }: { form: Form; field: Field; name: string; off: boolean }) {
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
      return (
        <select {...own} class="inp choice" value={f.input} onChange={(e) => set(e.currentTarget.value)}>
          {f.input === "" ? <option value="">choose…</option> : null}
          {f.choices.map((v, n) => (
            <option key={n} value={String(n)}>
              {visible(typeof v === "string" ? v : write(v))}
            </option>
          ))}
        </select>
      );
    case "switch":
      return (
        <button
          {...own}
          type="button"
          role="switch"
          aria-checked={f.input === "true"}
          class="swb yes"
          onClick={() => set(String(f.input !== "true"))}
        >
          <span class={`sw ${f.input === "true" ? "on" : ""}`} aria-hidden="true" />
          {f.input === "true" ? "yes" : "no"}
        </button>
      );
    case "pair":
      return <YesNo {...p} />;
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
      return (
        <>
          <input
            {...own}
            class={`inp ${hidden(f.input) ? "forced" : ""}`}
            type="text"
            value={f.input}
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

function YesNo({ form, field: f, own, name }: ControlProps) {
  return (
    <div
      class="pair"
      role="radiogroup"
      id={own.id}
      aria-label={visible(name)}
      aria-describedby={own["aria-describedby"]}
      aria-invalid={own["aria-invalid"]}
    >
      {(["true", "false"] as const).map((v) => (
        <label key={v}>
          <input type="radio" name={own.id} disabled={own.disabled} checked={f.input === v} onChange={() => form.set(f, { input: v })} />
          {v === "true" ? "yes" : "no"}
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
        onInput={(e) => form.set(f, { input: e.currentTarget.value })}
      />
      <span class="sm t3">
        {was ? (
          <>
            was <del class="mono">{was}</del>{" "}
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

function List(p: ControlProps) {
  const { form, field: f, own, name, faults, root, reading } = p;
  return (
    <div class="items" id={own.id} role="group" aria-label={visible(name)}>
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
          <Button look="q" class="x" label={`Remove ${visible(name)} ${n + 1}`} onClick={() => form.remove(f, n)}>
            ×
          </Button>
        </div>
      ))}
      <Button icon="" class="add" label={`Add to ${visible(name)}`} onClick={() => form.add(f)}>
        Add…
      </Button>
    </div>
  );
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

/** The value exactly as it will be sent. */
export function Sent({ value }: { value: Json | undefined }) {
  if (value === undefined) return null;
  const text = write(value);
  return (
    <p class="sent sm t3">
      <Icon name="right" /> Sent as{" "}
      <code>
        <Visible text={text.length > 300 ? `${text.slice(0, 300)}…` : text} />
      </code>
    </p>
  );
}
