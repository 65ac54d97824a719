/** The views of a run beside its timeline, and its dialogs. */
import { wear } from "../late_style";
import style from "./tabs.late.css";

wear(style);

export { CancelDialog } from "./cancel";
export { Checkpoint } from "./checkpoint";
export { Children } from "./children";
export { Conversation } from "./conversation";
export { ForkDialog, ResumeDialog } from "./dialogs";
export { Journal } from "./journal";
export { NoWorkerFits } from "./misfit";
export { Picture } from "./picture";
