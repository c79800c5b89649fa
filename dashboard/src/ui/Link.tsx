// A link within the dashboard. It takes an address of `lib/paths.ts`; new tabs and other keys work as in the browser.
import { useRouter } from "@tanstack/react-router";
import type { ComponentProps } from "react";

type Props = Omit<ComponentProps<"a">, "href"> & { to: string };

export function Link({ to, onClick, target, ...rest }: Props) {
  const router = useRouter();
  return (
    <a
      {...rest}
      href={to}
      target={target}
      onClick={(event) => {
        onClick?.(event);
        const isOwn =
          event.button === 0 && !target && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
        if (event.defaultPrevented || !isOwn) return;
        event.preventDefault();
        router.history.push(to);
      }}
    />
  );
}

/** A link to another site, such as an environment's own page. Only `http` and `https` become links. */
export function OuterLink({ href, children, ...rest }: Omit<ComponentProps<"a">, "target" | "rel"> & { href: string }) {
  if (!/^https?:\/\//i.test(href)) return <span>{children}</span>;
  return (
    <a {...rest} href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}
