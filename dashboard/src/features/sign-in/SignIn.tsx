// Sign in by a provider, or with e-mail and password. Afterwards the person returns to the page that was open.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter, useSearch } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { Problem } from "@/api/problem";
import { signInMethodsQuery, signInWithPassword } from "@/api/signIn";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { safeReturn } from "@/lib/paths";
import { signIn as texts } from "@/texts/en/sign-in";
import { Button, buttonClass } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { SkeletonRows } from "@/ui/Skeleton";
import { Doorway } from "./Doorway";

export function SignIn(): ReactNode {
  useTitle(texts.title);
  const { return: returnTo, error } = useSearch({ from: "/sign-in" });
  const methods = useQuery(signInMethodsQuery);
  return (
    <Doorway title={texts.title}>
      {!isSecureContext && <p className="rounded-6 bg-amber-soft p-3 text-amber">{texts.insecure}</p>}
      {error && (
        <p role="alert" className="rounded-6 bg-red-soft p-3 text-red">
          {texts.refused}
        </p>
      )}
      {methods.isPending && <SkeletonRows rows={3} />}
      {methods.error && <ProblemPanel error={methods.error} onRetry={() => void methods.refetch()} />}
      {methods.data?.providers.map((provider) => (
        <a key={provider.id} href={startUrl(provider.startUrl, returnTo)} className={buttonClass("plain")}>
          {texts.with(provider.name)}
        </a>
      ))}
      {methods.data?.password && <PasswordForm />}
      {methods.data && !methods.data.password && methods.data.providers.length === 0 && <p>{texts.noMethod}</p>}
    </Doorway>
  );
}

/** Where a provider's sign-in begins. The person returns to the page that was open. */
function startUrl(address: string, returnTo: string | undefined): string {
  const path = safeReturn(returnTo, location.origin);
  return path === "/" ? address : `${address}?return=${encodeURIComponent(path)}`;
}

function PasswordForm() {
  const { return: returnTo } = useSearch({ from: "/sign-in" });
  const router = useRouter();
  const queries = useQueryClient();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const signIn = useMutation({
    mutationFn: () => signInWithPassword({ email: email.trim(), password }),
    onSuccess: () => {
      setPassword("");
      // Nothing that another person has read in this tab may stay.
      queries.clear();
      router.history.replace(safeReturn(returnTo, location.origin));
    },
  });
  const isMismatch = signIn.error instanceof Problem && signIn.error.status === 401;
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (!signIn.isPending) signIn.mutate();
      }}
    >
      <Field
        label={texts.email}
        type="email"
        autoComplete="username"
        required
        value={email}
        onChange={(event) => setEmail(event.target.value)}
      />
      <Field
        label={texts.password}
        type="password"
        autoComplete="current-password"
        required
        value={password}
        error={isMismatch ? texts.failed : undefined}
        onChange={(event) => setPassword(event.target.value)}
      />
      {signIn.error && !isMismatch && <ProblemPanel error={signIn.error} />}
      <Button type="submit" look="primary" busy={signIn.isPending}>
        {texts.submit}
      </Button>
    </form>
  );
}
