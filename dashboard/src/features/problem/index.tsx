// Failures as panels and messages: the texts by kind, and the requests that the server suggests as buttons.
import { useMutation } from "@tanstack/react-query";
import { sendSuggested } from "@/api/client";
import { Problem, type SuggestedRequest } from "@/api/problem";
import { suggested } from "@/texts/en/problem";
import { shell } from "@/texts/en/shell";
import { Button, buttonClass } from "@/ui/Button";
import { ErrorPanel } from "@/ui/ErrorPanel";
import { Link } from "@/ui/Link";
import { showToast } from "@/ui/toasts";
import { describe } from "./describe";

export { describe };

export function showProblem(error: unknown): void {
  const { title, text } = describe(error);
  showToast({ title, text, tone: "bad" });
}

type Props = { error: unknown; onRetry?: () => void; onDone?: () => void };

export function ProblemPanel({ error, onRetry, onDone }: Props) {
  const requests = error instanceof Problem ? error.actions.filter(({ action }) => action !== "force_claim") : [];
  const actions =
    requests.length > 0 &&
    requests.map((request) => <Suggested key={request.action} request={request} onDone={onDone} />);
  const isMissing = error instanceof Problem && error.kind === "missing";
  const toStart = isMissing && (
    <Link to="/" className={buttonClass()}>
      {shell.toStart}
    </Link>
  );
  return <ErrorPanel failure={describe(error)} onRetry={onRetry} actions={actions || toStart || undefined} />;
}

function Suggested({ request, onDone }: { request: SuggestedRequest; onDone?: () => void }) {
  const send = useMutation({ mutationFn: () => sendSuggested(request), onSuccess: onDone, onError: showProblem });
  const label = suggested[request.action];
  if (!label) return null;
  return (
    <Button look="primary" busy={send.isPending} onClick={() => send.mutate()}>
      {label}
    </Button>
  );
}
