/** The views of a run beside its timeline. */
export { Checkpoint } from "./checkpoint";
export { Children } from "./children";
export { Conversation } from "./conversation";
export { Journal } from "./journal";
export { Picture } from "./picture";
