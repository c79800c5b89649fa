// The frame of all screens: side bar, top bar, the page, and the bottom bar of phones.
import { useRouter, useRouterState } from "@tanstack/react-router";
import { type ReactNode, Suspense, useState } from "react";
import type { Me } from "@/api/types";
import { FreeWatch, MyNotices } from "@/features/notice";
import { useKeys } from "@/lib/keys";
import { lazily } from "@/lib/lazily";
import { common } from "@/texts/en/common";
import { BottomBar } from "./BottomBar";
import { LiveBar } from "./LiveLamp";
import { MAIN, ORGANIZATION } from "./navigation";
import { SideBar } from "./SideBar";
import { TopBar } from "./TopBar";

const KeyHelp = lazily(() => import("./KeyHelp"), "KeyHelp");

type Props = { org: string; me: Me; children: ReactNode };

export function Shell({ org, me, children }: Props) {
  const router = useRouter();
  const pathname = useRouterState({ select: (state) => state.location.pathname });
  const [isHelpOpen, setHelpOpen] = useState(false);
  const jumps = [...MAIN, ...ORGANIZATION].flatMap((entry) =>
    entry.key ? [[entry.key, () => router.history.push(entry.to(org))] as const] : [],
  );
  useKeys({ "Shift+?": () => setHelpOpen(true), "/": focusFilter, ...Object.fromEntries(jumps) });
  return (
    <div className="grid min-h-dvh grid-cols-[minmax(0,1fr)] md:grid-cols-[216px_minmax(0,1fr)]">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-30 focus:bg-raised focus:p-2"
      >
        {common.skipToContent}
      </a>
      <SideBar org={org} pathname={pathname} />
      <div className="flex min-w-0 flex-col">
        <LiveBar />
        <MyNotices org={org} userId={me.userId} />
        <FreeWatch org={org} />
        <div className="w-full max-w-[1360px] px-3.5 pt-3 pb-24 md:px-7 md:pt-5 md:pb-10">
          <TopBar org={org} me={me} pathname={pathname} onShowKeys={() => setHelpOpen(true)} />
          <main id="content" tabIndex={-1} className="outline-none">
            {children}
          </main>
        </div>
      </div>
      <BottomBar org={org} pathname={pathname} />
      <Suspense>{isHelpOpen && <KeyHelp onClose={() => setHelpOpen(false)} />}</Suspense>
    </div>
  );
}

function focusFilter(): void {
  document.querySelector<HTMLInputElement>("[data-filter]")?.focus();
}
