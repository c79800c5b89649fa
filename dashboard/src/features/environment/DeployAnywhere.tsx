// The dialog to deploy a commit, for other features. It is loaded when it is opened.
import { Suspense } from "react";
import { lazily } from "@/lib/lazily";
import type { DialogProps } from "./BoardDialog";

const DeployDialog = lazily(() => import("./DeployDialog"), "DeployDialog");

export function DeployAnywhere(props: DialogProps) {
  return (
    <Suspense>
      <DeployDialog {...props} />
    </Suspense>
  );
}
