// The page of the link that a server prints while there is no organization: the first owner creates the first one. The
// code is in the URL fragment, which browsers do not send to servers, and is removed from the address bar immediately.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import { Problem } from "@/api/problem";
import { setUp } from "@/api/signIn";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { paths } from "@/lib/paths";
import { signIn as texts } from "@/texts/en/sign-in";
import { Button, buttonClass } from "@/ui/Button";
import { CodeField, Field } from "@/ui/Field";
import { Link } from "@/ui/Link";
import { ChoosePassword } from "./ChoosePassword";
import { Doorway } from "./Doorway";
import { fieldProblems, outcomeOf, slugOf } from "./setUpForm";

export function SetUp(): ReactNode {
  useTitle(texts.setUp);
  const queries = useQueryClient();
  const [code] = useState(() => location.hash.slice(1));
  useEffect(() => history.replaceState(history.state, "", paths.setUp()), []);
  const create = useMutation({
    mutationFn: (fields: Fields) => setUp({ code, ...fields }),
    onSuccess: () => queries.clear(),
  });
  if (create.data) return <ChoosePassword person={create.data} />;
  const outcome = code === "" ? "incomplete" : outcomeOf(create.error);
  return (
    <Doorway title={texts.setUp}>
      <p className="text-ink2">{TEXTS[outcome]}</p>
      {outcome === "taken" && (
        <Link to={paths.signIn()} className={buttonClass("primary")}>
          {texts.title}
        </Link>
      )}
      {outcome === "open" && <Form error={create.error} busy={create.isPending} onSubmit={create.mutate} />}
    </Doorway>
  );
}

const TEXTS = {
  open: texts.setUpText,
  incomplete: texts.setUpNoCode,
  expired: texts.setUpExpired,
  taken: texts.setUpTaken,
};

type Fields = { organizationName: string; organizationSlug: string; name: string; email: string };

function Form({ error, busy, onSubmit }: { error: unknown; busy: boolean; onSubmit: (fields: Fields) => void }) {
  const [organizationName, setOrganizationName] = useState("");
  const [slug, setSlug] = useState<string>();
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const organizationSlug = slug ?? slugOf(organizationName);
  const problems = fieldProblems(error instanceof Problem ? error : undefined);
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy) onSubmit({ organizationName, organizationSlug, name, email: email.trim() });
      }}
    >
      <Field
        label={texts.organizationName}
        maxLength={100}
        autoComplete="organization"
        required
        value={organizationName}
        error={problems.organizationName}
        onChange={(event) => setOrganizationName(event.target.value)}
      />
      <CodeField
        label={texts.organizationSlug}
        maxLength={63}
        required
        hint={texts.organizationSlugHint}
        value={organizationSlug}
        error={problems.organizationSlug}
        onChange={(event) => setSlug(event.target.value)}
      />
      <Field
        label={texts.yourName}
        maxLength={100}
        autoComplete="name"
        required
        value={name}
        error={problems.name}
        onChange={(event) => setName(event.target.value)}
      />
      <Field
        label={texts.yourEmail}
        type="email"
        maxLength={254}
        autoComplete="username"
        required
        hint={texts.yourEmailHint}
        value={email}
        error={problems.email}
        onChange={(event) => setEmail(event.target.value)}
      />
      {error !== null && !problems.isShown && <ProblemPanel error={error} />}
      <Button type="submit" look="primary" busy={busy}>
        {texts.createOrganization}
      </Button>
    </form>
  );
}
