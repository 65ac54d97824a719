/** Choose an agent or a tool from those that exist: typing filters by a part of the name, arrows walk, Enter chooses. */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { scopeParts } from "./ids";
import { Visible } from "./visible";
import { count, many } from "./words";
import type { HaltScope } from "./generated/types";

const SHOWN = 100;

const nameOf = (scope: string): string => scopeParts(scope).name;

interface Props {
  kind: "agent" | "tool";
  all: HaltScope[];
  name: string;
  set: (name: string) => void;
  /** A name was chosen from the list. */
  chosen: () => void;
  /** Whether the field has the focus. */
  typing: (on: boolean) => void;
}

export function ScopePicker({ kind, all, name, set, chosen, typing }: Props) {
  const id = useId();
  const [at, setAt] = useState(-1);
  const [open, setOpen] = useState(true);
  const box = useRef<HTMLUListElement>(null);
  const wanted = name.trim().toLowerCase();
  const known = all.filter((s) => s.known && scopeParts(s.scope).kind === kind);
  const exact = known.some((s) => nameOf(s.scope) === name.trim());
  const found = known
    .filter((s) => exact || nameOf(s.scope).toLowerCase().includes(wanted))
    .sort((a, b) => b.holds - a.holds || a.scope.localeCompare(b.scope))
    .slice(0, SHOWN);
  useEffect(() => setAt(-1), [wanted, kind]);
  useEffect(() => box.current?.children[at]?.scrollIntoView({ block: "nearest" }), [at]);
  const choose = (s: HaltScope | undefined): void => {
    if (!s) return;
    set(nameOf(s.scope));
    setOpen(false);
    chosen();
  };
  const key = (e: KeyboardEvent): void => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      setOpen(true);
      setAt((n) => Math.max(0, Math.min(found.length - 1, n + (e.key === "ArrowDown" ? 1 : -1))));
    } else if (e.key === "Enter") {
      e.preventDefault();
      choose(found[at] ?? (found.length === 1 ? found[0] : undefined));
    }
  };
  const shown = open && found.length > 0 && !(exact && at < 0);
  return (
    <div class="stack pickname">
      <label class="lb" for={id}>
        {kind === "agent" ? "Agent" : "Tool"} <span class="t3">{count(known.length, "exists", "exist")}</span>
      </label>
      <input
        id={id}
        class="inp"
        role="combobox"
        aria-required="true"
        aria-expanded={shown}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={shown && at >= 0 ? `${id}-${at}` : undefined}
        autocomplete="off"
        spellcheck={false}
        value={name}
        onInput={(e) => {
          setOpen(true);
          set(e.currentTarget.value);
        }}
        onKeyDown={key}
        onFocus={() => typing(true)}
        onBlur={() => typing(false)}
        data-name="scope-name"
      />
      <ul id={`${id}-list`} class="opts" role="listbox" aria-label={kind === "agent" ? "Agents" : "Tools"} ref={box} hidden={!shown}>
        {found.map((s, n) => (
          <li
            key={s.scope}
            id={`${id}-${n}`}
            role="option"
            aria-selected={n === at}
            class={n === at ? "on" : ""}
            onPointerDown={(e) => e.preventDefault()}
            onClick={() => choose(s)}
            data-scope={s.scope}
          >
            <span class="mono grow clip">
              <Visible text={nameOf(s.scope)} />
            </span>
            <span class="t3 sm clip">
              <Visible text={s.used_by.join(", ")} />
            </span>
            <span class="tag">holds {many(s.holds)} now</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
