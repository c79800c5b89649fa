// The person's own page: look, keys, notifications, password, browsers, organizations.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { startQuery } from "@/api/me";
import { signOut } from "@/api/signIn";
import type { Me } from "@/api/types";
import { ProblemPanel, showProblem } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { paths } from "@/lib/paths";
import { member } from "@/texts/en/member";
import { profile as texts } from "@/texts/en/profile";
import { shell } from "@/texts/en/shell";
import { Button } from "@/ui/Button";
import { Face } from "@/ui/Face";
import { Link } from "@/ui/Link";
import { PageHead } from "@/ui/Page";
import { SkeletonRows } from "@/ui/Skeleton";
import { Browsers } from "./Browsers";
import { Look } from "./Look";
import { Notifications } from "./Notifications";
import { PasswordForm } from "./PasswordForm";
import { Section } from "./Section";

export function ProfilePage(): ReactNode {
  useTitle(texts.title);
  const me = useQuery(startQuery);
  return (
    <main className="mx-auto max-w-[688px] px-3.5 pt-4 pb-24 md:px-6">
      {me.error && !me.data && <ProblemPanel error={me.error} onRetry={() => void me.refetch()} />}
      {me.isPending && <SkeletonRows />}
      {me.data && <Loaded me={me.data} />}
    </main>
  );
}

function Loaded({ me }: { me: Me }) {
  const organizations = me.organizations ?? [];
  // A request with an API token has no browser session.
  const hasBrowser = !me.token;
  return (
    <>
      <Link to={paths.home(me.organizationSlug)} className="text-13 text-ink2 hover:underline">
        ← {texts.back(me.organizationSlug)}
      </Link>
      <div className="mt-4 mb-2 flex items-center gap-3">
        <Face name={me.name} kind="user" />
        <span className="font-strong">{me.name}</span>
      </div>
      <PageHead title={texts.title} actions={hasBrowser && <SignOut />} />
      <Look />
      <Notifications />
      {hasBrowser ? (
        <>
          <PasswordForm />
          <Browsers />
        </>
      ) : (
        <p className="text-ink2">{texts.tokenOnly}</p>
      )}
      {organizations.length > 0 && (
        <Section title={texts.organizations}>
          <ul>
            {organizations.map((organization) => (
              <li key={organization.id} className="border-b border-line">
                <Link
                  to={paths.home(organization.slug)}
                  className="flex min-h-row items-center gap-3 px-2 hover:bg-surface"
                >
                  <span className="flex-1 font-strong">{organization.slug}</span>
                  <span className="text-13 text-ink2">{member.roles[organization.role] ?? organization.role}</span>
                </Link>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

function SignOut() {
  const queries = useQueryClient();
  const leave = useMutation({
    mutationFn: signOut,
    onSuccess: () => {
      queries.clear();
      // A new page, so that nothing of the person stays in memory.
      location.assign(paths.signIn());
    },
    onError: showProblem,
  });
  return (
    <Button busy={leave.isPending} onClick={() => leave.mutate()}>
      {shell.signOut}
    </Button>
  );
}
