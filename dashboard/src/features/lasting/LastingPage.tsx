// One lasting environment: what is live, who keeps others out, and every deployment that has worked there.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Suspense, useState, type ReactNode } from "react";
import { lastingQuery } from "@/api/lasting";
import { meQuery } from "@/api/me";
import type { LastingEnvironment, Me } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { lazily } from "@/lib/lazily";
import { useNow } from "@/lib/ticker";
import { Badge } from "@/ui/Badge";
import { DetailColumns, PageHead } from "@/ui/Page";
import { SkeletonRows } from "@/ui/Skeleton";
import { lastingState } from "@/ui/state";
import { Gates } from "./Gates";
import { History } from "./History";
import { HoldButtons } from "./HoldButtons";
import { LastingFacts } from "./LastingFacts";
import type { OpenDialog } from "./LastingDialog";
import { LiveCard } from "./LiveCard";
import { holdOf, statesOf } from "./state";

const LastingDialog = lazily(() => import("./LastingDialog"), "LastingDialog");
const ROUTE = "/o/$org/pipelines/$pipeline/lasting/$name";

export function LastingPage(): ReactNode {
  const { org, pipeline, name } = useParams({ from: ROUTE });
  const environment = useQuery(lastingQuery({ org, pipeline, name }));
  const me = useQuery(meQuery(org)).data;
  useTitle(name, pipeline);
  if (environment.error && !environment.data)
    return <ProblemPanel error={environment.error} onRetry={() => void environment.refetch()} />;
  if (!environment.data || !me) return <SkeletonRows />;
  return <Loaded environment={environment.data} me={me} />;
}

function Loaded({ environment, me }: { environment: LastingEnvironment; me: Me }) {
  const at = useParams({ from: ROUTE });
  const now = useNow("half-minute");
  const [open, setOpen] = useState<OpenDialog | undefined>();
  const hold = holdOf(environment, now) ?? undefined;
  return (
    <>
      <PageHead
        title={environment.name}
        badge={
          <span className="flex gap-1.5 self-center">
            {statesOf(environment, now).map((state) => (
              <Badge key={state} state={lastingState(state)} />
            ))}
          </span>
        }
        actions={<HoldButtons hold={hold} me={me} onOpen={setOpen} />}
      />
      <Gates org={at.org} environment={environment} userId={me.userId} now={now} />
      <DetailColumns
        head={<LiveCard org={at.org} environment={environment} now={now} />}
        main={<History at={at} role={me.role} now={now} onRollBack={(entry) => setOpen({ kind: "rollBack", entry })} />}
        aside={<LastingFacts org={at.org} environment={environment} />}
      />
      <Suspense>
        {open && <LastingDialog at={at} open={open} hold={hold} now={now} onClose={() => setOpen(undefined)} />}
      </Suspense>
    </>
  );
}
