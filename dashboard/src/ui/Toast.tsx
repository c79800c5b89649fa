// The region that shows messages, at the bottom of the screen and above the phone's navigation.
import { Toast as Base } from "@base-ui/react/toast";
import { CircleCheck, CircleX, X } from "lucide-react";
import { useEffect } from "react";
import { common } from "@/texts/en/common";
import { listenForToasts } from "./toasts";

const TIMEOUT = 6_000;

export function ToastRegion() {
  return (
    <Base.Provider timeout={TIMEOUT} limit={3}>
      <Listener />
      <Base.Portal>
        <Base.Viewport className="fixed right-4 bottom-4 z-20 flex w-[min(360px,calc(100vw-32px))] flex-col gap-2 max-md:right-4 max-md:bottom-20">
          <Toasts />
        </Base.Viewport>
      </Base.Portal>
    </Base.Provider>
  );
}

function Listener() {
  const { add } = Base.useToastManager();
  useEffect(
    () =>
      listenForToasts((toast) => {
        add({
          title: toast.title,
          description: toast.text,
          type: toast.tone ?? "good",
          priority: toast.tone === "bad" ? "high" : "low",
          actionProps: toast.action && { children: toast.action.label, onClick: toast.action.onSelect },
        });
      }),
    [add],
  );
  return null;
}

function Toasts() {
  const { toasts } = Base.useToastManager();
  return toasts.map((toast) => (
    <Base.Root
      key={toast.id}
      toast={toast}
      className="sheet-motion door flex items-start gap-3 border border-line bg-raised p-3 text-ink shadow-raised data-ending-style:opacity-0 data-starting-style:opacity-0"
    >
      {toast.type === "bad" ? (
        <CircleX aria-hidden size={18} className="mt-px shrink-0 text-red" />
      ) : (
        <CircleCheck aria-hidden size={18} className="mt-px shrink-0 text-green" />
      )}
      <div className="min-w-0 flex-1">
        <Base.Title className="text-14 font-strong" />
        <Base.Description className="text-13 text-ink2" />
        {toast.actionProps && <Base.Action className="mt-1 text-13 font-strong text-brand underline" />}
      </div>
      <Base.Close aria-label={common.close} className="rounded-4 p-0.5 hover:bg-sunken">
        <X aria-hidden size={16} />
      </Base.Close>
    </Base.Root>
  ));
}
