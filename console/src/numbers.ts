/** Whole numbers that a double cannot hold stay as they were written: what is shown for approval must be what will run. */

declare global {
  interface JSON {
    rawJSON?: (text: string) => unknown;
  }
}

/** A whole number of any size, by its digits. */
export class Big {
  constructor(readonly digits: string) {}
  valueOf(): number {
    return Number(this.digits);
  }
  toString(): string {
    return this.digits;
  }
  toJSON(): unknown {
    return JSON.rawJSON ? JSON.rawJSON(this.digits) : Number(this.digits);
  }
}

type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown;

const keep: Reviver = (_key, value, context) => {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source;
  return source && /^-?\d+$/.test(source) ? new Big(source) : value;
};

/** JSON, with large whole numbers as `Big`. */
export function exact(text: string): unknown {
  return /\d{16}/.test(text) ? JSON.parse(text, keep as (key: string, value: unknown) => unknown) : JSON.parse(text);
}
