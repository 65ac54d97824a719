/** The bar above a run's steps: one thing that people should know about it, and what they may do. */
import type { ComponentChildren } from "preact";
import { Icon } from "../ui";

export function Bar({
  tone,
  icon,
  head,
  lead,
  text,
  children,
}: {
  tone: string;
  icon: string;
  head: ComponentChildren;
  lead?: ComponentChildren;
  text: ComponentChildren;
  children?: ComponentChildren;
}) {
  return (
    <div class={`callout ${tone}`} role="note" data-callout={tone}>
      <span class={tone}>
        <Icon name={icon} size="l" />
      </span>
      <div class="grow">
        <b>{head}</b>
        <span class="t2">{lead}</span>
        <div class="sm t2">{text}</div>
      </div>
      {children}
    </div>
  );
}
