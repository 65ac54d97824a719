/** Which rules exist, how often each asked, and what people decided. */
import { get } from "../api";
import type { PolicyView, RuleUse } from "../generated/types";
import { wear } from "../late_style";
import { useLoaded } from "../loading";
import { Failure } from "../states";
import { Icon, TableHead, Time } from "../ui";
import { Visible } from "../visible";
import { count, many } from "../words";
import style from "./policies.late.css";

wear(style);

/** What came of the questions, in the order in which the bar has them. What was given in the place of the tool counts as a decision. */
const PARTS = [
  ["approved", "approved", "fill:var(--done)"],
  ["answered", "result given", "fill:var(--run)"],
  ["denied", "denied", "fill:var(--cancel)"],
  ["expired", "expired", "fill:url(#rule-hatch)"],
  ["open", "open", "fill:var(--wait-m)"],
] as const;
const VERDICTS: Record<RuleUse["verdict"], readonly [tone: string, glyph: string, word: string]> = {
  ask: ["wait", "wait", "Ask"],
  allow: ["done", "done", "Allow"],
  deny: ["fail", "cancel", "Deny"],
};

export function Policies() {
  const { data, error, again } = useLoaded((s) => get<PolicyView>("/policies", {}, s), []);
  return (
    <section class="card pad stack" aria-labelledby="set-rules" data-policies>
      <h2 id="set-rules">Policies</h2>
      <p class="t2">
        The rules of this server’s agents as they are written, and how often each asked a person. What a rule allowed or denied by itself is
        not counted, and a call that a standing decision answered asked no one.
      </p>
      {error && !data ? <Failure error={error} again={again} /> : null}
      {data && !data.rules.length ? <p class="t2">No agent here has a policy, and no rule has asked.</p> : null}
      {data?.rules.length ? (
        <>
          <svg class="hide" aria-hidden="true">
            <pattern id="rule-hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
              <rect width="5" height="5" style="fill:var(--wait-t)" />
              <line x1="0" y1="0" x2="0" y2="5" style="stroke:var(--wait-m);stroke-width:3" />
            </pattern>
          </svg>
          <div class="rules" tabIndex={0} role="region" aria-label="Rules">
            <table>
              <TableHead columns={["Rule", "Asked", "What people decided"]} />
              <tbody>
                {data.rules.map((use) => (
                  <Row key={`${use.agent} ${use.rule}`} use={use} most={Math.max(4, ...data.rules.map((r) => r.asked))} />
                ))}
              </tbody>
            </table>
          </div>
          <p class="sm t3">
            {count(data.counted, "decision")} since <Time at={data.since} />
            {data.complete ? "." : "; there are more, these are the newest."}
          </p>
        </>
      ) : null}
    </section>
  );
}

/** A rule as it is written, its verdict first: that it asks is what one looks for. */
function Row({ use, most }: { use: RuleUse; most: number }) {
  const [tone, glyph, word] = VERDICTS[use.verdict];
  return (
    <tr data-rule={use.rule}>
      <th scope="row">
        <span class={`semi ${tone} rule-verb`}>
          <Icon name={glyph} /> {word}
        </span>{" "}
        <span class="mono sm">
          <Visible text={use.matches || "anything else"} />
        </span>
        <div class="sm t3">
          <Visible text={use.agent} />
          {use.is_defined ? "" : " · not a rule of the agent that is here now"}
        </div>
      </th>
      <td class={`num ${use.asked ? "" : "zero"}`}>{many(use.asked)}</td>
      <td class="rule-came">{use.asked || use.stood ? <Came use={use} most={most} /> : <span class="t3">{use.verdict === "ask" ? "has not asked yet" : "asks no one"}</span>}</td>
    </tr>
  );
}

/** As long as it asked often beside the others, parted by what came of it; the words below say the same. */
function Came({ use, most }: { use: RuleUse; most: number }) {
  let at = 0;
  return (
    <>
      <svg class="rule-bar" viewBox="0 0 240 10" preserveAspectRatio="none" aria-hidden="true">
        {PARTS.map(([word, , style]) => {
          const from = at;
          at += use[word];
          return use[word] ? <rect key={word} x={(240 * from) / (most || 1)} width={Math.max(2, (240 * use[word]) / (most || 1) - 1)} height="10" style={style} /> : null;
        })}
      </svg>
      <div class="sm t2">
        {PARTS.filter(([word]) => use[word])
          .map(([word, name]) => `${many(use[word])} ${name}`)
          .join(" · ")}
        {use.stood ? `${use.asked ? " · " : ""}${many(use.stood)} by a standing decision` : ""}
      </div>
      {use.asked > 2 && use.expired * 2 > use.asked ? (
        <div class="sm fail">
          {many(use.expired)} of {many(use.asked)} expired: no one decides in time
        </div>
      ) : null}
    </>
  );
}
