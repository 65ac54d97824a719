/** What differs inside of two texts: the words that only one of them has are marked, the rest is plain. */
import { Visible } from "../visible";

const MOST = 400;
/** With less than this in common, two texts are different as a whole. */
const ALIKE = 0.4;

/** In pieces: words, numbers, and what stands between them. */
const pieces = (text: string): string[] => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];

export interface Piece {
  text: string;
  own: boolean;
}

/** `mine` beside `theirs`: which of its pieces the other has not, in order. */
export function parted(mine: string, theirs: string): Piece[] {
  if (mine === theirs) return [{ text: mine, own: false }];
  const [a, b] = [pieces(mine), pieces(theirs)];
  if (a.length > MOST || b.length > MOST) return [{ text: mine, own: true }];
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      longest[i * width + j] = a[i] === b[j] ? longest[(i + 1) * width + j + 1]! + 1 : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
  const out: Piece[] = [];
  const put = (text: string, own: boolean): void => {
    const last = out.at(-1);
    if (last?.own === own) last.text += text;
    else out.push({ text, own });
  };
  for (let i = 0, j = 0; i < a.length; ) {
    if (j < b.length && a[i] === b[j]) {
      put(a[i]!, false);
      i += 1;
      j += 1;
    } else if (j < b.length && longest[i * width + j + 1]! > longest[(i + 1) * width + j]!) j += 1;
    else {
      put(a[i]!, true);
      i += 1;
    }
  }
  const shared = out.reduce((sum, p) => sum + (p.own ? 0 : p.text.trim().length), 0);
  if (shared < ALIKE * Math.min(mine.length, theirs.length)) return [{ text: mine, own: true }];
  return joined(out);
}

/** What stands between two marked pieces and is no word of its own is marked with them: no speckles. */
function joined(all: Piece[]): Piece[] {
  const out: Piece[] = [];
  all.forEach((p, n) => {
    const own = p.own || (n > 0 && n < all.length - 1 && !/[\p{L}\p{N}]/u.test(p.text));
    const last = out.at(-1);
    if (last?.own === own) last.text += p.text;
    else out.push({ text: p.text, own });
  });
  return out;
}

/** A text with what only it has marked. */
export function Parted({ mine, theirs }: { mine: string; theirs: string | null }) {
  if (theirs === null) return <Visible text={mine} />;
  return (
    <>
      {parted(mine, theirs).map((p, n) =>
        p.own ? (
          <mark key={n}>
            <Visible text={p.text} />
          </mark>
        ) : (
          <Visible key={n} text={p.text} />
        ),
      )}
    </>
  );
}
