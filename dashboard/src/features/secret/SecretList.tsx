// Organization Settings > Secrets: which exist, who gets them, which version, when read last; create.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Suspense, useState, type ReactNode } from "react";
import { meQuery } from "@/api/me";
import { pipelinesQuery } from "@/api/pipeline";
import { Problem } from "@/api/problem";
import { secretsQuery } from "@/api/secret";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { lazily } from "@/lib/lazily";
import { secret as texts } from "@/texts/en/secret";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { PageHead } from "@/ui/Page";
import { Pager } from "@/ui/Pager";
import { SkeletonRows } from "@/ui/Skeleton";
import { Refused } from "./Refused";
import { mayEdit, mayReadLog } from "./rights";
import { nameOfPipelines } from "./Rules";
import { SecretTable } from "./SecretTable";

const NewSecretDialog = lazily(() => import("./NewSecretDialog"), "NewSecretDialog");
const ROUTE = "/o/$org/settings/secrets";

export function SecretList(): ReactNode {
  const { org } = useParams({ from: ROUTE });
  const search = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  useTitle(texts.title, org);
  const [isCreating, setCreating] = useState(false);
  const role = useQuery(meQuery(org)).data?.role;
  const pipelines = useQuery(pipelinesQuery(org)).data?.data;
  const offset = Math.max(0, Math.trunc(Number(search.offset ?? 0)) || 0);
  const secrets = useQuery({ ...secretsQuery(org, search.pipeline, offset), placeholderData: keepPreviousData });
  if (secrets.error instanceof Problem && secrets.error.kind === "refused") return <Refused error={secrets.error} />;
  const page = secrets.data?.pagination;
  const mayCreate = role !== undefined && mayEdit(role, "pipeline");
  const create = (
    <Button look="primary" why={mayCreate ? undefined : texts.maintainersOnly} onClick={() => setCreating(true)}>
      {texts.create}
    </Button>
  );
  return (
    <>
      <PageHead title={texts.title} actions={create} />
      <p className="mb-4 text-ink2">{texts.intro}</p>
      <label className="mb-4 flex items-center gap-2 text-13">
        {texts.filter}
        <select
          className="min-h-row min-w-0 rounded-6 border border-control bg-raised px-2"
          value={search.pipeline ?? ""}
          onChange={(event) => void navigate({ search: { pipeline: event.target.value || undefined } })}
        >
          <option value="">{texts.allPipelines}</option>
          {(pipelines ?? []).map(({ id, slug, name }) => (
            <option key={id} value={slug}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {secrets.isPending && <SkeletonRows />}
      {secrets.error && !secrets.data && <ProblemPanel error={secrets.error} onRetry={() => void secrets.refetch()} />}
      {secrets.data?.data.length === 0 &&
        (search.pipeline ? (
          <p>{texts.noneOfPipeline}</p>
        ) : (
          <Empty title={texts.emptyTitle} text={texts.emptyText} action={create} />
        ))}
      {secrets.data && secrets.data.data.length > 0 && (
        <SecretTable
          org={org}
          secrets={secrets.data.data}
          nameOf={nameOfPipelines(pipelines)}
          showsReads={role !== undefined && mayReadLog(role)}
        />
      )}
      {page && (
        <Pager
          offset={offset}
          limit={page.limit}
          total={page.total}
          onGo={(next) => void navigate({ search: { ...search, offset: next > 0 ? String(next) : undefined } })}
        />
      )}
      <Suspense>
        {isCreating && role && (
          <NewSecretDialog
            org={org}
            role={role}
            pipelineId={pipelines?.find(({ slug }) => slug === search.pipeline)?.id}
            onClose={() => setCreating(false)}
          />
        )}
      </Suspense>
    </>
  );
}
