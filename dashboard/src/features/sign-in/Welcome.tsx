// The page of a sign-in link. The code is in the fragment, which browsers do not send, and is removed from the
// address at once. The person presses a button, so that no page can sign somebody in unnoticed.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import { Problem } from "@/api/problem";
import { signInWithLink } from "@/api/signIn";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { paths } from "@/lib/paths";
import { signIn as texts } from "@/texts/en/sign-in";
import { Button } from "@/ui/Button";
import { ChoosePassword } from "./ChoosePassword";
import { Doorway } from "./Doorway";

export function Welcome(): ReactNode {
  useTitle(texts.welcome);
  const queries = useQueryClient();
  const [code] = useState(() => location.hash.slice(1));
  useEffect(() => history.replaceState(history.state, "", paths.welcome()), []);
  const signIn = useMutation({ mutationFn: () => signInWithLink(code), onSuccess: () => queries.clear() });
  if (signIn.data) return <ChoosePassword person={signIn.data} />;
  const isBad = signIn.error instanceof Problem && signIn.error.status === 401;
  return (
    <Doorway title={texts.welcome}>
      <p className="text-ink2">{code === "" ? texts.noCode : isBad ? texts.badLink : texts.welcomeText}</p>
      {signIn.error && !isBad && <ProblemPanel error={signIn.error} />}
      {code !== "" && !isBad && (
        <Button look="primary" busy={signIn.isPending} onClick={() => signIn.mutate()}>
          {texts.continue}
        </Button>
      )}
    </Doorway>
  );
}
