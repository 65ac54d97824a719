/**
 * Text from outside, with the characters that hide made visible: the same rules as `views/visible.py`.
 *
 * Controls, bidi, zero-width and blank characters, unassigned ones, piled-up marks; letters of another script in a Latin word;
 * and in what looks like a host, an address or an identifier everything that passes for ASCII. A character is shown by its
 * number, as text that can be selected, copied and read aloud.
 */
import { CUT, FORMS, LOOK_ALIKES, ORDINARY, SCRIPTS, SMALL } from "./generated/confusable_characters";

/** A stretch of text; with a `code`, that character, `times` times in a row. */
export interface Piece {
  text: string;
  code: number;
  times: number;
}

const PLAIN = /^[ -~]*$/;
const OTHER_OR_SPACE = /[\p{C}\p{Z}]/u;
const MARK = /\p{M}/u;
/** Blank although their category is a letter, a mark or a symbol; variation selectors carry smuggled text. */
// biome-ignore lint/suspicious/noMisleadingCharacterClass: each character is looked for by itself
const BLANK = /[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u180b-\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u;
/** How the string form begins a shown character; one in the text itself is shown too, so that nobody can write a false one. */
const BRACKET = 0x27e8;
/** So many combining marks a character may carry; more would grow over the neighbouring lines. */
const MARKS = 3;

const WORD = /[\p{L}\p{Nl}\p{No}]{2,}/gu;
// Modifier letters, signs and roman numerals are Latin by script and not by name, as the rule has it.
const LATIN =
  /(?![\p{Lm}\p{Nl}\u00aa\u00ba\u212a\u212b\u2132\u214e\u2183\uff21-\uff3a\uff41-\uff5a])\p{Script=Latin}|[\u1d62-\u1d65\u2090-\u209c\u2c7c]/u;
const FOREIGN =
  /(?![\u1d78\ua69c\ua69d\u{1e030}-\u{1e06d}])[\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}\uff21-\uff3a\uff41-\uff5a\u{102e1}-\u{102fb}\u{1d400}-\u{1d7ff}]/u;
/** Greek letters that look Latin; the others (Δt, µm) are ordinary in mixed words. */
const ALIKE = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαικνορτυχϲϳ";

