// The dialog to deploy a commit, for other features. It is loaded when it is opened.
import { lazy, Suspense } from "react";
import type { DialogProps } from "./BoardDialog";

const DeployDialog = lazy(() => import("./DeployDialog").then(({ DeployDialog: dialog }) => ({ default: dialog })));

export function DeployAnywhere(props: DialogProps) {
  return (
    <Suspense>
      <DeployDialog {...props} />
    </Suspense>
  );
}
