// Facts about a lasting environment from its definition.
import type { LastingEnvironment } from "@/api/types";
import { paths } from "@/lib/paths";
import { lastingPage as texts } from "@/texts/en/lasting";
import { Link, OuterLink } from "@/ui/Link";
import { Facts } from "@/ui/Table";

type Props = { org: string; environment: LastingEnvironment };

export function LastingFacts({ org, environment: { pipelineSlug, url, branches } }: Props) {
  return (
    <section aria-label={texts.facts} className="door border border-line bg-surface p-4">
      <Facts
        facts={[
          {
            name: texts.pipeline,
            value: (
              <Link to={paths.pipeline(org, pipelineSlug)} className="underline">
                {pipelineSlug}
              </Link>
            ),
          },
          {
            name: texts.url,
            value: url ? (
              <OuterLink href={url} className="wrap-anywhere text-brand underline">
                {url}
              </OuterLink>
            ) : (
              texts.none
            ),
          },
          {
            name: texts.branches,
            value: branches.length > 0 ? <code className="text-12">{branches.join(", ")}</code> : texts.anyBranch,
          },
        ]}
      />
    </section>
  );
}
