// The dialog of the action that was chosen on a board or on the page of an environment, if one is open.
import { Suspense } from "react";
import { lazily } from "@/lib/lazily";
import type { Target, useActions } from "./useActions";
import type { Viewer } from "./view";

const BoardDialog = lazily(() => import("./BoardDialog"), "BoardDialog");

type Props = {
  org: string;
  actions: ReturnType<typeof useActions>;
  find: (env: string) => Target | undefined;
  viewer: Viewer;
};

export function ActionDialog({ org, actions, find, viewer }: Props) {
  const { dialog, setDialog, settle } = actions;
  const target = dialog && find(dialog.env);
  return (
    <Suspense>
      {dialog && target && (
        <BoardDialog
          org={org}
          pipeline={target.pipeline}
          dialog={dialog}
          environment={target.environment}
          viewer={viewer}
          onDone={(session) => settle(target.pipeline, session)}
          onChange={setDialog}
        />
      )}
    </Suspense>
  );
}
