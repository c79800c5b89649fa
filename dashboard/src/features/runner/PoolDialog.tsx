// Change a pool: the network of its steps, and which jobs it takes.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { pipelinesQuery } from "@/api/pipeline";
import { Problem } from "@/api/problem";
import { updateRunnerPool } from "@/api/runner";
import type { Network, RunnerPool } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { runner as texts } from "@/texts/en/runner";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { Field, Select } from "@/ui/Field";
import { Ticks } from "@/ui/Ticks";
import { showToast } from "@/ui/toasts";
import { poolChangeOf, poolFormOf } from "./form";

const NETWORKS: readonly Network[] = ["none", "bridge", "host"];

export function PoolDialog({ org, pool, onClose }: { org: string; pool: RunnerPool; onClose: () => void }) {
  const queries = useQueryClient();
  const pipelines = useQuery(pipelinesQuery(org));
  const [form, setForm] = useState(() => poolFormOf(pool));
  const [isTouched, setTouched] = useState(false);
  const isEmpty = form.pipelines?.length === 0;
  const save = useMutation({
    mutationFn: () => updateRunnerPool(org, pool.name, poolChangeOf(pool, form)),
    onSuccess: () => {
      onClose();
      showToast({ title: texts.saved(pool.name) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.pools(org) }),
  });
  const problem = save.error instanceof Problem ? save.error : undefined;
  return (
    <Dialog open onClose={onClose} title={texts.editTitle(pool.name)}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTouched(true);
          if (!isEmpty && !save.isPending) save.mutate();
        }}
      >
        <Select
          label={texts.network}
          value={form.network}
          onChange={(event) => setForm({ ...form, network: event.target.value as Network })}
        >
          {NETWORKS.map((network) => (
            <option key={network} value={network}>
              {texts.networks[network]}
            </option>
          ))}
        </Select>
        <Select
          label={texts.pipelines}
          value={form.pipelines ? "some" : "all"}
          onChange={(event) => setForm({ ...form, pipelines: event.target.value === "all" ? undefined : [] })}
        >
          <option value="all">{texts.allPipelines}</option>
          <option value="some">{texts.somePipelines}</option>
        </Select>
        {form.pipelines && (
          <Ticks
            legend={texts.somePipelines}
            error={isTouched && isEmpty ? texts.pipelinesRequired : undefined}
            ticks={(pipelines.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
            values={form.pipelines}
            onChange={(chosen) => setForm({ ...form, pipelines: chosen })}
          />
        )}
        <Field
          label={texts.environments}
          hint={texts.environmentsHint}
          error={problem?.field("/environments")}
          className="font-mono"
          value={form.environments}
          onChange={(event) => setForm({ ...form, environments: event.target.value })}
        />
        {save.error && <ProblemPanel error={save.error} />}
        <Button type="submit" look="primary" busy={save.isPending} className="self-start max-md:w-full">
          {texts.save}
        </Button>
      </form>
    </Dialog>
  );
}
