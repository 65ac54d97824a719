/** Light or dark: as the system says, unless Settings fix it. */
import { effect, signal } from "@preact/signals";

export type Choice = "system" | "light" | "dark";
const KEY = "adjourn.theme";

function stored(): Choice {
  try {
    const found = localStorage.getItem(KEY);
    return found === "light" || found === "dark" ? found : "system";
  } catch {
    return "system";
  }
}

export const choice = signal<Choice>(stored());
const system = matchMedia("(prefers-color-scheme: dark)");
const dark = signal(system.matches);
system.addEventListener("change", (e) => (dark.value = e.matches));

effect(() => {
  const theme = choice.value === "system" ? (dark.value ? "dark" : "light") : choice.value;
  document.documentElement.dataset["theme"] = theme;
});

export function choose(next: Choice): void {
  choice.value = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // a browser without storage forgets it
  }
}
