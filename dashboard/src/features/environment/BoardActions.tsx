// The actions of the whole board.
import { Suspense, useState } from "react";
import type { Environment } from "@/api/types";
import { lazily } from "@/lib/lazily";
import { hasRole } from "@/lib/roles";
import { environment as texts } from "@/texts/en/environment";
import { Button } from "@/ui/Button";
import type { Verb } from "./actions";
import { longestFree, type Viewer } from "./view";

const DeployPipelineDialog = lazily(() => import("./DeployPipelineDialog"), "DeployPipelineDialog");

type Props = {
  org: string;
  pipeline: string;
  environments: readonly Environment[];
  viewer: Viewer;
  onAct: (verb: Verb, env: string) => void;
};

export function BoardActions({ org, pipeline, environments, viewer, onAct }: Props) {
  const [isDeploying, setDeploying] = useState(false);
  const free = longestFree(environments);
  const role = hasRole(viewer.role, "developer") ? undefined : texts.viewer;
  return (
    <>
      <Button why={role} onClick={() => setDeploying(true)}>
        {texts.deployPipeline}
      </Button>
      <Button
        look="primary"
        why={role ?? (free ? undefined : texts.isFull)}
        onClick={() => free && onAct("claim", free.envName)}
      >
        {texts.claimAny}
      </Button>
      <Suspense>
        {isDeploying && <DeployPipelineDialog org={org} pipeline={pipeline} onClose={() => setDeploying(false)} />}
      </Suspense>
    </>
  );
}
