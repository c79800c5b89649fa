// The page of a sign-in link. The code is in the fragment, which browsers do not send, and is removed from the
// address at once. The person presses a button, so that no page can sign somebody in unnoticed.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useEffect, useState, type ReactNode } from "react";
import { Problem } from "@/api/problem";
import { setPassword, signInWithLink } from "@/api/signIn";
import type { Me } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { paths } from "@/lib/paths";
import { signIn as texts } from "@/texts/en/sign-in";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
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

function ChoosePassword({ person }: { person: Me }) {
  const router = useRouter();
  const [password, setValue] = useState("");
  const goOn = () => router.history.replace(paths.home(person.organizationSlug));
  const save = useMutation({ mutationFn: () => setPassword({ newPassword: password }), onSuccess: goOn });
  const problem = save.error instanceof Problem ? save.error : undefined;
  const fieldProblem = problem?.field("/newPassword");
  return (
    <Doorway title={texts.choosePassword}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (!save.isPending) save.mutate();
        }}
      >
        <p className="text-ink2">{texts.choosePasswordText}</p>
        <Field
          label={texts.newPassword}
          type="password"
          autoComplete="new-password"
          minLength={12}
          maxLength={128}
          required
          hint={texts.passwordHint}
          error={fieldProblem}
          value={password}
          onChange={(event) => setValue(event.target.value)}
        />
        {save.error && !fieldProblem && <ProblemPanel error={save.error} />}
        <div className="flex gap-2">
          <Button type="submit" look="primary" busy={save.isPending}>
            {texts.save}
          </Button>
          <Button look="quiet" onClick={goOn}>
            {texts.later}
          </Button>
        </div>
      </form>
    </Doorway>
  );
}
