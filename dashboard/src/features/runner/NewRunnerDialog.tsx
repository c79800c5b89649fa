// Create a runner. Its token is shown once and kept nowhere: neither in the cache nor in storage.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { createRunner, runnersQuery } from "@/api/runner";
import type { RunnerPool } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { runner as texts } from "@/texts/en/runner";
import { StateMark } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Copyable } from "@/ui/Copyable";
import { Dialog } from "@/ui/Dialog";
import { Field } from "@/ui/Field";
import { runnerState } from "@/ui/state";
import { commandOf, isPoolName } from "./form";

type Props = { org: string; pools: readonly RunnerPool[]; onClose: () => void };

export function NewRunnerDialog({ org, pools, onClose }: Props) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [pool, setPool] = useState(pools[0]?.name ?? "default");
  const [isTouched, setTouched] = useState(false);
  const create = useMutation({
    mutationFn: () => createRunner(org, { name: name.trim(), pool }),
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: keys.runners(org) });
      void queries.invalidateQueries({ queryKey: keys.pools(org) });
    },
    gcTime: 0,
  });
  const isNameless = name.trim() === "";
  if (create.data)
    return <RunnerOnce org={org} id={create.data.id} token={create.data.token ?? undefined} onClose={onClose} />;
  return (
    <Dialog open onClose={onClose} title={texts.create}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTouched(true);
          if (!isNameless && isPoolName(pool) && !create.isPending) create.mutate();
        }}
      >
        <Field
          label={texts.name}
          hint={texts.nameHint}
          maxLength={200}
          error={isTouched && isNameless ? texts.nameRequired : undefined}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <Field
          label={texts.pool}
          hint={texts.poolHint}
          maxLength={63}
          list="runner-pools"
          error={isTouched && !isPoolName(pool) ? texts.poolInvalid : undefined}
          value={pool}
          onChange={(event) => setPool(event.target.value.trim())}
        />
        <datalist id="runner-pools">
          {pools.map((known) => (
            <option key={known.id} value={known.name}>
              {known.name}
            </option>
          ))}
        </datalist>
        {create.error && <ProblemPanel error={create.error} />}
        <Button type="submit" look="primary" busy={create.isPending} className="self-start max-md:w-full">
          {texts.create}
        </Button>
      </form>
    </Dialog>
  );
}

type OnceProps = { org: string; id: string; token: string | undefined; onClose: () => void };

function RunnerOnce({ org, id, token, onClose }: OnceProps) {
  const runner = useQuery(runnersQuery(org)).data?.find((known) => known.id === id);
  const done = (
    <Button look="primary" onClick={onClose}>
      {texts.done}
    </Button>
  );
  if (!token) return <Dialog open onClose={onClose} title={texts.once} description={texts.lost} actions={done} />;
  return (
    <Dialog open onClose={onClose} title={texts.once} description={texts.onceText} actions={done}>
      <Copyable text={token} label={texts.token} />
      <Copyable text={commandOf(location.origin)} label={texts.command} />
      <p role="status" className="text-13 text-ink2">
        {runner?.lastSeenAt ? <StateMark state={runnerState("online")} word={texts.wasSeen} /> : texts.notSeen}
      </p>
    </Dialog>
  );
}
