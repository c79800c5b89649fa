// A popover at its button, for a short form or a few facts.
import { Popover as Base } from "@base-ui/react/popover";
import type { ReactElement, ReactNode } from "react";

type Props = {
  /** The button that opens it. */
  trigger: ReactElement;
  title: string;
  children: ReactNode;
  open?: boolean;
  onOpenChange?: (open: boolean) => void;
};

export function Popover({ trigger, title, children, open, onOpenChange }: Props) {
  return (
    <Base.Root open={open} onOpenChange={(isOpen) => onOpenChange?.(isOpen)}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} collisionPadding={8} className="z-10">
          <Base.Popup className="door flex w-[min(340px,calc(100vw-16px))] flex-col gap-3 border border-line bg-raised p-4 text-ink shadow-raised">
            <Base.Title className="text-16">{title}</Base.Title>
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
