// Pages for an address that leads nowhere, and for a failure of the dashboard itself.
import type { ReactNode } from "react";
import type { ErrorComponentProps } from "@tanstack/react-router";
import { isMissingChunk } from "@/lib/lazily";
import { shell } from "@/texts/en/shell";
import { Button, buttonClass } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { ErrorPanel } from "@/ui/ErrorPanel";
import { Link } from "@/ui/Link";

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
    <main className="px-4 md:px-7">
      <NotThere />
    </main>
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
