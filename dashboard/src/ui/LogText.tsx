// Text of a log within a page: only ever a text node, isolated so that no character in it reorders what is around it.
import { visible } from "@/lib/visible";

export function LogText({ text }: { text: string }) {
  return (
    <bdi dir="ltr" className="whitespace-pre-wrap wrap-anywhere">
      {visible(text)}
    </bdi>
  );
}
