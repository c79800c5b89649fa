// Runners for those who may not see them: it names who may.
import { useQuery } from "@tanstack/react-query";
import { membersQuery } from "@/api/member";
import { ProblemPanel } from "@/features/problem";
import { hasRole } from "@/lib/roles";
import { runner as texts } from "@/texts/en/runner";
import { PageHead } from "@/ui/Page";

const MAX_NAMES = 5;

export function Refused({ org, error }: { org: string; error: unknown }) {
  const members = useQuery(membersQuery(org));
  const admins = (members.data?.data ?? []).filter(({ role }) => hasRole(role, "admin")).map(({ name }) => name);
  return (
    <>
      <PageHead title={texts.title} />
      <ProblemPanel error={error} />
      <p className="mt-4 text-ink2">
        {texts.refusedText} {admins.length > 0 && texts.askAdmins(admins.slice(0, MAX_NAMES).join(", "))}
      </p>
    </>
  );
}
