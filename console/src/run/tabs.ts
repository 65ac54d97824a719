/** The views of a run beside its timeline, and its dialogs. */
export { CancelDialog } from "./cancel";
export { Checkpoint } from "./checkpoint";
export { Children } from "./children";
export { Conversation } from "./conversation";
export { ForkDialog, ResumeDialog } from "./dialogs";
export { Journal } from "./journal";
export { Picture } from "./picture";
