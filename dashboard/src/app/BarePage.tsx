// The frame of a page outside of an organization: the name of the product, and the landmark.
import type { ReactNode } from "react";
import { Link } from "@/ui/Link";
import { Logo } from "./shell/Logo";

export function BarePage({ children }: { children: ReactNode }) {
  return (
    <div className="mx-auto w-full max-w-[1360px] px-4 md:px-7">
      <header className="py-4">
        <Link to="/" className="inline-flex items-center gap-2">
          <Logo />
        </Link>
      </header>
      <main>{children}</main>
    </div>
  );
}
