// Organization settings > general: the name.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { keys } from "@/api/keys";
import { meQuery, organizationQuery, updateOrganization } from "@/api/me";
import { Problem } from "@/api/problem";
import type { Organization } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { useTitle } from "@/lib/favicon";
import { hasRole } from "@/lib/roles";
import { organization as texts } from "@/texts/en/organization";
import { full } from "@/texts/en/time";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { PageHead } from "@/ui/Page";
import { SkeletonRows } from "@/ui/Skeleton";
import { Facts } from "@/ui/Table";
import { showToast } from "@/ui/toasts";

export function GeneralPage(): ReactNode {
  const { org } = useParams({ from: "/o/$org/settings/general" });
  useTitle(texts.title, org);
  const organization = useQuery(organizationQuery(org));
  const role = useQuery(meQuery(org)).data?.role ?? "viewer";
  return (
    <div className="max-w-[640px]">
      <PageHead title={texts.title} />
      {organization.error && !organization.data && (
        <ProblemPanel error={organization.error} onRetry={() => void organization.refetch()} />
      )}
      {organization.isPending && <SkeletonRows rows={3} />}
      {organization.data && (
        <NameForm
          key={organization.data.updatedAt}
          org={org}
          organization={organization.data}
          why={hasRole(role, "admin") ? undefined : texts.adminsOnly}
        />
      )}
    </div>
  );
}

type Props = { org: string; organization: Organization; why: string | undefined };

function NameForm({ org, organization, why }: Props) {
  const queries = useQueryClient();
  const [name, setName] = useState(organization.name);
  const [isTouched, setTouched] = useState(false);
  const isNameless = name.trim() === "";
  const save = useMutation({
    mutationFn: () => updateOrganization(org, { name: name.trim() }),
    onSuccess: (changed) => {
      queries.setQueryData(keys.record(org), changed);
      showToast({ title: texts.saved });
    },
  });
  const problem = save.error instanceof Problem ? save.error.field("/name") : undefined;
  const since = timeOf(organization.createdAt);
  return (
    <>
      <form
        className="mb-8 flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTouched(true);
          if (!why && !isNameless && !save.isPending) save.mutate();
        }}
      >
        <Field
          label={texts.name}
          hint={texts.nameHint}
          maxLength={100}
          readOnly={Boolean(why)}
          error={isTouched && isNameless ? texts.nameRequired : problem}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        {save.error && !problem && <ProblemPanel error={save.error} />}
        <Button type="submit" look="primary" why={why} busy={save.isPending} className="self-start max-md:w-full">
          {texts.save}
        </Button>
      </form>
      <section aria-label={texts.facts} className="door border border-line bg-surface p-4">
        <Facts
          facts={[
            { name: texts.slug, value: <code className="text-12">{organization.slug}</code> },
            { name: texts.id, value: <code className="text-12 break-all">{organization.id}</code> },
            { name: texts.since, value: since === undefined ? "–" : full(since) },
          ]}
        />
      </section>
    </>
  );
}
