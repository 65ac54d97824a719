/** What is known of the chain, said without being asked: the newest lines, checked now, and when everything was checked last. */
import { useState } from "preact/hooks";
import { denied, get, now } from "../api";
import { useLoaded } from "../loading";
import { Button, Icon, refused, Time } from "../ui";
import { Visible } from "../visible";
import { count, many } from "../words";
import type { ChainView } from "../generated/types";

interface Whole {
  broken: string[];
  says: string;
}

export function Chain({ newer }: { newer: boolean }) {
  const { data, again } = useLoaded((s) => get<ChainView>("/audit/chain", {}, s), []);
  const [busy, setBusy] = useState(false);
  const [found, setFound] = useState<(Whole & { at: number }) | null>(null);
  if (!data) return null; // whoever may see some runs only, knows nothing of the chain as a whole
  const whole = found ?? (data.whole_at === null ? null : { broken: data.whole_broken, says: data.whole_says, at: data.whole_at });
  const broken = [...new Set([...data.broken, ...(whole?.broken ?? [])])];
  const check = (): void => {
    setBusy(true);
    get<Whole>("/audit/verify")
      .then(
        (a) => {
          setFound({ ...a, at: now() });
          again();
        },
        (e: unknown) => refused("Not checked", e),
      )
      .finally(() => setBusy(false));
  };
  return (
    <section class={`card au-whole ${broken.length ? "bad" : ""}`} aria-label="The chain" data-chain={broken.length ? "broken" : whole ? "whole" : "tail"}>
      <span class={broken.length ? "fail" : "done"}>
        <Icon name={broken.length ? "fail" : "done"} size="m" />
      </span>
      <div class="grow">
        <b role={broken.length ? "alert" : "status"}>
          {broken.length ? (
            <>
              {count(broken.length, "thing is", "things are")} broken: <Visible text={broken.slice(0, 3).join("; ")} />
            </>
          ) : (
            tail(data)
          )}
        </b>
        <div class="sm t2">
          {newer && !broken.length ? "Newer lines were not looked at. " : ""}
          {whole ? (
            <>
              Everything was checked <Time at={whole.at} />{whole.broken.length ? "" : ": "}
              {whole.broken.length ? "." : <Visible text={whole.says} />}
            </>
          ) : (
            `${data.complete ? "J" : "Older lines, j"}ournals and seals have not been checked since this server started.`
          )}
        </div>
      </div>
      <Button off={denied("admin")} busy={busy ? "Checking…" : ""} onClick={check} name="verify">
        Check everything
      </Button>
    </section>
  );
}

/** Never *verified*: each follows from the one before it, in this store. */
function tail({ lines, complete }: ChainView): string {
  if (!lines) return "There is no line yet.";
  if (!complete) return `The newest ${many(lines)} lines follow from those before them, checked just now.`;
  return `The chain is whole: ${count(lines, "line")}, each following from the one before it, checked just now.`;
}
