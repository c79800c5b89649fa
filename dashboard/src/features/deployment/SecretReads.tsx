// Which secrets a deployment has read, and whether they were rotated since. For maintainers.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { meQuery } from "@/api/me";
import { deploymentSecretReadsQuery } from "@/api/secret";
import type { Deployment } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { paths } from "@/lib/paths";
import { hasRole } from "@/lib/roles";
import { deploymentSecrets as texts, secret as words } from "@/texts/en/secret";
import { StateMark } from "@/ui/Badge";
import { Link } from "@/ui/Link";
import { SkeletonRows } from "@/ui/Skeleton";
import { secretVersionState } from "@/ui/state";
import { type ReadSecret, secretsOf } from "./reads";

/** From this width on the facts are beside the log. */
const WIDE = "(min-width: 64rem)";

export function SecretReads({ org, deployment }: { org: string; deployment: Deployment }) {
  const role = useQuery(meQuery(org)).data?.role;
  const mayRead = role !== undefined && hasRole(role, "maintainer");
  const reads = useQuery({ ...deploymentSecretReadsQuery(org, deployment.id), enabled: mayRead });
  const [isWide] = useState(() => matchMedia(WIDE).matches);
  if (!mayRead) return null;
  const secrets = secretsOf(reads.data?.data ?? [], deployment.stages ?? []);
  const page = reads.data?.pagination;
  return (
    // On narrow screens it stands above the log, so it is closed there.
    <details open={isWide} className="mt-4 rounded-6 border border-line bg-surface p-4">
      <summary className="cursor-pointer">
        <h2 className="inline text-16">{texts.title}</h2>
        {page && <span className="ml-2 text-13 text-ink2">{secrets.length}</span>}
      </summary>
      {reads.isPending && <SkeletonRows rows={2} />}
      {reads.error && !reads.data && <ProblemPanel error={reads.error} onRetry={() => void reads.refetch()} />}
      {reads.data && <p className="mt-1 text-13 text-ink2">{secrets.length === 0 ? texts.none : texts.text}</p>}
      <ul>
        {secrets.map((secret) => (
          <Item key={`${secret.secretId} ${secret.version}`} org={org} deployment={deployment.id} secret={secret} />
        ))}
      </ul>
      {page && page.total > page.limit && <p className="text-13 text-ink3">{texts.more(page.limit, page.total)}</p>}
    </details>
  );
}

function Item({ org, deployment, secret }: { org: string; deployment: string; secret: ReadSecret }) {
  const { secretId, name, version, status, places } = secret;
  return (
    <li className="mt-3 border-t border-line pt-3">
      <div className="flex flex-wrap items-center gap-x-3">
        <Link to={paths.secret(org, secretId)} className="min-w-0 font-strong wrap-anywhere underline">
          {name}
        </Link>
        <code className="text-12">{words.number(version)}</code>
        <span className="ml-auto">
          <StateMark state={secretVersionState(status)} />
        </span>
      </div>
      <ul aria-label={texts.by} className="flex flex-wrap gap-x-3 text-13">
        {places.map(({ key, stage, stepRunId, name: place }) => (
          <li key={key}>
            <Link to={paths.deployment(org, deployment, { stage, step: stepRunId })} className="text-ink2 underline">
              {place}
            </Link>
          </li>
        ))}
      </ul>
    </li>
  );
}
