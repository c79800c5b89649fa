// A menu of actions at its button.
import { Menu as Base } from "@base-ui/react/menu";
import type { ReactElement, ReactNode } from "react";
import { cx } from "@/lib/classes";

export type MenuItem = {
  /** Needed if two items can have the same label. */
  id?: string;
  label: string;
  onSelect: () => void;
  danger?: boolean;
  why?: string;
  checked?: boolean;
};

type Props = {
  trigger?: ReactElement;
  className?: string;
  children?: ReactNode;
  label?: string;
  items: readonly MenuItem[];
  align?: "start" | "end";
  onOpen?: () => void;
};

export function Menu({ trigger, className, children, label, items, align = "end", onOpen }: Props) {
  return (
    <Base.Root onOpenChange={(isOpen) => isOpen && onOpen?.()}>
      <Base.Trigger render={trigger} className={className}>
        {children}
        {label && <span className="sr-only">{label}</span>}
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner sideOffset={4} align={align} collisionPadding={8} className="z-10">
          <Base.Popup className="max-h-[70dvh] min-w-44 overflow-y-auto rounded-6 border border-line bg-raised p-1 text-ink shadow-raised">
            {items.map((item) => (
              <Base.Item
                key={item.id ?? item.label}
                disabled={Boolean(item.why)}
                onClick={item.onSelect}
                className={cx(
                  "flex min-h-row cursor-pointer items-center gap-2 rounded-4 px-2.5 text-13 outline-none data-disabled:text-ink3 data-highlighted:bg-sunken",
                  item.danger && "text-red",
                )}
              >
                <span className="flex-1">{item.label}</span>
                {item.checked && <span aria-hidden>✓</span>}
                {item.why && <span className="text-12 text-ink3">{item.why}</span>}
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
