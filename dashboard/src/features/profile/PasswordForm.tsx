// Set or change the password. All other browsers are signed out.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";
import { setPassword } from "@/api/signIn";
import { ProblemPanel } from "@/features/problem";
import { profile as texts } from "@/texts/en/profile";
import { signIn } from "@/texts/en/sign-in";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { showToast } from "@/ui/toasts";
import { Section } from "./Section";

export function PasswordForm() {
  const queries = useQueryClient();
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const save = useMutation({
    mutationFn: () => setPassword({ currentPassword: current || undefined, newPassword: next }),
    gcTime: 0,
    onSuccess: ({ ended }) => {
      setCurrent("");
      setNext("");
      void queries.invalidateQueries({ queryKey: keys.browserSessions });
      showToast({ title: texts.passwordChanged(ended.length) });
    },
  });
  const problem = save.error instanceof Problem ? save.error : undefined;
  const currentProblem = problem?.field("/currentPassword");
  const nextProblem = problem?.field("/newPassword");
  return (
    <Section title={texts.password} text={texts.passwordText}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (!save.isPending) save.mutate();
        }}
      >
        <Field
          label={texts.currentPassword}
          hint={texts.currentHint}
          type="password"
          autoComplete="current-password"
          maxLength={128}
          error={currentProblem}
          value={current}
          onChange={(event) => setCurrent(event.target.value)}
        />
        <Field
          label={texts.newPassword}
          hint={signIn.passwordHint}
          type="password"
          autoComplete="new-password"
          required
          minLength={12}
          maxLength={128}
          error={nextProblem}
          value={next}
          onChange={(event) => setNext(event.target.value)}
        />
        {save.error && !currentProblem && !nextProblem && <ProblemPanel error={save.error} />}
        <Button type="submit" busy={save.isPending} className="self-start max-md:w-full">
          {texts.changePassword}
        </Button>
      </form>
    </Section>
  );
}
