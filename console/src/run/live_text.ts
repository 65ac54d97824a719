/** Text as it is written: each piece has its place in the reply, and is painted there once, whichever way it came. */

export interface TextArrived {
  type: string;
  path?: string;
  text: string;
  thinking?: boolean;
  whole?: boolean;
  /** The last record that the model had read: another number is another reply. */
  upto?: number;
  /** Where in the reply it begins, in characters; left out by servers that do not know. */
  offset?: number;
}

interface Reply {
  upto: number;
  /** What stands before `text` was missed. */
  from: number;
  /** How many characters there are up to the end of `text`. */
  upTo: number;
  text: string;
}

export class LiveText {
  private readonly replies = new Map<string, Reply>();
  /** Of each agent, the last reply that is recorded whole: its pieces may come later than the record. */
  private readonly ended = new Map<string, number>();

  add(piece: TextArrived): void {
    const path = piece.path ?? "";
    const upto = piece.upto ?? 0;
    if (upto <= (this.ended.get(path) ?? -1)) return;
    const was = this.replies.get(path);
    const length = Array.from(piece.text).length;
    if (!was || was.upto !== upto) {
      const from = piece.offset ?? 0;
      return void this.replies.set(path, { upto, from, upTo: from + length, text: piece.text });
    }
    const at = piece.whole ? 0 : (piece.offset ?? was.upTo);
    if (at >= was.from && at + length <= was.upTo) return; // painted already
    if (at <= was.from || at > was.upTo) {
      was.from = at;
      was.text = piece.text;
    } else if (at === was.upTo) was.text += piece.text;
    else was.text = Array.from(was.text).slice(0, at - was.from).join("") + piece.text;
    was.upTo = at + length;
  }

  /** The reply is in the journal now. */
  end(path: string): void {
    const was = this.replies.get(path);
    if (was) this.ended.set(path, was.upto);
    this.replies.delete(path);
  }

  /** What each agent is writing, by its path. */
  shown(): Map<string, string> {
    return new Map([...this.replies].map(([path, reply]) => [path, (reply.from ? "…" : "") + reply.text]));
  }
}
