/** The keys, on `?`. */
import { Dialog } from "./dialog";
import { helping } from "./keys";
import { Button } from "./ui";

const KEYS: readonly [string, readonly (readonly [string, string])[]][] = [
  [
    "Everywhere",
    [
      ["?", "these keys"],
      ["/", "search"],
      ["g i", "inbox"],
      ["g r", "runs"],
      ["j k", "next, previous"],
      ["↵", "open"],
      ["esc", "back or close"],
      [".", "show newer"],
      ["x", "choose, of runs or items"],
    ],
  ],
  [
    "Run",
    [
      ["s", "say"],
      ["p", "pause"],
      ["r", "resume…"],
      ["f", "fork"],
      ["g", "follow"],
      ["x", "exact request, in the conversation"],
      ["[ ]", "collapse, expand child"],
    ],
  ],
  [
    "Inbox",
    [
      ["a", "go to Approve"],
      ["e", "edit"],
      ["d", "go to Deny"],
      ["n", "note"],
      ["1 2", "scope"],
    ],
  ],
];

export function KeysTable({ heading: Heading = "h3" }: { heading?: "h2" | "h3" }) {
  return (
    <div class="keys">
      {KEYS.map(([where, keys]) => (
        <section key={where}>
          <Heading class="lb">{where}</Heading>
          <dl>
            {keys.map(([key, what]) => (
              <div key={key}>
                <dt>
                  {key.split(" ").map((k) => (
                    <kbd key={k}>{k}</kbd>
                  ))}
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
  );
}

export function KeysHelp() {
  const close = (): void => {
    helping.value = false;
  };
  return (
    <Dialog
      title="Keys"
      close={close}
      lead={<p class="t2">A key never decides: a and d move to the button, Enter presses it. Pause now and Cancel… have no key.</p>}
      footer={
        <>
          <span class="grow" />
          <span data-safe>
            <Button onClick={close} keys="esc">
              Close
            </Button>
          </span>
        </>
      }
    >
      <KeysTable heading="h2" />
    </Dialog>
  );
}
