// The dialog that is open on the page of members.
import { useQueryClient } from "@tanstack/react-query";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";
import type { Me, Member } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { member as texts } from "@/texts/en/member";
import { AddDialog } from "./AddDialog";
import { LinkDialog } from "./LinkDialog";
import { RemoveDialog } from "./RemoveDialog";
import { RoleDialog } from "./RoleDialog";

export type OpenMember = { kind: "add" } | { kind: "role" | "link" | "remove"; member: Member };

export type MemberDialogProps = { org: string; me: Me; onDone: () => void; onClose: () => void };

type Props = { org: string; me: Me; open: OpenMember; onChange: (open: OpenMember | undefined) => void };

export function MemberDialog({ org, me, open, onChange }: Props) {
  const queries = useQueryClient();
  const onClose = () => onChange(undefined);
  const onDone = () => void queries.invalidateQueries({ queryKey: keys.members(org) });
  const props = { org, me, onDone, onClose };
  switch (open.kind) {
    case "add":
      return <AddDialog {...props} onAdded={(member) => onChange({ kind: "link", member })} />;
    case "role":
      return <RoleDialog {...props} member={open.member} />;
    case "link":
      return <LinkDialog {...props} member={open.member} />;
    case "remove":
      return <RemoveDialog {...props} member={open.member} />;
  }
}

/** A refusal, with what to do about it if the code is one that members' pages know. */
export function MemberProblem({ error }: { error: unknown }) {
  const hint = error instanceof Problem ? texts.explained[error.code] : undefined;
  return (
    <>
      <ProblemPanel error={error} />
      {hint && <p className="text-13 text-ink2">{hint}</p>}
    </>
  );
}
