/** Files that a value refers to: images are shown, everything else is a link with its name, type and size. */
import { useMemo, useState } from "preact/hooks";
import { address, at } from "./api";
import { filesIn, sizeWords, type FileRef } from "./file_refs";
import style from "./files.late.css";
import { wear } from "./late_style";
import { Visible, visible } from "./visible";

wear(style);

const RASTER = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const MOST = 20;

export function Files({ run, value }: { run: string; value: unknown }) {
  const found = useMemo(() => filesIn(value), [value]);
  if (!found.length) return null;
  return (
    <div class="files sans">
      {found.slice(0, MOST).map((file, n) => (
        <One key={n} run={run} file={file} />
      ))}
      {found.length > MOST ? <p class="sm t3">and {found.length - MOST} more</p> : null}
    </div>
  );
}

/** What its type says may be wrong: then the browser cannot show it, and there is the link. */
function One({ run, file: f }: { run: string; file: FileRef }) {
  const [broken, setBroken] = useState(false);
  const place = address(`/runs/${at(run)}/blobs/${f.digest}`);
  const name = f.name || f.digest.slice(0, 9);
  return (
    <figure data-file={f.digest}>
      {RASTER.has(f.type) && !broken ? (
        <img src={place} alt={`Image ${visible(name)}`} loading="lazy" onError={() => setBroken(true)} />
      ) : null}
      <figcaption class="sm">
        <a class="link" href={place} download={name}>
          <Visible text={name} />
        </a>{" "}
        <span class="t3">
          <Visible text={f.type} />, {sizeWords(f.size)}
        </span>
      </figcaption>
    </figure>
  );
}
