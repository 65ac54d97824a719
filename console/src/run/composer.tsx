/** Say something to the agent: it reads this at its next step. */
import type { RefObject } from "preact";
import { useState } from "preact/hooks";
import { at } from "../api";
import type { Given } from "../inbox/file_bytes";
import { later } from "../later";
import { Button, refused, sentence, toast } from "../ui";
import { count } from "../words";
import { useWish } from "../wish";
import { withFiles } from "../with_files";
import { SEND } from "../keys";
import { reasons } from "./verbs";
import type { InterruptSummary as Interrupt, RunSummary as Run } from "../generated/types";

const Attach = later(async () => (await import("../attach")).Attach, true);

export function Composer({ run, questions, field }: { run: Run; questions: Interrupt[]; field: RefObject<HTMLTextAreaElement> }) {
  const [text, setText] = useState("");
  const [files, setFiles] = useState<Given[]>([]);
  const [abandon, setAbandon] = useState(false);
  const [busy, setBusy] = useState(false);
  const wish = useWish();
  const off = reasons(run).say;
  const read = run.kind === "flow" ? "a step of this flow reads it only if it looks for notes" : "it is read at the next step";
  const asks = questions.filter((i) => i.kind === "question").length;
  const send = (): void => {
    const said = text.trim();
    if (!(said || files.length) || busy || off) return;
    setBusy(true);
    wish.send<{ dropped: string[] }>(`/runs/${at(run.run_id)}/say`, { text: withFiles(said, files), ...(abandon ? { abandon: true } : {}) })
      .then(
        (answer) => {
          setText("");
          setFiles([]);
          setAbandon(false);
          toast(
            "done",
            "Said.",
            answer.dropped.length
              ? `${count(answer.dropped.length, "question was", "questions were")} dropped; the agent continues with what you said.`
              : sentence(read),
          );
        },
        (e: unknown) => refused("Not said", e),
      )
      .finally(() => setBusy(false));
  };
  return (
    <form
      class="card composer"
      onSubmit={(e) => {
        e.preventDefault();
        send();
      }}
    >
      <textarea
        ref={field}
        rows={1}
        aria-label={`Say something to ${run.agent}`}
        placeholder={off ? `Say: ${off}.` : `Say something to ${run.agent}. ${sentence(read)}`}
        value={text}
        maxLength={100000}
        readOnly={!!off}
        onInput={(e) => setText(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter" && (e.metaKey || e.ctrlKey)) {
            e.preventDefault();
            send();
          }
        }}
      />
      {off || run.kind === "flow" ? null : <Attach files={files} set={setFiles} />}
      {asks && (text || files.length) ? (
        <label class="row sm t2">
          <input type="checkbox" checked={abandon} onChange={(e) => setAbandon(e.currentTarget.checked)} />
          instead of answering {asks === 1 ? "its question" : `its ${asks} questions`}
        </label>
      ) : null}
      <Button
        type="submit"
        keys={SEND}
        off={off || (text.trim() || files.length ? "" : "write something first")}
        busy={busy ? "Sending…" : ""}
        name="say-now"
      >
        Say
      </Button>
    </form>
  );
}
