// Step registries: which exist, how their last synchronization went, and a new one.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Suspense, useState, type ReactNode } from "react";
import { meQuery } from "@/api/me";
import { registriesQuery } from "@/api/stepRegistry";
import { ProblemPanel } from "@/features/problem";
import { serverNow } from "@/lib/clock";
import { useTitle } from "@/lib/favicon";
import { lazily } from "@/lib/lazily";
import { hasRole } from "@/lib/roles";
import { registry as texts } from "@/texts/en/stepRegistry";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { PageHead } from "@/ui/Page";
import { Pager } from "@/ui/Pager";
import { SkeletonRows } from "@/ui/Skeleton";
import { RegistryTable } from "./RegistryTable";
import { pollDelay } from "./sync";

const NewRegistryDialog = lazily(() => import("./NewRegistryDialog"), "NewRegistryDialog");
const ROUTE = "/o/$org/step-registries";

export function RegistryList(): ReactNode {
  const { org } = useParams({ from: ROUTE });
  const search = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  useTitle(texts.title, org);
  const [isCreating, setCreating] = useState(false);
  const role = useQuery(meQuery(org)).data?.role;
  const offset = Math.max(0, Math.trunc(Number(search.offset ?? 0)) || 0);
  const registries = useQuery({
    ...registriesQuery(org, offset),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => pollDelay(state.data?.data ?? [], serverNow()),
  });
  const page = registries.data?.pagination;
  const create = role !== undefined && hasRole(role, "admin") && (
    <Button look="primary" onClick={() => setCreating(true)}>
      {texts.create}
    </Button>
  );
  return (
    <>
      <PageHead title={texts.title} actions={create} />
      <p className="mb-4 max-w-prose text-ink2">{texts.intro}</p>
      {registries.isPending && <SkeletonRows />}
      {registries.error && !registries.data && (
        <ProblemPanel error={registries.error} onRetry={() => void registries.refetch()} />
      )}
      {registries.data?.data.length === 0 && (
        <Empty title={texts.emptyTitle} text={<EmptyText isAdmin={Boolean(create)} />} action={create} />
      )}
      {registries.data && registries.data.data.length > 0 && (
        <RegistryTable org={org} registries={registries.data.data} />
      )}
      {page && (
        <Pager
          offset={offset}
          limit={page.limit}
          total={page.total}
          onGo={(next) => void navigate({ search: { offset: next > 0 ? String(next) : undefined } })}
        />
      )}
      <Suspense>{isCreating && <NewRegistryDialog org={org} onClose={() => setCreating(false)} />}</Suspense>
    </>
  );
}

function EmptyText({ isAdmin }: { isAdmin: boolean }) {
  return (
    <>
      <p>{texts.emptyText}</p>
      <p className="mt-2">{texts.emptyHow}</p>
      <pre className="mt-2 overflow-x-auto rounded-4 bg-sunken p-3 font-mono text-12">{texts.emptyLines}</pre>
      <p className="mt-2">{isAdmin ? texts.addNow : texts.adminsAdd}</p>
    </>
  );
}
