// The versions of a step, the highest first. Admins yank them.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import { meQuery } from "@/api/me";
import { membersQuery } from "@/api/member";
import { stepVersionsQuery } from "@/api/registryStep";
import type { RegistryStepVersion, StepRegistry } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { shortId } from "@/lib/ids";
import { lazily } from "@/lib/lazily";
import type { StepRef } from "@/lib/paths";
import { hasRole } from "@/lib/roles";
import { stepVersions as texts } from "@/texts/en/registryStep";
import { Pager } from "@/ui/Pager";
import { SkeletonRows } from "@/ui/Skeleton";
import { VersionTable } from "./VersionTable";

const YankDialog = lazily(() => import("./YankDialog"), "YankDialog");
const ROUTE = "/o/$org/step-registries/$registry/steps/$step";

export function Versions({ place, registry }: { place: StepRef; registry: StepRegistry }) {
  const search = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  const [toYank, setToYank] = useState<RegistryStepVersion | undefined>();
  const role = useQuery(meQuery(place.org)).data?.role;
  const members = useQuery(membersQuery(place.org)).data?.data;
  const offset = Math.max(0, Math.trunc(Number(search.offset ?? 0)) || 0);
  const versions = useQuery({ ...stepVersionsQuery(place, offset), placeholderData: keepPreviousData });
  if (!versions.data)
    return versions.error ? (
      <ProblemPanel error={versions.error} onRetry={() => void versions.refetch()} />
    ) : (
      <SkeletonRows rows={3} />
    );
  const { data, pagination } = versions.data;
  return (
    <>
      <p className="mb-2 max-w-prose text-13 text-ink2">{texts.intro}</p>
      <VersionTable
        place={place}
        registry={registry}
        versions={data}
        memberOf={(userId) => members?.find((member) => member.userId === userId)?.name ?? shortId(userId)}
        onYank={role !== undefined && hasRole(role, "admin") ? setToYank : undefined}
      />
      <Pager
        offset={offset}
        limit={pagination.limit}
        total={pagination.total}
        onGo={(next) => void navigate({ search: { view: "versions", offset: next > 0 ? String(next) : undefined } })}
      />
      <Suspense>
        {toYank && <YankDialog place={place} version={toYank} onClose={() => setToYank(undefined)} />}
      </Suspense>
    </>
  );
}
