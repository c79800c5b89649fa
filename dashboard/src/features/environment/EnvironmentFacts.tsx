// Facts about an environment that change seldom.
import type { Environment } from "@/api/types";
import { shortCommit } from "@/lib/ids";
import { facts as texts } from "@/texts/en/history";
import { coarse } from "@/texts/en/time";
import { OuterLink } from "@/ui/Link";
import { Facts } from "@/ui/Table";
import { configurationOf } from "./configuration";

export function EnvironmentFacts({ environment }: { environment: Environment }) {
  const { url, labels, deployed } = environment;
  const { leaseDefault, leaseMax, forceRole } = configurationOf(environment);
  return (
    <section aria-label={texts.title} className="door border border-line bg-surface p-4">
      <Facts
        facts={[
          {
            name: texts.url,
            value: url ? (
              <OuterLink href={url} className="text-brand underline">
                {url}
              </OuterLink>
            ) : (
              texts.nothing
            ),
          },
          { name: texts.deployed, value: deployed ? <code>{shortCommit(deployed.commitId)}</code> : texts.nothing },
          { name: texts.labels, value: labels.join(", ") || texts.nothing },
          { name: texts.lease, value: texts.leaseValue(coarse(leaseDefault * 1_000), coarse(leaseMax * 1_000)) },
          { name: texts.force, value: texts.forceValue(forceRole) },
        ]}
      />
    </section>
  );
}
