// Approves on the second press. The parent passes the digest as the React key, so a changed subject resets the first press.
import { useEffect, useState } from "react";
import { approval as texts } from "@/texts/en/approval";
import { Button } from "@/ui/Button";

/** How long the first press counts, in milliseconds. */
const ARMED_TIME = 6_000;
/** A double click is one press. */
const MIN_DELAY = 400;

type Props = { commit: string; why: string | undefined; busy: boolean; onApprove: () => void };

export function ApproveButton({ commit, why, busy, onApprove }: Props) {
  const [armedAt, setArmedAt] = useState<number | undefined>();
  const isArmed = armedAt !== undefined;
  useEffect(() => {
    if (armedAt === undefined) return undefined;
    const timer = setTimeout(() => setArmedAt(undefined), ARMED_TIME);
    return () => clearTimeout(timer);
  }, [armedAt]);
  const press = () => {
    if (armedAt === undefined) return setArmedAt(performance.now());
    if (performance.now() - armedAt < MIN_DELAY) return;
    setArmedAt(undefined);
    onApprove();
  };
  return (
    <>
      <Button look="primary" why={why} busy={busy} onClick={press} onBlur={() => setArmedAt(undefined)}>
        {isArmed ? texts.approveAgain(commit) : texts.approve}
      </Button>
      <span role="status" className="sr-only">
        {isArmed && texts.armed}
      </span>
    </>
  );
}
