// The rules with who may vote, and the votes.
import { useQuery } from "@tanstack/react-query";
import { groupMembersQuery, groupsQuery } from "@/api/group";
import type { ApprovalDetails } from "@/api/types";
import { cx } from "@/lib/classes";
import { timeOf } from "@/lib/countdown";
import { useNow } from "@/lib/ticker";
import { approval as texts } from "@/texts/en/approval";
import { ago } from "@/texts/en/time";
import { StateMark } from "@/ui/Badge";
import { Who } from "@/ui/Face";
import { approvalState } from "@/ui/state";
import { extraOf } from "./standing";

type Props = { org: string; approval: ApprovalDetails; userId: string };

export function Votes({ org, approval, userId }: Props) {
  const { have, needed, eligible, rules, votes, satisfiable, status } = approval;
  const now = useNow("half-minute");
  const extra = extraOf(approval);
  return (
    <section aria-label={texts.votes}>
      <h3 className="mb-2 flex items-baseline gap-2 text-16">
        {texts.votes}
        <span className="font-mono text-14 tabular-nums">{texts.progress(have, needed)}</span>
      </h3>
      <p className="sr-only">{texts.progressText(have, needed)}</p>
      {!satisfiable && status === "pending" && (
        <p role="alert" className="mb-2 rounded-6 bg-red-soft px-3 py-2 font-strong text-red">
          {texts.unsatisfiable(needed, eligible)}
        </p>
      )}
      <ul className="mb-2 flex flex-col gap-1">
        {rules.map((rule, index) => (
          <li key={index}>
            <span className="font-strong wrap-anywhere">{texts.rule(rule)}</span>
            {rule.groups.map((group) => (
              <GroupMembers key={group} org={org} name={group} />
            ))}
          </li>
        ))}
        {extra > 0 && <li>{texts.extra(extra)}</li>}
      </ul>
      <p className="mb-2 text-13 text-ink3">{texts.eachOnce}</p>
      {approval.authors.length > 0 && (
        <p className="mb-2 text-13 wrap-anywhere text-ink2">
          {texts.authors(approval.authors.map(({ name }) => name).join(", "), approval.selfApproval)}
        </p>
      )}
      {votes.length === 0 && status === "pending" && <p className="text-ink2">{texts.noVotes}</p>}
      <ul className="flex flex-col gap-2">
        {votes.map(({ by, decision, comment, at, withdrawnAt, enrolledBy }) => (
          <li key={by.id} className={cx("min-w-0", withdrawnAt && "text-ink3")}>
            <span className="flex flex-wrap items-center gap-x-2">
              <Who name={by.name} kind="user" mine={by.id === userId} />
              <StateMark
                state={approvalState(withdrawnAt ? "canceled" : decision === "approve" ? "approved" : "rejected")}
                word={withdrawnAt ? texts.withdrawn : (texts.decisions[decision] ?? decision)}
              />
              <span className="text-13 text-ink3">{ago(timeOf(withdrawnAt ?? at) ?? now, now)}</span>
            </span>
            {enrolledBy && <p className="pl-8 text-13 text-ink3">{texts.enrolledBy(enrolledBy.name)}</p>}
            {comment && <p className="pl-8 wrap-anywhere text-ink2">“{comment}”</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Who is in a group that a rule names. Rules name groups, and a group can be missing or empty. */
function GroupMembers({ org, name }: { org: string; name: string }) {
  const groups = useQuery(groupsQuery(org));
  const group = groups.data?.data.find((known) => known.name === name);
  const members = useQuery({ ...groupMembersQuery(org, group?.id ?? ""), enabled: group !== undefined });
  const isComplete = groups.data && groups.data.pagination.total <= groups.data.data.length;
  if (!group) return isComplete ? <p className="text-13 text-red">{texts.noSuchGroup(name)}</p> : null;
  if (!members.data) return null;
  const names = members.data.data.map((member) => member.name);
  return (
    <p className="text-13 wrap-anywhere text-ink2">
      {names.length === 0 ? texts.nobodyInGroup(name) : texts.ruleMembers(names.join(", "))}
    </p>
  );
}
