/** Forms come when one is needed: most items are decided without. */
import type { Form } from "./form";
import type { Item } from "./items";
import { from, type Json } from "./json";

/** A form over one value; what it is made with is loaded first. */
export async function formOf(schema: Json | undefined, original?: Json): Promise<Form> {
  const { Form } = await import("./parts");
  return new Form(schema, original);
}

/** The form of an answer, with what was typed before and not sent. */
export interface Drafted {
  form: Form;
  /** Keep no more of it. */
  stop: () => void;
  /** It was sent. */
  forget: () => void;
}

export async function draftedForm(who: string, ref: string, schema: Json | undefined): Promise<Drafted> {
  const { Form, forget, keep } = await import("./parts");
  const form = new Form(schema);
  const place = `${who}.${ref}`; // a browser may have several users
  const stop = keep(place, form);
  return {
    form,
    stop,
    forget: () => {
      stop();
      forget(place);
    },
  };
}

/** What a choice asks for beside itself. */
export async function choiceForm(i: Item, choice: string): Promise<Form | null> {
  if (i.kind === "limit" && choice === "extend") {
    return formOf(from({ type: "object", properties: { amount: { type: "number", exclusiveMinimum: 0 } } }));
  }
  if (i.kind === "in_doubt" && choice === "happened" && !i.choices.some(([k]) => k === "not")) {
    return formOf(from({ type: "object", properties: { result: {} } }));
  }
  return null;
}
