import type { Given } from "./inbox/file_bytes";

/** Words, and the files behind them: what an agent reads. */
export const withFiles = (words: string, files: readonly Given[]): unknown => (files.length ? [...(words ? [words] : []), ...files] : words);
