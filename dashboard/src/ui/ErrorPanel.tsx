// A request that failed or was refused: what happened, the code, the request id, and what to do about it.
import { CircleX, ShieldAlert } from "lucide-react";
import type { ReactNode } from "react";
import { common } from "@/texts/en/common";
import { Button } from "./Button";

export type Failure = { title: string; text: string; code?: string; requestId?: string; refused?: boolean };

type Props = { failure: Failure; onRetry?: () => void; actions?: ReactNode };

export function ErrorPanel({ failure, onRetry, actions }: Props) {
  const Icon = failure.refused ? ShieldAlert : CircleX;
  return (
    <div role="alert" className="flex gap-3 rounded-6 border border-line bg-raised p-4">
      <Icon
        aria-hidden
        size={20}
        className={failure.refused ? "mt-0.5 shrink-0 text-amber" : "mt-0.5 shrink-0 text-red"}
      />
      <div className="min-w-0">
        <h2 className="text-16">{failure.title}</h2>
        <p className="max-w-prose text-ink2">{failure.text}</p>
        {(failure.code || failure.requestId) && (
          <p className="mt-1 font-mono text-12 text-ink3">
            {failure.code}
            {failure.requestId && ` · ${common.requestId} ${failure.requestId}`}
          </p>
        )}
        {(onRetry || actions) && (
          <div className="mt-3 flex flex-wrap gap-2">
            {actions}
            {onRetry && <Button onClick={onRetry}>{common.tryAgain}</Button>}
          </div>
        )}
      </div>
    </div>
  );
}
