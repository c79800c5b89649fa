// The tokens of a service account: which live, last use, limits; create, revoke.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { keys } from "@/api/keys";
import { accountTokensQuery, createAccountToken } from "@/api/serviceAccount";
import { revokeToken } from "@/api/token";
import type { ApiToken, ServiceAccount } from "@/api/types";
import { ProblemPanel, showProblem } from "@/features/problem";
import { serviceAccount as texts } from "@/texts/en/serviceAccount";
import { token as tokenTexts } from "@/texts/en/token";
import { Button } from "@/ui/Button";
import { SkeletonRows } from "@/ui/Skeleton";
import { showToast } from "@/ui/toasts";
import { NewTokenDialog, RevokeDialog } from "./dialogs";
import { TokenTable } from "./TokenTable";

export function AccountTokens({ org, account }: { org: string; account: ServiceAccount }) {
  const queries = useQueryClient();
  const [isCreating, setCreating] = useState(false);
  const [toRevoke, setToRevoke] = useState<ApiToken | undefined>();
  const tokens = useQuery(accountTokensQuery(org, account.id));
  const revoke = useMutation({
    mutationFn: (token: ApiToken) => revokeToken(org, token.id),
    onSuccess: (_, token) => {
      setToRevoke(undefined);
      showToast({ title: tokenTexts.revokedToast(token.name) });
    },
    onError: showProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.tokens(org) }),
  });
  return (
    <section className="mb-8">
      <div className="mb-1 flex flex-wrap items-center gap-3">
        <h2 className="text-20">{texts.tokens}</h2>
        <Button className="ml-auto" look="primary" onClick={() => setCreating(true)}>
          {texts.newToken}
        </Button>
      </div>
      <p className="mb-2 max-w-prose text-13 text-ink2">{texts.tokensText}</p>
      {tokens.isPending && <SkeletonRows rows={2} />}
      {tokens.error && !tokens.data && <ProblemPanel error={tokens.error} onRetry={() => void tokens.refetch()} />}
      {tokens.data?.data.length === 0 && <p className="text-ink2">{texts.noTokens}</p>}
      {tokens.data && tokens.data.data.length > 0 && (
        <TokenTable tokens={tokens.data.data} isOfAccount onRevoke={setToRevoke} />
      )}
      <Suspense>
        {isCreating && (
          <NewTokenDialog
            org={org}
            account={(request) => createAccountToken(org, account.id, request)}
            onClose={() => setCreating(false)}
          />
        )}
        {toRevoke && (
          <RevokeDialog
            name={toRevoke.name}
            busy={revoke.isPending}
            onConfirm={() => revoke.mutate(toRevoke)}
            onClose={() => setToRevoke(undefined)}
          />
        )}
      </Suspense>
    </section>
  );
}
