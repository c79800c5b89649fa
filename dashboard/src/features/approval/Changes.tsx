// What is new since the stage last succeeded in the environment.
import type { ApprovalDetails } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { shortCommit } from "@/lib/ids";
import { paths } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { approval as texts } from "@/texts/en/approval";
import { ago } from "@/texts/en/time";
import { Link } from "@/ui/Link";
import { Facts } from "@/ui/Table";

export function Changes({ org, approval }: { org: string; approval: ApprovalDetails }) {
  const now = useNow("half-minute");
  const { changes, environment, stage } = approval;
  return (
    <section aria-label={texts.changes}>
      <h3 className="mb-2 text-16">{texts.changes}</h3>
      {!changes && <p className="text-ink2">{texts.firstTime(environment ?? stage)}</p>}
      {changes && (
        <>
          <p className="mb-2 text-13 text-ink2">
            <Link to={paths.deployment(org, changes.deploymentId)} className="underline">
              {texts.lastSuccess}
            </Link>{" "}
            {ago(timeOf(changes.at) ?? now, now)}
          </p>
          <Facts
            facts={[
              {
                name: texts.commit,
                value: <Change change={changes.commit} text={shortCommit} same={texts.sameCommit} />,
              },
              {
                name: texts.definition,
                value: <Change change={changes.definition} text={shortDigest} same={texts.sameDefinition} />,
              },
              { name: texts.steps, value: <Steps steps={changes.steps} /> },
            ]}
          />
        </>
      )}
    </section>
  );
}

type ChangeProps = {
  change: { before: string; after: string } | null | undefined;
  text: (value: string) => string;
  same: string;
};

function Change({ change, text, same }: ChangeProps) {
  if (!change) return <span className="text-ink2">{same}</span>;
  return (
    <code className="text-12" title={texts.fromTo(change.before, change.after)}>
      {texts.fromTo(text(change.before), text(change.after))}
    </code>
  );
}

function Steps({ steps }: { steps: NonNullable<ApprovalDetails["changes"]>["steps"] }) {
  if (steps.length === 0) return <span className="text-ink2">{texts.sameSteps}</span>;
  return (
    <ul className="flex flex-col gap-1">
      {steps.map(({ name, before, after }, index) => (
        <li key={`${name ?? ""}-${index}`}>
          <span className="font-strong">{name ?? texts.unnamed}</span>{" "}
          <code className="text-12 break-all text-ink2">
            {before && after ? texts.fromTo(before, after) : (after ?? before)}
          </code>{" "}
          {!before && <span className="text-13 text-green">{texts.added}</span>}
          {!after && <span className="text-13 text-red">{texts.removed}</span>}
        </li>
      ))}
    </ul>
  );
}

const DIGEST_LENGTH = 12;

function shortDigest(digest: string): string {
  return digest.replace(/^sha256:/, "").slice(0, DIGEST_LENGTH);
}
