/** The items that a person has chosen, to decide all of them alike. */
import { Choice } from "../chosen";

export const picked = new Choice();
