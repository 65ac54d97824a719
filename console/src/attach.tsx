/** Files beside what is said or started: chosen or dropped, read here, sent with the words. */
import { useRef, useState } from "preact/hooks";
import { given, LARGEST, refusal, type Given } from "./inbox/file_bytes";
import { Button } from "./ui";
import { Visible, visible } from "./visible";

interface Props {
  files: readonly Given[];
  set: (files: Given[]) => void;
  off?: boolean;
}

export function Attach({ files, set, off = false }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const [wrong, setWrong] = useState("");
  const take = async (chosen: readonly File[]): Promise<void> => {
    const found: Given[] = [];
    let room = LARGEST - files.reduce((sum, one) => sum + one.$data.length * 0.75, 0);
    for (const file of chosen) {
      const why = refusal(file, "", room);
      setWrong(why);
      if (why) break;
      room -= file.size;
      found.push(await given(file));
    }
    set([...files, ...found]);
    if (input.current) input.current.value = "";
  };
  return (
    <div
      class="attach row wrap"
      onDragOver={(e) => e.preventDefault()}
      onDrop={(e) => {
        e.preventDefault();
        if (!off) void take([...(e.dataTransfer?.files ?? [])]);
      }}
    >
      <label class="sm t2">
        Files{" "}
        <input ref={input} type="file" multiple disabled={off} onChange={(e) => void take([...(e.currentTarget.files ?? [])])} />
      </label>
      {files.map((one, n) => (
        <span key={n} class="row sm">
          <Visible text={one.name || "A file"} />
          <Button look="q" label={`Remove ${visible(one.name)}`} onClick={() => set(files.filter((_, k) => k !== n))}>
            Remove
          </Button>
        </span>
      ))}
      {wrong ? (
        <span class="bad sm fail" role="alert">
          <Visible text={wrong} />
        </span>
      ) : null}
    </div>
  );
}
