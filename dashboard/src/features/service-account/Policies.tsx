// The trust policies of a service account: which tokens of which CI system it exchanges for its own.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { BASE_URL } from "@/api/client";
import { keys } from "@/api/keys";
import { pipelinesQuery } from "@/api/pipeline";
import { deleteTrustPolicy, trustPoliciesQuery } from "@/api/trustPolicy";
import type { ServiceAccount, TrustPolicy } from "@/api/types";
import { ProblemPanel, showProblem } from "@/features/problem";
import { shortId } from "@/lib/ids";
import { lazily } from "@/lib/lazily";
import { common } from "@/texts/en/common";
import { trustPolicy as texts } from "@/texts/en/trustPolicy";
import { Button } from "@/ui/Button";
import { Copyable } from "@/ui/Copyable";
import { SkeletonRows } from "@/ui/Skeleton";
import { type Column, Table } from "@/ui/Table";
import { showToast } from "@/ui/toasts";

const DeletePolicyDialog = lazily(() => import("./DeletePolicyDialog"), "DeletePolicyDialog");
const NewPolicyDialog = lazily(() => import("./NewPolicyDialog"), "NewPolicyDialog");

type NameOf = (pipelineId: string) => string;

export function Policies({ org, account }: { org: string; account: ServiceAccount }) {
  const queries = useQueryClient();
  const [isCreating, setCreating] = useState(false);
  const [toDelete, setToDelete] = useState<TrustPolicy | undefined>();
  const policies = useQuery(trustPoliciesQuery(org, account.id));
  const pipelines = useQuery(pipelinesQuery(org)).data?.data;
  const nameOf = (id: string) => pipelines?.find((pipeline) => pipeline.id === id)?.name ?? shortId(id);
  const remove = useMutation({
    mutationFn: ({ id }: TrustPolicy) => deleteTrustPolicy(org, account.id, id),
    onSuccess: (_, { name }) => {
      setToDelete(undefined);
      showToast({ title: texts.deleted(name) });
    },
    onError: showProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.serviceAccounts(org) }),
  });
  return (
    <section>
      <div className="mb-1 flex flex-wrap items-center gap-3">
        <h2 className="text-20">{texts.title}</h2>
        <Button className="ml-auto" onClick={() => setCreating(true)}>
          {texts.create}
        </Button>
      </div>
      <p className="mb-2 max-w-prose text-13 text-ink2">{texts.text}</p>
      {policies.isPending && <SkeletonRows rows={2} />}
      {policies.error && !policies.data && (
        <ProblemPanel error={policies.error} onRetry={() => void policies.refetch()} />
      )}
      {policies.data?.data.length === 0 && <p className="text-ink2">{texts.none}</p>}
      {policies.data && policies.data.data.length > 0 && (
        <Table
          label={texts.title}
          columns={columns(nameOf, setToDelete)}
          rows={policies.data.data}
          rowKey={({ id }) => id}
        />
      )}
      {policies.data && policies.data.data.length > 0 && (
        <div className="mt-4 max-w-3xl">
          <Copyable text={resourceOf(org, account.id)} label={texts.resource} />
          <p className="text-13 text-ink3">{texts.resourceHint}</p>
        </div>
      )}
      <Suspense>
        {isCreating && <NewPolicyDialog org={org} account={account} onClose={() => setCreating(false)} />}
        {toDelete && (
          <DeletePolicyDialog
            name={toDelete.name}
            busy={remove.isPending}
            onConfirm={() => remove.mutate(toDelete)}
            onClose={() => setToDelete(undefined)}
          />
        )}
      </Suspense>
    </section>
  );
}

function resourceOf(org: string, account: string): string {
  return `${location.origin}${BASE_URL}/organizations/${org}/service-accounts/${account}`;
}

function columns(nameOf: NameOf, onDelete: (policy: TrustPolicy) => void): Column<TrustPolicy>[] {
  return [
    {
      name: texts.name,
      phone: true,
      line: true,
      cell: ({ name, issuer }) => (
        <span className="flex min-w-0 flex-col">
          <span className="font-strong wrap-anywhere">{name}</span>
          <code className="text-12 break-all text-ink3">{issuer}</code>
        </span>
      ),
    },
    {
      name: texts.claims,
      phone: true,
      line: true,
      cell: ({ claims }) => (
        <ul className="font-mono text-12 break-all text-ink2">
          {Object.entries(claims).map(([name, value]) => (
            <li key={name}>
              {name} = {String(value)}
            </li>
          ))}
        </ul>
      ),
    },
    {
      name: texts.pipelines,
      cell: ({ pipelines }) => <span className="text-13 text-ink2">{pipelines.map(nameOf).join(", ")}</span>,
    },
    {
      name: texts.lifetime,
      phone: true,
      tight: true,
      cell: ({ ttlSeconds }) => (
        <span className="text-13 text-ink2">{texts.lifetimes[ttlSeconds] ?? texts.seconds(ttlSeconds)}</span>
      ),
    },
    {
      name: common.actions,
      phone: true,
      end: true,
      cell: (policy) => (
        <Button onClick={() => onDelete(policy)}>
          {texts.delete}
          <span className="sr-only"> {policy.name}</span>
        </Button>
      ),
    },
  ];
}
