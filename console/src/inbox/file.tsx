/** A file as the value of a field: chosen or dropped, read here, sent in base64. */
import { useRef, useState } from "preact/hooks";
import { Button, Icon } from "../ui";
import { Visible, visible } from "../visible";
import { count } from "../words";
import { given, refusal } from "./file_bytes";
import type { Field, Form } from "./form";
import { obj, text, type Obj } from "./json";
import { resolve } from "./schema";

interface Props {
  form: Form;
  field: Field;
  own: { id: string; "aria-describedby": string; "aria-invalid": true | undefined; disabled: boolean | undefined };
  name: string;
}

/** The type of file that a schema wants, as `image/*`; "" for any. */
function acceptedBy(s: Obj): string {
  const kind = text(obj(obj(s.get("properties")).get("type")).get("pattern"));
  return text(s.get("contentMediaType")) || (kind ? `${kind.replace(/\W/g, "")}/*` : "");
}

export function FilePick({ form, field: f, own, name }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const [wrong, setWrong] = useState("");
  const accept = acceptedBy(resolve(f.schema, form.schema).schema);
  const take = async (file: File | undefined): Promise<void> => {
    if (!file || own.disabled) return;
    const why = refusal(file, accept);
    setWrong(why);
    if (why) return;
    const sent = await given(file);
    form.set(f, { input: sent.$data, file: sent.name, media: sent.type });
  };
  return (
    <div
      class="filepick"
      onDragOver={(e) => e.preventDefault()}
      onDrop={(e) => {
        e.preventDefault();
        void take(e.dataTransfer?.files[0]);
      }}
    >
      <input
        {...own}
        ref={input}
        class={f.input ? "hide" : ""}
        type="file"
        accept={accept}
        aria-label={visible(name)}
        onChange={(e) => void take(e.currentTarget.files?.[0])}
      />
      {f.input ? (
        <span class="row">
          <Icon name="audit" />
          <span class="clip">
            <b>
              <Visible text={f.file || "A file"} />
            </b>{" "}
            <span class="sm t3">{count(Math.floor((f.input.length * 3) / 4), "byte")}, sent with the answer</span>
          </span>
          <Button
            look="q"
            label={`Remove ${visible(f.file || name)}`}
            onClick={() => {
              form.set(f, { input: "", file: "" });
              if (input.current) input.current.value = "";
            }}
          >
            Remove
          </Button>
        </span>
      ) : (
        <span class="sm t3">{accept ? `${accept}, ` : ""}at most 700 KB</span>
      )}
      {wrong ? (
        <div class="bad sm fail" role="alert">
          <Visible text={wrong} />
        </div>
      ) : null}
    </div>
  );
}
