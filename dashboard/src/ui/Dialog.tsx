// Dialogs, and sheets that enter from the bottom on phones and from the right elsewhere.
import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { type ReactNode, useRef } from "react";
import { cx } from "@/lib/classes";
import { common } from "@/texts/en/common";

type Props = {
  open: boolean;
  onClose: () => void;
  title: string;
  description?: ReactNode;
  /** Red edge: the action takes something from somebody. */
  danger?: boolean;
  children?: ReactNode;
  actions?: ReactNode;
};

const BACKDROP = "sheet-motion fixed inset-0 bg-sunken/80 data-ending-style:opacity-0 data-starting-style:opacity-0";

const DIALOG =
  "sheet-motion fixed inset-x-0 bottom-0 max-h-[92dvh] overflow-y-auto md:inset-x-auto md:top-[12vh] md:bottom-auto md:left-1/2 md:w-[480px] md:-translate-x-1/2 data-ending-style:opacity-0 data-starting-style:opacity-0";

const SHEET =
  "sheet-motion fixed inset-x-0 bottom-0 max-h-[92dvh] overflow-y-auto md:inset-y-0 md:right-0 md:left-auto md:max-h-none md:w-[420px] data-ending-style:translate-y-full data-starting-style:translate-y-full md:data-ending-style:translate-x-full md:data-ending-style:translate-y-0 md:data-starting-style:translate-x-full md:data-starting-style:translate-y-0";

const FIRST = "input:not([type=checkbox]), textarea, select, button[type=submit], [data-actions] button";

function Overlay({ open, onClose, title, description, danger, children, actions, place }: Props & { place: string }) {
  const popup = useRef<HTMLDivElement>(null);
  return (
    <Base.Root open={open} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={BACKDROP} />
        <Base.Popup
          ref={popup}
          // Enter has to do what the dialog is for, and not close it.
          initialFocus={() => popup.current?.querySelector<HTMLElement>(FIRST) ?? true}
          className={cx(
            "door flex flex-col gap-4 border bg-raised p-4 text-ink shadow-raised md:p-6",
            danger ? "border-t-4 border-line border-t-red" : "border-line",
            place,
          )}
        >
          <div className="flex items-start gap-4">
            <Base.Title className="flex-1 text-20">{title}</Base.Title>
            <Base.Close
              aria-label={common.close}
              className="-mt-1 -mr-1 grid size-row place-items-center rounded-6 hover:bg-sunken"
            >
              <X aria-hidden size={18} />
            </Base.Close>
          </div>
          {description && <Base.Description className="text-ink2">{description}</Base.Description>}
          {children}
          {actions && (
            <div data-actions="" className="flex flex-wrap gap-2 max-md:*:flex-1">
              {actions}
            </div>
          )}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

export function Dialog(props: Props) {
  return <Overlay {...props} place={DIALOG} />;
}

export function Sheet(props: Props) {
  return <Overlay {...props} place={SHEET} />;
}
