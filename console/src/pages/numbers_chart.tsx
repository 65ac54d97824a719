/** Charts of the numbers: inline SVG. Colour only where it is a status; each has a table of the same numbers. */
import { TableHead } from "../ui";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { duration, many } from "../words";
import type { NumbersView, RunNumbers } from "../generated/types";

const HIGH = 150;
const LEFT = 52;
const FEW = 12;
const FOOT = 18;
const HEAD = 18;
const ROOM = HIGH - FOOT - HEAD;
const LOOKS: Record<string, string> = {
  done: "fill:var(--done)",
  open: "fill:var(--run)",
  cancelled: "fill:var(--surface);stroke:var(--ink-3)",
  failed: "fill:var(--fail)",
  ink: "fill:var(--ink-2)",
};

/** When a bar begins, in words: a day or an hour. */
function when(n: RunNumbers, step: number): string {
  const at = new Date(n.at * 1000);
  if (step >= 86400) return at.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return at.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

interface ChartProps {
  data: NumbersView;
  title: string;
  unit: string;
  top: number;
  label: (value: number) => string;
  /** What one of the times says, for the pointer, the keyboard and the table. */
  told: (n: RunNumbers) => readonly string[];
  head: readonly string[];
  keys: ComponentChildren;
  /** What is said in its place when there is nothing to draw. */
  none: ComponentChildren;
  children: (n: RunNumbers, x: number, width: number, y: (value: number) => number) => ComponentChildren;
  over?: (x: (k: number) => number, y: (value: number) => number) => ComponentChildren;
}

function Chart({ data, title, unit, top, label, told, head, keys, none, children, over }: ChartProps) {
  const [table, setTable] = useState(false);
  const [on, setOn] = useState(-1);
  const times = data.times;
  const most = top || 1;
  const box = useRef<HTMLDivElement>(null);
  const [wide, setWide] = useState(Math.min(560, innerWidth - 40));
  useLayoutEffect(() => {
    if (!box.current) return;
    // as many units as there are pixels: letters are not stretched
    const watcher = new ResizeObserver(([seen]) => setWide((was) => Math.round(seen?.contentRect.width || was)));
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, [table, !top]);
  const each = (wide - LEFT) / Math.max(1, times.length);
  const y = (value: number): number => HEAD + ROOM * (1 - value / most);
  const every = Math.max(1, Math.ceil(times.length / 7));
  const shown = times[on];
  const per = data.step >= 86400 ? "day" : "hour";
  const walk = (e: KeyboardEvent): void => {
    const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    e.preventDefault();
    setOn((k) => Math.min(times.length - 1, Math.max(0, k + step)));
  };
  return (
    <section class="card nb-chart" data-chart={title}>
      <div class="row">
        <h2 class="grow">
          {title} <span class="sm t3">{`${unit}, by the ${per}`}</span>
        </h2>
        {top ? (
          <button type="button" class="link sm" aria-expanded={table} onClick={() => setTable(!table)}>
            {table ? "chart" : "table"}
          </button>
        ) : null}
      </div>
      {!top ? (
        <div class="nb-none t2" data-none>
          {none}
        </div>
      ) : table ? (
        <div class="nb-rows" tabIndex={0} role="region" aria-label={title}>
          <table>
            <TableHead columns={[per === "day" ? "Day" : "Hour", ...head]} />
            <tbody>
              {times.map((n) => (
                <tr key={n.at}>
                  <th scope="row">{when(n, data.step)}</th>
                  {told(n).map((cell, k) => (
                    <td key={k}>{cell}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <>
          <div
            class="plot"
            ref={box}
            tabIndex={0}
            role="group"
            aria-label={`${title}: arrow keys go through the ${per}s; the table has the same numbers`}
            onKeyDown={walk}
            onMouseLeave={() => setOn(-1)}
          >
          <svg viewBox={`0 0 ${wide} ${HIGH}`} preserveAspectRatio="none" aria-hidden="true">
            <defs>
              <pattern id="nb-hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                <rect width="5" height="5" style="fill:var(--wait-t)" />
                <line x1="0" y1="0" x2="0" y2="5" style="stroke:var(--wait-m);stroke-width:2" />
              </pattern>
            </defs>
            {[0, 0.5, 1].map((part) => (
              <g key={part}>
                <line class="grid" x1={LEFT} x2={wide} y1={y(most * part)} y2={y(most * part)} />
                <text x={LEFT - 6} y={y(most * part) + 4} text-anchor="end">
                  {part ? label(most * part) : "0"}
                </text>
              </g>
            ))}
            {times.map((n, k) => (
              <g key={n.at} class="slot" onMouseEnter={() => setOn(k)}>
                <rect class="hit" x={LEFT + k * each} y={0} width={each} height={HIGH - FOOT} style={on === k ? "fill:var(--sunken)" : ""} />
                {children(n, LEFT + k * each + each * 0.15, each * 0.7, y)}
                {k % every === 0 ? (
                  <text x={LEFT + k * each + each / 2} y={HIGH - 4} text-anchor="middle">
                    {when(n, data.step)}
                  </text>
                ) : null}
              </g>
            ))}
            {over?.((k) => LEFT + k * each + each / 2, y)}
          </svg>
          </div>
          <ul class="nb-keys">{keys}</ul>
          <div class="nb-said" role="status">
            {shown ? `${when(shown, data.step)}: ${told(shown).map((t, k) => `${head[k]?.toLowerCase()} ${t}`).join(", ")}` : ""}
          </div>
        </>
      )}
    </section>
  );
}

export function Key({ look, word }: { look: string; word: string }) {
  return (
    <li>
      <svg aria-hidden="true" viewBox="0 0 12 12">
        {look === "half" ? (
          <rect y="5" width="12" height="3" style="fill:var(--ink)" />
        ) : look === "slow" ? (
          <rect width="12" height="12" style="fill:var(--wait-t);stroke:var(--wait-m);stroke-width:2" />
        ) : look.startsWith("line") ? (
          <line x1="0" x2="12" y1="6" y2="6" style={DASHES[look]} />
        ) : (
          <rect width="12" height="12" style={LOOKS[look]} />
        )}
      </svg>
      {word}
    </li>
  );
}

/** A top for an axis that is easy to read: 1, 2 or 5 times a power of ten. */
function round(most: number): number {
  if (most <= 0) return 0;
  const ten = 10 ** Math.floor(Math.log10(most));
  const step = [1, 2, 5, 10].find((k) => k * ten >= most) ?? 10;
  return step * ten;
}

type Part = readonly [word: string, look: string, value: (n: RunNumbers) => number];

/** What is stacked: ends of runs, or money. */
export function Bars({ data, title, unit, parts, say, none }: { data: NumbersView; title: string; unit: string; parts: readonly Part[]; say: (n: number) => string; none: string }) {
  const all = (n: RunNumbers): number => parts.reduce((sum, [, , value]) => sum + value(n), 0);
  return (
    <Chart
      data={data}
      title={title}
      unit={unit}
      top={round(Math.max(...data.times.map(all), 0))}
      label={(value) => (say === many && !Number.isInteger(value) ? "" : say(value))}
      head={parts.map(([word]) => word)}
      told={(n) => parts.map(([, , value]) => say(value(n)))}
      keys={parts.map(([word, look]) => (
        <Key key={word} look={look} word={word} />
      ))}
      none={none}
    >
      {(n, x, width, y) => {
        let below = 0;
        const sum = all(n);
        // where there are few bars there is room to say how high each is
        const said = sum && data.times.length <= FEW ? <text x={x + width / 2} y={y(sum) - 4} text-anchor="middle" class="nb-sum">{say(sum)}</text> : null;
        return [said, ...parts.map(([word, look, value]) => {
          const from = below;
          below += value(n);
          if (!value(n)) return null;
          return <rect key={word} x={x} width={width} y={y(below)} height={Math.max(1, y(from) - y(below))} style={LOOKS[look]} />;
        })];
      }}
    </Chart>
  );
}

/** The half, and up to the slowest. */
export function Waits({ data, title, unit, keys, none }: { data: NumbersView; title: string; unit: string; keys: ComponentChildren; none: ComponentChildren }) {
  const top = Math.max(...data.times.map((n) => n.waits.slow ?? 0), 0);
  const said = (seconds: number | null): string => (seconds === null ? "–" : duration(seconds));
  return (
    <Chart
      data={data}
      title={title}
      unit={unit}
      top={top}
      label={duration}
      head={["Half within", "Slowest 5 %", "Answers", "Expired"]}
      told={(n) => [said(n.waits.half), said(n.waits.slow), many(n.waits.answered), many(n.waits.expired)]}
      keys={keys}
      none={none}
    >
      {(n, x, width, y) => {
        const { half, slow } = n.waits;
        if (half === null || slow === null) return null;
        return (
          <>
            <rect x={x} width={width} y={y(slow)} height={Math.max(1, y(half) - y(slow))} style="fill:url(#nb-hatch);stroke:var(--wait-m)" />
            <rect x={x - 2} width={width + 4} y={y(half) - 1.5} height={3} style="fill:var(--ink)" />
          </>
        );
      }}
    </Chart>
  );
}

const LINES: readonly (readonly [string, string, (n: RunNumbers) => number])[] = [
  ["read", "line", (n) => n.input_tokens],
  ["of these from the cache", "line-dash", (n) => n.cache_read_tokens],
  ["written", "line-dot", (n) => n.output_tokens],
];
const DASHES: Record<string, string> = {
  line: "stroke:var(--ink);stroke-width:2;fill:none",
  "line-dash": "stroke:var(--ink-2);stroke-width:1.5;stroke-dasharray:5 3;fill:none",
  "line-dot": "stroke:var(--ink-2);stroke-width:1.5;stroke-dasharray:1.5 2.5;fill:none",
};

/** A number of tokens on an axis. */
function short(n: number): string {
  if (n >= 1e6) return `${n / 1e6} M`;
  if (n >= 1e3) return `${n / 1e3} k`;
  return many(n);
}

export function Lines({ data }: { data: NumbersView }) {
  const top = round(Math.max(...data.times.flatMap((n) => [n.input_tokens, n.output_tokens]), 0));
  return (
    <Chart
      data={data}
      title="Tokens"
      unit="read and written"
      top={top}
      label={short}
      head={LINES.map(([word]) => word)}
      told={(n) => LINES.map(([, , value]) => many(value(n)))}
      keys={LINES.map(([word, look]) => (
        <Key key={word} look={look} word={word} />
      ))}
      none="No token was read or written by these runs."
      over={(x, y) => [
        ...LINES.map(([word, look, value]) => (
          <polyline key={word} style={DASHES[look]} points={data.times.map((n, k) => `${x(k)},${y(value(n))}`).join(" ")} />
        )),
        ...data.times.map((n, k) => (n.input_tokens ? <circle key={n.at} cx={x(k)} cy={y(n.input_tokens)} r="3" style="fill:var(--ink)" /> : null)),
      ]}
    >
      {() => null}
    </Chart>
  );
}
