// The dialog that is open on the board. It is loaded when the first one is opened.
import type { Session } from "@/api/types";
import { AskDialog } from "./AskDialog";
import { ClaimDialog } from "./ClaimDialog";
import { DeployDialog } from "./DeployDialog";
import { ForceSheet } from "./ForceSheet";
import { ReleaseDialog } from "./ReleaseDialog";
import type { OpenDialog } from "./useActions";
import { idOf, type Shown, type Viewer } from "./view";

export type DialogProps = {
  org: string;
  pipeline: string;
  environment: Shown;
  viewer: Viewer;
  onDone: (session: Session | undefined) => void;
  onClose: () => void;
};

type Props = Omit<DialogProps, "onClose"> & {
  dialog: OpenDialog;
  onChange: (dialog: OpenDialog | undefined) => void;
};

export function BoardDialog({ dialog, environment, onChange, ...rest }: Props) {
  const props = { ...rest, environment, onClose: () => onChange(undefined) };
  switch (dialog.kind) {
    case "claim":
      return <ClaimDialog {...props} />;
    case "deploy":
      return <DeployDialog {...props} />;
    case "ask":
      return <AskDialog {...props} onForce={() => onChange({ kind: "force", env: idOf(environment) })} />;
    case "force":
      return <ForceSheet {...props} />;
    case "release":
      return <ReleaseDialog {...props} />;
  }
}
