/** Earlier decisions on the same tool, and what differs this time. It says what happened, never what to do. */
import { useEffect, useState } from "preact/hooks";
import { at, get } from "../api";
import type { EarlierDecision, SeenBefore } from "../generated/types";
import { wear } from "../late_style";
import { Link, to } from "../router";
import { Told } from "../told";
import { Icon, Time } from "../ui";
import { Visible } from "../visible";
import css from "./before.late.css";

wear(css);

export function Before({ item }: { item: string }) {
  const [found, setFound] = useState<SeenBefore | null>(null);
  useEffect(() => {
    let here = true;
    setFound(null);
    get<SeenBefore>(`/interrupts/${at(item)}/before`).then(
      (seen) => here && setFound(seen),
      () => undefined, // it can be decided without it
    );
    return () => {
      here = false;
    };
  }, [item]);
  if (!found?.told) return null;
  return (
    <section class="before" aria-label="Earlier decisions on this tool" data-before>
      <h3 class="row sm">
        <Icon name="clock" />
        <span>
          Have I seen this before?{" "}
          <span class="t3">
            <Visible text={found.told} />
          </span>
        </span>
      </h3>
      <ul>
        {found.nearest.map((one) => (
          <Earlier key={one.ref} one={one} />
        ))}
      </ul>
      {found.differs.length ? (
        <div class="differs" data-differs>
          <b>What differs this time</b>
          <ul>
            {found.differs.map((one) => (
              <li key={one.name} data-argument={one.name}>
                <Visible text={one.told} />
              </li>
            ))}
          </ul>
        </div>
      ) : null}
    </section>
  );
}

function Earlier({ one }: { one: EarlierDecision }) {
  return (
    <li class="sm">
      <span class="t3">
        <Time at={one.decision.at} />
      </span>{" "}
      <Link to={`${to("runs", one.run_id)}?step=${encodeURIComponent(one.call_id)}`}>
        <Visible text={one.text} />
      </Link>{" "}
      <Told decision={one.decision} outcome={one.outcome} />
      {one.same_definition ? null : <span class="t3"> · the tool was defined otherwise</span>}
    </li>
  );
}
