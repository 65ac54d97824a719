/** What the inbox shows after its first view: one file, loaded while nothing else is to be done. */
export { AnswerBar, Choices, EditBar } from "./answering";
export { ClosedStrip, StaleBanner } from "./banner";
export { Decided } from "./decided";
export { forget, keep } from "./drafts";
export { Fields } from "./fields";
export { Form } from "./form";
export { SeveralBar } from "./several";
export { Notes } from "./notes";
export { follow } from "./outcome";
export { Before } from "./before";
export { Origin } from "../origin";
export { Files } from "../files";