const NAME = /[A-Za-z0-9_\-./:@#%?=&+~\\\x01\x02]+/g;
const HOST =
  /:\/\/|[A-Za-z0-9\x01\x02]@[A-Za-z0-9\x01\x02]|[A-Za-z0-9\x01\x02]\.[A-Za-z\x01]{2}|[0-9]\.[0-9]+\.[0-9]+\.[0-9]/;
const IDENTIFIER =
  /^(?:~|\.{1,2})?[/\\][A-Za-z]|[A-Za-z0-9]_|_[A-Za-z0-9]|[A-Za-z][0-9]|[0-9][A-Za-z]{2}|0[xX][0-9A-Fa-f]|[A-Za-z]-[0-9]{3}/;

const CONTROLS =
  "NULL|START OF HEADING|START OF TEXT|END OF TEXT|END OF TRANSMISSION|ENQUIRY|ACKNOWLEDGE|BELL|BACKSPACE|CHARACTER TABULATION|" +
  "LINE FEED|LINE TABULATION|FORM FEED|CARRIAGE RETURN|SHIFT OUT|SHIFT IN|DATA LINK ESCAPE|DEVICE CONTROL ONE|DEVICE CONTROL TWO|" +
  "DEVICE CONTROL THREE|DEVICE CONTROL FOUR|NEGATIVE ACKNOWLEDGE|SYNCHRONOUS IDLE|END OF TRANSMISSION BLOCK|CANCEL|END OF MEDIUM|" +
  "SUBSTITUTE|ESCAPE|INFORMATION SEPARATOR FOUR|INFORMATION SEPARATOR THREE|INFORMATION SEPARATOR TWO|INFORMATION SEPARATOR ONE";
const MORE_CONTROLS =
  "DELETE|PADDING CHARACTER|HIGH OCTET PRESET|BREAK PERMITTED HERE|NO BREAK HERE|INDEX|NEXT LINE|START OF SELECTED AREA|" +
  "END OF SELECTED AREA|CHARACTER TABULATION SET|CHARACTER TABULATION WITH JUSTIFICATION|LINE TABULATION SET|PARTIAL LINE FORWARD|" +
  "PARTIAL LINE BACKWARD|REVERSE LINE FEED|SINGLE SHIFT TWO|SINGLE SHIFT THREE|DEVICE CONTROL STRING|PRIVATE USE ONE|" +
  "PRIVATE USE TWO|SET TRANSMIT STATE|CANCEL CHARACTER|MESSAGE WAITING|START OF GUARDED AREA|END OF GUARDED AREA|START OF STRING|" +
  "SINGLE GRAPHIC CHARACTER INTRODUCER|SINGLE CHARACTER INTRODUCER|CONTROL SEQUENCE INTRODUCER|STRING TERMINATOR|" +
  "OPERATING SYSTEM COMMAND|PRIVACY MESSAGE|APPLICATION PROGRAM COMMAND";
/** First code point of a row, then names one after the other; `~` stands for the row's common beginning. */
const ROWS: [number, string, string][] = [
  [0, "", CONTROLS],
  [0x7f, "", MORE_CONTROLS],
  [0xa0, "", "NO-BREAK SPACE"],
  [0xad, "", "SOFT HYPHEN"],
  [0x34f, "", "COMBINING GRAPHEME JOINER"],
  [0x61c, "", "ARABIC LETTER MARK"],
  [0x115f, "HANGUL ", "~CHOSEONG FILLER|~JUNGSEONG FILLER"],
  [0x180e, "", "MONGOLIAN VOWEL SEPARATOR"],
  [0x2000, "", "EN QUAD|EM QUAD|EN SPACE|EM SPACE|THREE-PER-EM SPACE|FOUR-PER-EM SPACE|SIX-PER-EM SPACE|FIGURE SPACE"],
  [0x2008, "ZERO WIDTH ", "PUNCTUATION SPACE|THIN SPACE|HAIR SPACE|~SPACE|~NON-JOINER|~JOINER|LEFT-TO-RIGHT MARK|RIGHT-TO-LEFT MARK"],
  [0x2028, "", "LINE SEPARATOR|PARAGRAPH SEPARATOR|LEFT-TO-RIGHT EMBEDDING|RIGHT-TO-LEFT EMBEDDING|POP DIRECTIONAL FORMATTING"],
  [0x202d, "", "LEFT-TO-RIGHT OVERRIDE|RIGHT-TO-LEFT OVERRIDE|NARROW NO-BREAK SPACE"],
  [0x205f, "INVISIBLE ", "MEDIUM MATHEMATICAL SPACE|WORD JOINER|FUNCTION APPLICATION|~TIMES|~SEPARATOR|~PLUS"],
  [0x2066, "", "LEFT-TO-RIGHT ISOLATE|RIGHT-TO-LEFT ISOLATE|FIRST STRONG ISOLATE|POP DIRECTIONAL ISOLATE"],
  [
    0x206a,
    "HIBIT SYMMETRIC SWAPPING",
    "IN~|ACTIVATE SYMMETRIC SWAPPING|INHIBIT ARABIC FORM SHAPING|ACTIVATE ARABIC FORM SHAPING|NATIONAL DIGIT SHAPES|NOMINAL DIGIT SHAPES",
  ],
  [0x27e8, "", "MATHEMATICAL LEFT ANGLE BRACKET"],
  [0x2800, "", "BRAILLE PATTERN BLANK"],
  [0x3000, "", "IDEOGRAPHIC SPACE"],
  [0x3164, "", "HANGUL FILLER"],
  [0xfeff, "", "ZERO WIDTH NO-BREAK SPACE"],
  [0xffa0, "", "HALFWIDTH HANGUL FILLER"],
  [0xfff9, "INTERLINEAR ANNOTATION ", "~ANCHOR|~SEPARATOR|~TERMINATOR"],
  [0xe0001, "", "LANGUAGE TAG"],
  [0xe007f, "", "CANCEL TAG"],
  [0x410, "CYRILLIC CAPITAL LETTER ", "~A|~BE|~VE|~GHE|~DE|~IE|~ZHE|~ZE|~I|~SHORT I|~KA|~EL|~EM|~EN|~O|~PE|~ER|~ES|~TE|~U|~EF|~HA"],
  [0x430, "CYRILLIC SMALL LETTER ", "~A|~BE|~VE|~GHE|~DE|~IE|~ZHE|~ZE|~I|~SHORT I|~KA|~EL|~EM|~EN|~O|~PE|~ER|~ES|~TE|~U|~EF|~HA"],
  [0x455, "CYRILLIC SMALL LETTER ", "~DZE|~BYELORUSSIAN-UKRAINIAN I|~YI|~JE"],
  [0x4bb, "CYRILLIC SMALL LETTER ", "~SHHA"],
  [0x4cf, "CYRILLIC SMALL LETTER ", "~PALOCHKA"],
  [0x501, "CYRILLIC SMALL LETTER ", "~KOMI DE"],
  [0x51b, "CYRILLIC SMALL LETTER ", "~QA|CYRILLIC CAPITAL LETTER WE|~WE"],
  [
    0x391,
    "GREEK CAPITAL LETTER ",
    "~ALPHA|~BETA|~GAMMA|~DELTA|~EPSILON|~ZETA|~ETA|~THETA|~IOTA|~KAPPA|~LAMDA|~MU|~NU|~XI|~OMICRON|~PI|~RHO",
  ],
  [0x3a4, "GREEK CAPITAL LETTER ", "~TAU|~UPSILON|~PHI|~CHI"],
  [0x3b1, "GREEK SMALL LETTER ", "~ALPHA|~BETA|~GAMMA|~DELTA|~EPSILON|~ZETA|~ETA|~THETA|~IOTA|~KAPPA|~LAMDA|~MU|~NU|~XI|~OMICRON|~PI|~RHO"],
  [0x3c4, "GREEK SMALL LETTER ", "~TAU|~UPSILON|~PHI|~CHI"],
];
let table: Map<number, string> | undefined;

/** A character's name, where it is one of those that matter; else what kind of nothing it is; else "". */
export function nameOf(code: number): string {
  if (!table) {
    table = new Map();
    for (const [first, start, names] of ROWS) for (const [k, n] of names.split("|").entries()) table.set(first + k, n.replace("~", start));
  }
  const letter = String.fromCharCode(code & 0x7f);
  if (code >= 0xfe00 && code <= 0xfe0f) return `VARIATION SELECTOR-${code - 0xfe00 + 1}`;
  if (code >= 0xe0100 && code <= 0xe01ef) return `VARIATION SELECTOR-${code - 0xe0100 + 17}`;
  if (code >= 0xff21 && code <= 0xff3a) return `FULLWIDTH LATIN CAPITAL LETTER ${String.fromCharCode(code - 0xfee0)}`;
  if (code >= 0xff41 && code <= 0xff5a) return `FULLWIDTH LATIN SMALL LETTER ${String.fromCharCode(code - 0xff00)}`;
  if (code >= 0xe0041 && code <= 0xe005a) return `TAG LATIN CAPITAL LETTER ${letter}`;
  if (code >= 0xe0061 && code <= 0xe007a) return `TAG LATIN SMALL LETTER ${letter.toUpperCase()}`;
  return table.get(code) ?? kindOf(String.fromCodePoint(code));
}

function kindOf(c: string): string {
  if (/\p{Co}/u.test(c)) return "PRIVATE USE";
  if (/\p{Cs}/u.test(c)) return "SURROGATE";
  return /\p{Cn}/u.test(c) ? "NOT ASSIGNED" : "";
}

/** `U+202E` */
export const numberOf = (code: number): string => `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;

const HIDES = 1;
const MARKED = 2;
const LETTER = 4;
const FORM = 8;
const known = new Map<number, number>();

const among = (code: number, ranges: [number, number][]): boolean => ranges.some(([first, last]) => code >= first && code <= last);

/** Whether it is another way to write a Latin letter: bold, circled, joined. */
function isForm(c: string, code: number): boolean {
  const plain = c.normalize("NFKC");
  if (plain === c || ORDINARY.includes(c) || among(code, FORMS) || among(code, SMALL)) return false;
  return (code >= 0x1d400 && code <= 0x1d7ff) || /[A-Za-z]/.test(plain);
}

// A text as somebody reads it who knows ASCII only, one character for each: what passes for nothing is a gap.
const GAP = "\0";
const FOREIGNER = "\x01";
const REWRITTEN = "\x02";
const readings = new Map<string, string>();

function readAs(c: string): string {
  const had = readings.get(c);
  if (had !== undefined) return had;
  const code = c.codePointAt(0)!;
  const plain = c.normalize("NFKC");
  const first = String.fromCodePoint(plain.codePointAt(0)!);
  const alike = LOOK_ALIKES[c] ?? LOOK_ALIKES[first] ?? first;
  let out = plain === c || plain === " " || c === CUT ? GAP : REWRITTEN;
  if (code <= 0x7e) out = c;
  else if (ORDINARY.includes(c) || among(code, SMALL)) out = REWRITTEN;
  else if (alike > " " && alike <= "~" && c !== CUT) out = alike;
  else if (/\p{L}/u.test(c) && among(code, SCRIPTS)) out = FOREIGNER;
  readings.set(c, out);
  return out;
}

/**
 * Whatever is not ASCII in something that looks like a host, an address, a path or an identifier.
 *
 * A word with a letter that passes for no Latin one is what it looks like, unless Latin words stand beside it in one name.
 */
function* posing(text: string): Iterable<number> {
  const chars = [...text];
  const read = chars.map(readAs).join("");
  const honest = read.replace(/[A-Za-z\x01]+/g, (word) => (word.includes(FOREIGNER) ? GAP.repeat(word.length) : word));
  const starts: number[] = [];
  let at = 0;
  for (const c of chars) {
    starts.push(at);
    at += c.length;
  }
  const foreign = function* (from: number, to: number): Iterable<number> {
    for (let n = from; n < to; n += 1) if (chars[n]! > "\x7f") yield starts[n]!;
  };
  const written = (from: number, to: number): string => text.slice(starts[from]!, starts[to] ?? text.length);
  for (const m of read.matchAll(NAME)) {
    const to = m.index + m[0].length;
    if (m[0].includes(FOREIGNER) && HOST.test(m[0]) && /[A-Za-z]/.test(written(m.index, to))) yield* foreign(m.index, to);
  }
  for (const m of honest.matchAll(NAME))
    if (HOST.test(m[0]) || IDENTIFIER.test(m[0])) yield* foreign(m.index, m.index + m[0].length);
}

/** What a character is, for the rules; each is looked up once. */
function flags(code: number): number {
  const had = known.get(code);
  if (had !== undefined) return had;
  const c = String.fromCodePoint(code);
  const hides = OTHER_OR_SPACE.test(c) || BLANK.test(c) || code === BRACKET;
  const out =
    (hides ? HIDES : 0) |
    (MARK.test(c) ? MARKED : 0) |
    (FOREIGN.test(c) || ALIKE.includes(c) ? LETTER : 0) |
    (isForm(c, code) ? FORM : 0);
  known.set(code, out);
  return out;
}

/** Where a text hides something: offsets of the characters to show by number, in order. */
function found(text: string): number[] {
  const at: number[] = [];
  let marks = MARKS; // a text that begins with a mark would put it on what is shown before it
  let foreign = false;
  let ascii = true;
  for (let n = 0; n < text.length; n += 1) {
    const unit = text.charCodeAt(n);
    if (unit >= 0x20 && unit <= 0x7e) {
      marks = 0;
      continue;
    }
    ascii &&= unit <= 0x7f;
    const code = text.codePointAt(n)!;
    const is = flags(code);
    marks = is & MARKED ? marks + 1 : 0;
    if (is & (HIDES | FORM) || marks > MARKS) at.push(n);
    foreign ||= (is & LETTER) !== 0;
    if (code > 0xffff) n += 1;
  }
  if (ascii) return at;
  return [...new Set([...at, ...(foreign ? disguised(text) : []), ...posing(text)])].sort((a, b) => a - b);
}

/** Letters that make a Latin word look like another one. */
function* disguised(text: string): Iterable<number> {
  for (const word of text.matchAll(WORD)) {
    if (PLAIN.test(word[0]) || !LATIN.test(word[0])) continue;
    let n = word.index;
    for (const c of word[0]) {
      if (FOREIGN.test(c) || ALIKE.includes(c)) yield n;
      n += c.length;
    }
  }
}

/** A text in pieces: what can be seen, and what cannot, in order. Nothing is left out. */
export function pieces(text: string): Piece[] {
  if (PLAIN.test(text)) return text ? [{ text, code: -1, times: 1 }] : [];
  const hide = found(text);
  const out: Piece[] = [];
  let from = 0;
  for (const n of hide) {
    const code = text.codePointAt(n)!;
    const c = String.fromCodePoint(code);
    const last = out.at(-1);
    if (n > from) out.push({ text: text.slice(from, n), code: -1, times: 1 });
    if (n === from && last && last.code === code && code !== 10) last.times += 1;
    else out.push({ text: c, code, times: 1 });
    from = n + c.length;
  }
  if (from < text.length) out.push({ text: text.slice(from), code: -1, times: 1 });
  return out;
}

const LINE = 10;
const TAB = 9;
const EXPECTED = new Set([LINE, TAB, BRACKET]);

/** How many characters cannot normally be seen. Line feeds and tabs are not counted: they are expected. */
export function hidden(text: string): number {
  if (PLAIN.test(text)) return 0;
  return found(text).filter((n) => !EXPECTED.has(text.charCodeAt(n))).length;
}

/** The text on one line, what hides written as ⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩: for titles, labels and whatever is no markup. */
export function visible(text: string): string {
  if (PLAIN.test(text)) return text;
  return pieces(text)
    .map((p) => (p.code < 0 ? p.text : `⟨${shown(p.code)}⟩`.repeat(p.times)))
    .join("");
}

function shown(code: number): string {
  const name = nameOf(code);
  return name ? `${numberOf(code)} ${name}` : numberOf(code);
}

/** Without what hides, as far as it can be done without changing what is seen: line feeds and tabs stay. */
export function withoutHidden(text: string): string {
  return pieces(text)
    .filter((p) => p.code < 0 || EXPECTED.has(p.code))
    .map((p) => p.text.repeat(p.times))
    .join("");
}

/** One piece as it is shown. The name of a chip comes from the stylesheet, so that copying gives the number alone. */
export function Shown({ piece: p }: { piece: Piece }) {
  if (p.code < 0) return <>{p.text}</>;
  if (p.code === LINE)
    return (
      <>
        <span class="sp lf" title={shown(LINE)} />
        {"\n"}
      </>
    );
  if (p.code === TAB)
    return (
      <>
        <span class="sp tab" title={shown(TAB)} />
        {"\t".repeat(p.times)}
      </>
    );
  const name = nameOf(p.code);
  const times = p.times > 1 ? ` ×${p.times.toLocaleString("en-US")}` : "";
  return (
    <span class="inv" title={shown(p.code) + times} data-name={name}>
      {numberOf(p.code) + times}
    </span>
  );
}

/** A text for a place that is drawn often: plain text needs no element of its own. */
export function shownText(text: string) {
  return PLAIN.test(text) ? text : <Visible text={text} />;
}

/** A text as it is, with a chip for every character that hides. Its place decides whether lines break (`white-space`). */
export function Visible({ text }: { text: string }) {
  if (PLAIN.test(text)) return <bdi>{text}</bdi>;
  return (
    <bdi>
      {pieces(text).map((p, n) => (
        <Shown key={n} piece={p} />
      ))}
    </bdi>
  );
}
