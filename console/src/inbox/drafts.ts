/** What was typed into a form and not sent: kept on this device, one draft for each item, until the item is answered. */
import { effect } from "@preact/signals";
import type { Field, Form, Kind, Mode } from "./form";
import { isObj, text, type Json } from "./json";
import { resolve } from "./schema";

const PREFIX = "adjourn.draft.";
const MOST = 50;
const LONGEST = 100_000;

interface Draft {
  input: string;
  mode: Mode;
  kind: Kind;
  touched: boolean;
  fields: Draft[];
}

/** Whether nothing of it may be kept or shown. */
export function isSecret(f: Field, form: Form): boolean {
  const s = resolve(f.schema, form.schema).schema;
  return s.get("writeOnly") === true || text(s.get("format")) === "password";
}

const DOTS = "•••";

/** The value as it may be shown: what was typed as a secret is dots, wherever it stands, and a file is its name. */
export function withoutSecrets(value: Json, form: Form): Json {
  const typed = new Set<string>();
  const visit = (f: Field): void => {
    if (isSecret(f, form) && f.input) typed.add(f.input);
    f.fields.forEach(visit);
  };
  visit(form.root);
  const hide = (v: Json): Json => {
    if (isObj(v)) return new Map([...v].map(([k, x]) => [k, k === "$data" ? "…" : hide(x)]));
    if (Array.isArray(v)) return v.map(hide);
    return v !== null && typed.has(String(v)) ? DOTS : v;
  };
  return hide(value);
}

function draftOf(f: Field, form: Form): Draft {
  const kept = !isSecret(f, form) && f.shape !== "file";
  return { input: kept ? f.input : "", mode: f.mode, kind: f.kind, touched: kept && f.touched, fields: f.fields.map((x) => draftOf(x, form)) };
}

/** Put a draft into a form; what no longer fits it is passed over. */
function restore(f: Field, draft: Draft, form: Form): void {
  if (f.shape === "variant" || f.shape !== "group") {
    if (f.modes.includes(draft.mode)) f.mode = draft.mode;
    f.kind = draft.kind;
    if (draft.touched && f.shape !== "list") form.set(f, { input: draft.input });
  }
  if (f.shape === "group" && f.modes.includes(draft.mode)) f.mode = draft.mode;
  if (f.shape === "list") while (f.fields.length < draft.fields.length) form.add(f);
  f.fields.forEach((x, n) => {
    const inner = draft.fields[n];
    if (inner) restore(x, inner, form);
  });
}

const anything = (d: Draft): boolean => d.touched || d.fields.some(anything);

/** Keep what is typed from now on, and put back what was; gives how to end that. */
export function keep(ref: string, form: Form): () => void {
  const place = PREFIX + ref;
  try {
    const found = localStorage.getItem(place);
    if (found) restore(form.root, JSON.parse(found) as Draft, form);
  } catch {
    forget(ref); // another version wrote it
  }
  return effect(() => {
    form.version.value;
    const draft = draftOf(form.root, form);
    if (!anything(draft)) return;
    const text = JSON.stringify(draft);
    try {
      if (text.length < LONGEST) localStorage.setItem(place, text);
      thin(place);
    } catch {
      // a full or forbidden store: then it is not kept
    }
  });
}

/** An item that was answered has no draft any more. */
export function forget(ref: string): void {
  try {
    localStorage.removeItem(PREFIX + ref);
  } catch {
    // then there is none
  }
}

/** Items that are gone leave their drafts behind: there are only so many. */
function thin(spared: string): void {
  const all = Object.keys(localStorage).filter((k) => k.startsWith(PREFIX) && k !== spared);
  for (const k of all.slice(0, Math.max(0, all.length - MOST))) localStorage.removeItem(k);
}
