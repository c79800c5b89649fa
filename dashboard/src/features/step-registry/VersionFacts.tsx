// Facts about a version of a step.
import type { RegistryStepVersion, StepRegistry } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { paths } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { step as texts } from "@/texts/en/registryStep";
import { ago, full } from "@/texts/en/time";
import { Link } from "@/ui/Link";
import { Facts } from "@/ui/Table";

type Props = { org: string; registry: StepRegistry; version: RegistryStepVersion };

export function VersionFacts({ org, registry, version }: Props) {
  const now = useNow("half-minute");
  const seen = timeOf(version.seenAt) ?? now;
  const code = (text: string) => <code className="text-12 break-all">{text}</code>;
  const facts = [
    {
      name: texts.registry,
      value: (
        <Link to={paths.stepRegistry(org, registry.id)} className="wrap-anywhere underline">
          {registry.name}
        </Link>
      ),
    },
    { name: texts.tag, value: code(`${version.name}/v${version.version}`) },
    { name: texts.published, value: <span title={full(seen)}>{ago(seen, now)}</span> },
    {
      name: texts.signer,
      value: <span className="wrap-anywhere">{version.signer ?? texts.unsigned}</span>,
    },
    { name: texts.size, value: texts.bytes(version.bytes) },
    { name: texts.digest, value: code(version.digest) },
  ];
  return (
    <section aria-label={texts.facts} className="door border border-line bg-surface p-4">
      <Facts facts={facts} />
    </section>
  );
}
