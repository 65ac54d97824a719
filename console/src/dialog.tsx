/** Dialogs: the safe button has the focus, which cannot leave and goes back to the opener. A click outside does nothing. */
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

const FOCUSABLE = "a[href], button, input, select, textarea, [tabindex]:not([tabindex='-1'])";

export interface DialogProps {
  title: string;
  close: () => void;
  children: ComponentChildren;
  footer: ComponentChildren;
  lead?: ComponentChildren;
  wide?: boolean;
  /** At the right edge, over the whole height: what is read beside the page. */
  side?: boolean;
  label?: string;
}

/** `data-safe` on a child takes the focus first; otherwise the first field or button does. */
export function Dialog({ title, close, children, footer, lead, wide, side, label }: DialogProps) {
  const box = useRef<HTMLElement>(null);
  const head = useId();
  useLayoutEffect(() => {
    const opener = document.activeElement as HTMLElement | null;
    const body = box.current;
    (
      body?.querySelector<HTMLElement>("[data-safe] button, button[data-safe], [data-first]") ?? body?.querySelector<HTMLElement>(FOCUSABLE)
    )?.focus({ focusVisible: true, preventScroll: true } as FocusOptions);
    document.body.classList.add("still");
    return () => {
      if (!document.querySelector("[role=dialog] [role=dialog]")) document.body.classList.remove("still");
      opener?.focus({ preventScroll: true });
    };
  }, []);
  const keep = (e: KeyboardEvent): void => {
    if (e.key === "Escape") {
      e.preventDefault();
      e.stopPropagation();
      return close();
    }
    if (e.key !== "Tab" || !box.current) return;
    const all = [...box.current.querySelectorAll<HTMLElement>(FOCUSABLE)].filter((x) => x.offsetParent !== null);
    const edge = e.shiftKey ? all[0] : all.at(-1);
    if (document.activeElement === edge || !box.current.contains(document.activeElement)) {
      e.preventDefault();
      (e.shiftKey ? all.at(-1) : all[0])?.focus();
    }
  };
  return (
    <div class="veil" onKeyDown={keep}>
      <section
        class={`dlg ${wide ? "wide" : ""} ${side ? "edge" : ""}`}
        role="dialog"
        aria-modal="true"
        aria-labelledby={label ? undefined : head}
        aria-label={label}
        ref={box}
      >
        <header>
          <h1 id={head}>{title}</h1>
          {lead}
        </header>
        <div class="dlg-body">{children}</div>
        <footer>{footer}</footer>
      </section>
    </div>
  );
}
