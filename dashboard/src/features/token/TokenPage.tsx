// Organization Settings > API Tokens: which tokens live, when each was used last, revoke, create.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Suspense, useState, type ReactNode } from "react";
import { keys } from "@/api/keys";
import { meQuery } from "@/api/me";
import { revokeToken, tokensQuery } from "@/api/token";
import type { ApiToken } from "@/api/types";
import { ProblemPanel, showProblem } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { token as texts } from "@/texts/en/token";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { PageHead } from "@/ui/Page";
import { Segments } from "@/ui/Segments";
import { SkeletonRows } from "@/ui/Skeleton";
import { showToast } from "@/ui/toasts";
import { NewTokenDialog, RevokeDialog } from "./dialogs";
import { TokenTable } from "./TokenTable";

export function TokenPage(): ReactNode {
  const { org } = useParams({ from: "/o/$org/settings/api-tokens" });
  useTitle(texts.title, org);
  const queries = useQueryClient();
  const role = useQuery(meQuery(org)).data?.role;
  const isAdmin = role === "admin" || role === "owner";
  const [whose, setWhose] = useState<"mine" | "all">("mine");
  const [isCreating, setCreating] = useState(false);
  const [toRevoke, setToRevoke] = useState<ApiToken | undefined>();
  const tokens = useQuery(tokensQuery(org, whose === "all"));
  const revoke = useMutation({
    mutationFn: (token: ApiToken) => revokeToken(org, token.id),
    onSuccess: (_, token) => {
      setToRevoke(undefined);
      showToast({ title: texts.revokedToast(token.name) });
    },
    onError: showProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.tokens(org) }),
  });
  const create = (
    <Button look="primary" onClick={() => setCreating(true)}>
      {texts.create}
    </Button>
  );
  return (
    <>
      <PageHead title={texts.title} actions={create} />
      <p className="mb-4 text-ink2">{texts.intro}</p>
      {isAdmin && (
        <div className="mb-4">
          <Segments
            label={texts.whose}
            value={whose}
            onChange={setWhose}
            segments={[
              { value: "mine", label: texts.mine },
              { value: "all", label: texts.all },
            ]}
          />
        </div>
      )}
      {tokens.isPending && <SkeletonRows />}
      {tokens.error && !tokens.data && <ProblemPanel error={tokens.error} onRetry={() => void tokens.refetch()} />}
      {tokens.data?.data.length === 0 && <Empty title={texts.emptyTitle} text={texts.emptyText} action={create} />}
      {tokens.data && tokens.data.data.length > 0 && <TokenTable tokens={tokens.data.data} onRevoke={setToRevoke} />}
      <Suspense>
        {isCreating && <NewTokenDialog org={org} onClose={() => setCreating(false)} />}
        {toRevoke && (
          <RevokeDialog
            name={toRevoke.name}
            busy={revoke.isPending}
            onConfirm={() => revoke.mutate(toRevoke)}
            onClose={() => setToRevoke(undefined)}
          />
        )}
      </Suspense>
    </>
  );
}
