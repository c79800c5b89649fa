// An empty list teaches one step.
import type { ReactNode } from "react";

type Props = {
  title: string;
  text?: ReactNode;
  action?: ReactNode;
  /** It is the whole page, and its title the page's. */
  page?: boolean;
};

export function Empty({ title, text, action, page = false }: Props) {
  const Title = page ? "h1" : "h2";
  return (
    <div className="door flex flex-col items-start gap-2 border border-dashed border-control p-6">
      <Title className="text-20">{title}</Title>
      {text && <div className="max-w-prose text-ink2">{text}</div>}
      {action && <div className="mt-2 flex flex-wrap gap-2">{action}</div>}
    </div>
  );
}
