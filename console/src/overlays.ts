/** What opens over a page, or instead of it. */
export { HaltDialogs } from "./halting";
export { KeysHelp } from "./help";
export { LoginPage, SwitchPage } from "./login";
export { HaltStrip } from "./halt_strip";
export { StreamHub } from "./stream_hub";
