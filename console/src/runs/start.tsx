/** Start a run… */
import { useState } from "preact/hooks";
import { get } from "../api";
import { Attach } from "../attach";
import { withFiles } from "../with_files";
import type { Given } from "../inbox/file_bytes";
import { Dialog } from "../dialog";
import { useLoaded } from "../loading";
import { haltedFor, offline } from "../live";
import { exact } from "../numbers";
import { go, to } from "../router";
import { Button, refused } from "../ui";
import { Visible } from "../visible";
import { useWish } from "../wish";
import { SEND } from "../keys";
import type { ProgramView as Program, RunRef } from "../generated/types";
import type { Page } from "../types";

export function StartDialog({ close }: { close: () => void }) {
  const { data, error } = useLoaded((s) => get<Page<Program>>("/programs", {}, s), []);
  const [program, setProgram] = useState("");
  const [text, setText] = useState("");
  const [json, setJson] = useState(false);
  const [files, setFiles] = useState<Given[]>([]);
  const [busy, setBusy] = useState(false);
  const wish = useWish();
  const chosen = program || data?.items[0]?.name || "";
  let wrong = "";
  let input: unknown = withFiles(text, files);
  if (json && text.trim()) {
    try {
      input = exact(text);
      if (files.length && !Array.isArray(input)) wrong = "Files go behind text, or behind a list in JSON.";
      if (files.length && Array.isArray(input)) input = [...input, ...files];
    } catch (e) {
      wrong = e instanceof Error ? e.message : String(e);
    }
  }
  const off =
    offline.value ||
    (!chosen ? "this server has nothing to start; start it with adjourn serve app.py:agent" : "") ||
    (!text.trim() && !files.length ? "say what it should do" : wrong ? (files.length ? wrong : "the input is not JSON yet") : "");
  const send = (): void => {
    if (off || busy) return;
    setBusy(true);
    wish.send<RunRef>("/runs", { agent: chosen, input }).then(
      (made) => {
        close();
        go(to("runs", made.run_id));
      },
      (e: unknown) => {
        setBusy(false);
        refused("Not started", e);
      },
    );
  };
  return (
    <Dialog
      title="Start a run"
      close={close}
      footer={
        <>
          <span class="grow" />
          <Button look="q" onClick={close}>
            Not yet
          </Button>
          <Button look="p" off={off} busy={busy ? "Sending…" : ""} onClick={send} keys={SEND} name="start-now">
            Start
          </Button>
        </>
      }
    >
      <div class="stack">
        <label class="stack">
          <span class="lb">Agent or flow</span>
          <select class="inp" value={chosen} onChange={(e) => setProgram(e.currentTarget.value)}>
            {(data?.items ?? []).map((p) => (
              <option key={p.name} value={p.name}>
                {p.name} ({p.kind})
              </option>
            ))}
          </select>
        </label>
        {data && !data.items.length ? (
          <p class="sm t2">
            This server has no programs: it reads, decides and controls. Start runs where they are, or serve them here: adjourn serve
            app.py:agent
          </p>
        ) : null}
        {error ? (
          <p class="fail sm" role="alert">
            The programs cannot be read: <Visible text={String((error as Error).message)} />
          </p>
        ) : null}
        <label class="stack">
          <span class="lb">Input</span>
          <textarea
            class={`inp ${json ? "" : "sans"}`}
            data-first
            rows={4}
            value={text}
            aria-invalid={wrong ? true : undefined}
            aria-describedby="start-wrong"
            placeholder={json ? '{"ticket": "T-001"}' : "Order 4417 arrived broken: make it right"}
            onInput={(e) => setText(e.currentTarget.value)}
            onKeyDown={(e) => e.key === "Enter" && (e.metaKey || e.ctrlKey) && send()}
          />
        </label>
        <Attach files={files} set={setFiles} />
        {haltedFor(chosen) ? (
          <p class="sm t2" role="status">
            <Visible text={`It is held before its first step: ${haltedFor(chosen)}.`} />
          </p>
        ) : null}
        <div class="row">
          <div class="seg" role="radiogroup" aria-label="The input is">
            {[false, true].map((as) => (
              <button
                key={String(as)}
                type="button"
                role="radio"
                aria-checked={json === as}
                class={json === as ? "on" : ""}
                onClick={() => setJson(as)}
              >
                {as ? "JSON" : "Text"}
              </button>
            ))}
          </div>
          <span id="start-wrong" class="sm fail clip">
            {wrong}
          </span>
        </div>
      </div>
    </Dialog>
  );
}
