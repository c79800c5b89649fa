// The list of all keys, opened by `?`.
import { Fragment } from "react";
import { keyHelp } from "@/texts/en/shell";
import { Dialog } from "@/ui/Dialog";
import { Kbd } from "@/ui/Lamp";
import { MAIN, ORGANIZATION } from "./navigation";

type Group = { title: string; keys: readonly (readonly [key: string, text: string])[] };

const { groups } = keyHelp;

const GROUPS: readonly Group[] = [
  {
    title: groups.anywhere,
    keys: [
      ["?", keyHelp.help],
      ["/", keyHelp.filter],
    ],
  },
  {
    title: groups.go,
    keys: [...MAIN, ...ORGANIZATION].flatMap((entry) => (entry.key ? [[entry.key, entry.label] as const] : [])),
  },
  {
    title: groups.lists,
    keys: [
      ["j", keyHelp.down],
      ["k", keyHelp.up],
      ["Enter", keyHelp.open],
    ],
  },
  {
    title: groups.environment,
    keys: [
      ["c", keyHelp.claim],
      ["d", keyHelp.deploy],
      ["r", keyHelp.renew],
      ["x", keyHelp.release],
      ["q", keyHelp.queue],
      ["a", keyHelp.ask],
      ["n", keyHelp.notify],
      ["Shift F", keyHelp.force],
    ],
  },
  {
    title: groups.deployment,
    keys: [
      ["[", keyHelp.previousStage],
      ["]", keyHelp.nextStage],
      ["l", keyHelp.log],
      ["Shift C", keyHelp.cancel],
      ["Shift R", keyHelp.retry],
    ],
  },
  {
    title: groups.log,
    keys: [
      ["f", keyHelp.follow],
      ["e", keyHelp.nextError],
      ["y", keyHelp.copyLink],
    ],
  },
];

export function KeyHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title={keyHelp.title}>
      {GROUPS.map((group) => (
        <section key={group.title}>
          <h3 className="mb-1 text-13 text-ink3">{group.title}</h3>
          <dl className="grid grid-cols-[80px_1fr] gap-y-1">
            {group.keys.map(([key, text]) => (
              <Fragment key={key}>
                <dt>
                  <Kbd>{key}</Kbd>
                </dt>
                <dd>{text}</dd>
              </Fragment>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
