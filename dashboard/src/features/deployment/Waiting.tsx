// What a deployment waits for, one sentence each, and until when.
import type { Deployment } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { useNow } from "@/lib/ticker";
import { waitingSentence } from "@/texts/en/deployment";
import { deployment as texts } from "@/texts/en/deployments";
import { clock } from "@/texts/en/time";

export function Waiting({ deployment }: { deployment: Deployment }) {
  const now = useNow("half-minute");
  const deadline = timeOf(deployment.deadlineAt);
  if (deployment.waitingOn.length === 0) return null;
  return (
    <ul className="mb-4 rounded-6 bg-amber-soft px-3 py-2 text-amber">
      {deployment.waitingOn.map((waiting, index) => (
        <li key={`${waiting.kind}-${index}`}>
          {waitingSentence(waiting, now)}
          {deadline !== undefined && index === 0 && (
            <span className="ml-2 font-mono text-12">{texts.deadline(clock(deadline, now))}</span>
          )}
        </li>
      ))}
    </ul>
  );
}
