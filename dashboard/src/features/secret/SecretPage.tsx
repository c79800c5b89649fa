// One secret: who gets it, its versions, and which steps have read them.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Suspense, useState, type ReactNode } from "react";
import { meQuery } from "@/api/me";
import { membersQuery } from "@/api/member";
import { pipelinesQuery } from "@/api/pipeline";
import { Problem } from "@/api/problem";
import { secretQuery, type SecretRecord, secretVersionsQuery } from "@/api/secret";
import { ProblemPanel } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { useTitle } from "@/lib/favicon";
import { shortId } from "@/lib/ids";
import { lazily } from "@/lib/lazily";
import { secret as texts } from "@/texts/en/secret";
import { day } from "@/texts/en/time";
import { Button } from "@/ui/Button";
import { DetailColumns, PageHead } from "@/ui/Page";
import { Pager } from "@/ui/Pager";
import { SkeletonRows } from "@/ui/Skeleton";
import { ReadTable } from "./ReadTable";
import { Refused } from "./Refused";
import { mayReadLog, whyNotEdit } from "./rights";
import { nameOfPipelines } from "./Rules";
import type { OpenSecret } from "./SecretDialog";
import { SecretFacts } from "./SecretFacts";
import { VersionTable } from "./VersionTable";

const SecretDialog = lazily(() => import("./SecretDialog"), "SecretDialog");
const ROUTE = "/o/$org/settings/secrets/$secret";

export function SecretPage(): ReactNode {
  const { org, secret: id } = useParams({ from: ROUTE });
  const secret = useQuery(secretQuery(org, id));
  if (secret.error instanceof Problem && secret.error.kind === "refused") return <Refused error={secret.error} />;
  if (secret.error && !secret.data) return <ProblemPanel error={secret.error} onRetry={() => void secret.refetch()} />;
  return secret.data ? <Loaded org={org} secret={secret.data} /> : <SkeletonRows />;
}

function Loaded({ org, secret }: { org: string; secret: SecretRecord }) {
  useTitle(secret.name, org);
  const [open, setOpen] = useState<OpenSecret | undefined>();
  const [offset, setOffset] = useState(0);
  const role = useQuery(meQuery(org)).data?.role;
  const pipelines = useQuery(pipelinesQuery(org)).data?.data;
  const members = useQuery(membersQuery(org)).data?.data;
  const versions = useQuery(secretVersionsQuery(org, secret.id, offset));
  const deletedAt = timeOf(secret.deletedAt);
  const why = whyNotEdit(role, secret.scope);
  const memberOf = (userId: string) => members?.find((member) => member.userId === userId)?.name ?? shortId(userId);
  const page = versions.data?.pagination;
  return (
    <>
      <PageHead
        title={secret.name}
        actions={
          deletedAt === undefined && (
            <>
              <Button look="primary" why={why} onClick={() => setOpen({ kind: "value" })}>
                {texts.newVersion}
              </Button>
              <Button why={why} onClick={() => setOpen({ kind: "edit" })}>
                {texts.edit}
              </Button>
              <Button why={why} onClick={() => setOpen({ kind: "delete" })}>
                {texts.delete}
              </Button>
            </>
          )
        }
      />
      {deletedAt !== undefined && (
        <p className="mb-4 rounded-6 bg-slate-soft px-3 py-2 font-strong text-slate">
          {texts.wasDeletedText(day(deletedAt))}
        </p>
      )}
      {secret.description && <p className="mb-4 max-w-prose text-ink2">{secret.description}</p>}
      <DetailColumns
        main={
          <>
            <h2 className="mb-2 text-16">{texts.versions}</h2>
            {versions.isPending && <SkeletonRows rows={2} />}
            {versions.error && !versions.data && (
              <ProblemPanel error={versions.error} onRetry={() => void versions.refetch()} />
            )}
            {versions.data && (
              <VersionTable
                versions={versions.data.data}
                memberOf={memberOf}
                why={why}
                onAct={(action) => setOpen({ kind: "version", action })}
              />
            )}
            {page && <Pager offset={offset} limit={page.limit} total={page.total} onGo={setOffset} />}
            <h2 className="mt-6 mb-2 text-16">{texts.reads}</h2>
            {role && mayReadLog(role) && <ReadTable org={org} secret={secret.id} />}
            {role && !mayReadLog(role) && <p className="text-ink2">{texts.readsRefused}</p>}
          </>
        }
        aside={<SecretFacts secret={secret} nameOf={nameOfPipelines(pipelines)} memberOf={memberOf} />}
      />
      <Suspense>
        {open && <SecretDialog org={org} secret={secret} open={open} onClose={() => setOpen(undefined)} />}
      </Suspense>
    </>
  );
}
