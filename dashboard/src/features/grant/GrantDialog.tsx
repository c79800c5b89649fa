// The dialogs of grants: create one, delete one.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { deleteGrant, grantEndingsQuery } from "@/api/grant";
import { keys } from "@/api/keys";
import type { Grant } from "@/api/types";
import { Endings, whyNotYet } from "@/features/ending";
import { ProblemPanel } from "@/features/problem";
import { grant as texts } from "@/texts/en/grant";
import { Confirm } from "@/ui/Confirm";
import { showToast } from "@/ui/toasts";
import { granteeOf } from "./grantee";
import { NewGrantDialog } from "./NewGrantDialog";

export type OpenGrant = { kind: "create" } | { kind: "delete"; grant: Grant };

type Props = { org: string; pipeline: string; onClose: () => void };

export function GrantDialog({ open, ...rest }: Props & { open: OpenGrant }) {
  return open.kind === "create" ? <NewGrantDialog {...rest} /> : <DeleteDialog {...rest} grant={open.grant} />;
}

function DeleteDialog({ org, pipeline, grant, onClose }: Props & { grant: Grant }) {
  const queries = useQueryClient();
  const grantee = granteeOf(grant);
  const endings = useQuery(grantEndingsQuery(org, pipeline, grantee));
  const remove = useMutation({
    mutationFn: () => deleteGrant(org, pipeline, grantee),
    onSuccess: () => {
      onClose();
      showToast({ title: texts.deleted(grantee.name) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.grants(org) }),
  });
  return (
    <Confirm
      title={texts.deleteTitle(grantee.name)}
      text={texts.deleteText}
      action={texts.delete}
      busy={remove.isPending}
      why={whyNotYet(endings)}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <Endings endings={endings} names />
      {remove.error && <ProblemPanel error={remove.error} />}
    </Confirm>
  );
}
