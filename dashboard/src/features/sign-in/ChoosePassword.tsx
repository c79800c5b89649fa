// The step after a link: the person chooses a password, or does it later.
import { useMutation } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import { Problem } from "@/api/problem";
import { setPassword } from "@/api/signIn";
import type { Me } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { paths } from "@/lib/paths";
import { signIn as texts } from "@/texts/en/sign-in";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { Doorway } from "./Doorway";

export function ChoosePassword({ person }: { person: Me }) {
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
