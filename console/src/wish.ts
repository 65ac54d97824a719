/** What a person wants done once, whatever happens to the answer. */
import { useState } from "preact/hooks";
import { intent, post, Problem } from "./api";

/**
 * The same words go out under the same key until they were answered clearly. An answer that was lost, or a proxy's error, says nothing
 * about what was done: sent again, it is not done twice.
 */
export class Wish {
  private said = "";
  private key = "";

  async send<T>(path: string, body: unknown): Promise<T> {
    const said = `${path} ${JSON.stringify(body)}`;
    if (said !== this.said) {
      this.said = said;
      this.key = intent();
    }
    try {
      const answer = await post<T>(path, body, this.key);
      this.said = "";
      return answer;
    } catch (e) {
      if (e instanceof Problem && e.status >= 400 && e.status < 500) this.said = "";
      throw e;
    }
  }
}

/** One for each dialog. */
export function useWish(): Wish {
  const [wish] = useState(() => new Wish());
  return wish;
}
