/** What stands in the place of data: nothing yet, nothing at all, or an error that says what is safe. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Problem } from "./api";
import { here } from "./command";
import { Button, copy, Icon, say } from "./ui";
import { Visible } from "./visible";

interface EmptyProps {
  icon: string;
  title: string;
  children?: ComponentChildren;
  tone?: string;
  /** It stands in the place of the whole page. */
  whole?: boolean;
}

export function Empty({ icon, title, children, tone = "t3", whole = false }: EmptyProps) {
  const Heading = whole ? "h1" : "h2";
  return (
    <section class="card empty">
      <span class={`${tone} huge`}>
        <Icon name={icon} size="l" />
      </span>
      <Heading>{title}</Heading>
      {children}
    </section>
  );
}

/** Nothing for 150 ms, then rows of the final height. */
export function Skeleton({ rows = 6, row }: { rows?: number; row: (n: number) => ComponentChildren }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div aria-busy="true" aria-label="Loading" class={late ? "" : "unseen"}>
      {Array.from({ length: rows }, (_, n) => row(n))}
    </div>
  );
}

/** What failed, what is safe, when it is tried again. */
export function Failure({ error, again, whole = false }: { error: unknown; again: () => void; whole?: boolean }) {
  const problem = error instanceof Problem ? error : new Problem(0, "failed", String(error));
  const lasting = problem.status >= 400 && problem.status < 500 && problem.status !== 429;
  const [left, setLeft] = useState(5);
  useEffect(() => {
    setLeft(5);
    if (lasting) return;
    const timer = setInterval(() => setLeft((s) => s - 1), 1000);
    return () => clearInterval(timer);
  }, [error]);
  useEffect(() => {
    if (left === 0) again();
  }, [left]);
  const title =
    problem.status === 404
      ? "Not found"
      : problem.status === 403
        ? "Not for you"
        : lasting
          ? "That cannot be shown"
          : "The store does not answer";
  return (
    <Empty icon="fail" title={title} tone="fail" whole={whole}>
      <p>
        {lasting ? (
          <Visible text={problem.detail} />
        ) : (
          `Runs are safe in the store; this page cannot read it. Trying again in ${Math.max(0, left)} s.`
        )}
      </p>
      <p class="sm t3 mono">
        {problem.status || "no answer"} · <Visible text={problem.code} />
      </p>
      <div class="row center">
        <Button look="p" onClick={again}>
          Try now
        </Button>
        {lasting ? null : (
          <Button
            icon="copy"
            label="Copy the command adjourn doctor"
            onClick={() => void copy(here("adjourn doctor")).then(() => say("Copied."))}
          >
            Run adjourn doctor
          </Button>
        )}
      </div>
    </Empty>
  );
}
