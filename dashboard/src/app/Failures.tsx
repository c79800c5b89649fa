// Pages for an address that leads nowhere, and for a failure of the dashboard itself.
import type { ReactNode } from "react";
import type { ErrorComponentProps } from "@tanstack/react-router";
import { Problem } from "@/api/problem";
import { ProblemPanel } from "@/features/problem";
import { isMissingChunk } from "@/lib/lazily";
import { shell } from "@/texts/en/shell";
import { Button, buttonClass } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { ErrorPanel } from "@/ui/ErrorPanel";
import { Link } from "@/ui/Link";
import { PageHead } from "@/ui/Page";
import { BarePage } from "./BarePage";

/** Below an organization the shell stands around it, and has the landmark. */
export function NotThere(): ReactNode {
  return (
    <div className="py-4">
      <Empty
        page
        title={shell.notThere}
        text={shell.notThereText}
        action={
          <Link to="/" className={buttonClass()}>
            {shell.toStart}
          </Link>
        }
      />
    </div>
  );
}

export function NoPage(): ReactNode {
  return (
    <BarePage>
      <NotThere />
    </BarePage>
  );
}

/** The organization could not be read: there is none, or the server does not respond. */
export function NoOrganization({ org, error, onRetry }: { org: string; error: unknown; onRetry: () => void }) {
  if (error instanceof Problem && error.kind === "missing") return <NoPage />;
  return (
    <BarePage>
      <PageHead title={org} />
      <ProblemPanel error={error} onRetry={onRetry} />
    </BarePage>
  );
}

export function Crash({ error }: ErrorComponentProps): ReactNode {
  const failure = isMissingChunk(error)
    ? { title: shell.updated, text: shell.updatedText }
    : { title: shell.crashed, text: shell.crashedText, code: error instanceof Error ? error.name : undefined };
  const reload = <Button onClick={() => location.reload()}>{shell.reload}</Button>;
  return (
    <main className="p-4 md:p-7">
      <ErrorPanel failure={failure} actions={reload} />
    </main>
  );
}
