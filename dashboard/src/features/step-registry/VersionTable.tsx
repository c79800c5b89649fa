// Versions with their state: whether they can be locked, who has signed them, and since when they are known.
import type { RegistryStepVersion, StepRegistry } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { paths, type StepRef } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { common } from "@/texts/en/common";
import { step as texts, stepVersions } from "@/texts/en/registryStep";
import { ago, full } from "@/texts/en/time";
import { StateMark } from "@/ui/Badge";
import { Button, buttonClass } from "@/ui/Button";
import { Link } from "@/ui/Link";
import { stepVersionState } from "@/ui/state";
import { type Column, Table } from "@/ui/Table";
import { standingOf } from "./standing";

type Props = {
  place: StepRef;
  registry: StepRegistry;
  versions: readonly RegistryStepVersion[];
  /** Returns the name of a member by their id. */
  memberOf: (userId: string) => string;
  /** Missing for those who may not. */
  onYank: ((version: RegistryStepVersion) => void) | undefined;
};

export function VersionTable({ versions, ...rest }: Props) {
  const now = useNow("half-minute");
  const rowKey = ({ version }: RegistryStepVersion) => version;
  const standing = (version: RegistryStepVersion) => standingOf(version, rest.registry, now, versions);
  const all = columns(rest, now, standing);
  return <Table label={texts.views.versions} columns={all} rows={versions} rowKey={rowKey} />;
}

function columns(
  props: Omit<Props, "versions">,
  now: number,
  standing: (version: RegistryStepVersion) => string,
): Column<RegistryStepVersion>[] {
  const { place, memberOf } = props;
  const small = "text-13 text-ink2";
  return [
    {
      name: texts.version,
      phone: true,
      tight: true,
      cell: ({ version }) => (
        <Link to={paths.registryStep(place, { version })} className="font-strong hover:underline">
          <code className="text-13">{version}</code>
        </Link>
      ),
    },
    {
      name: texts.state,
      phone: true,
      line: true,
      cell: (version) => (
        <span className="flex flex-col py-1">
          <StateMark state={stepVersionState(standing(version))} />
          {version.yanked && (
            <span className="max-w-prose text-13 wrap-anywhere text-ink2">{yankText(version.yanked, memberOf)}</span>
          )}
        </span>
      ),
    },
    {
      name: texts.signer,
      cell: ({ signer }) => <span className={`${small} block min-w-38 wrap-anywhere`}>{signer ?? texts.unsigned}</span>,
    },
    {
      name: texts.published,
      phone: true,
      tight: true,
      cell: ({ seenAt }) => {
        const seen = timeOf(seenAt) ?? now;
        return (
          <span title={full(seen)} className={small}>
            {ago(seen, now)}
          </span>
        );
      },
    },
    { name: common.actions, phone: true, end: true, cell: (version) => <Actions {...props} version={version} /> },
  ];
}

function yankText({ by, reason, refused }: NonNullable<RegistryStepVersion["yanked"]>, memberOf: Props["memberOf"]) {
  return refused ? stepVersions.refused(memberOf(by), reason) : stepVersions.yanked(memberOf(by), reason);
}

function Actions({ place, version, onYank }: Pick<Props, "place" | "onYank"> & { version: RegistryStepVersion }) {
  const { yanked } = version;
  return (
    <span className="inline-flex gap-2">
      <Link to={paths.registryStep(place, { view: "changes", version: version.version })} className={buttonClass()}>
        {stepVersions.compare}
        <span className="sr-only"> {stepVersions.compareOf(version.version)}</span>
      </Link>
      {onYank && !yanked?.refused && (
        <Button onClick={() => onYank(version)}>
          {yanked ? stepVersions.refuse : stepVersions.yank}
          <span className="sr-only"> {stepVersions.actionOf(version.version)}</span>
        </Button>
      )}
    </span>
  );
}
