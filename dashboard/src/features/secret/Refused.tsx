// Shown instead of the secrets to roles without permission: names the roles that have it.
import { ProblemPanel } from "@/features/problem";
import { secret as texts } from "@/texts/en/secret";
import { PageHead } from "@/ui/Page";

export function Refused({ error }: { error: unknown }) {
  return (
    <>
      <PageHead title={texts.title} />
      <ProblemPanel error={error} />
      <p className="mt-4 text-ink2">{texts.refusedText}</p>
    </>
  );
}
