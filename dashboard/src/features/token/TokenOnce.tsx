// The secret of a new token, once, with a request that works.
import { token as texts } from "@/texts/en/token";
import { Button } from "@/ui/Button";
import { Copyable } from "@/ui/Copyable";
import { Dialog } from "@/ui/Dialog";

export function TokenOnce({ org, secret, onClose }: { org: string; secret: string | undefined; onClose: () => void }) {
  const done = (
    <Button look="primary" onClick={onClose}>
      {texts.done}
    </Button>
  );
  if (!secret) return <Dialog open onClose={onClose} title={texts.once} description={texts.lost} actions={done} />;
  const request = `curl -H "Authorization: Bearer ${secret}" ${location.origin}/api/v1/organizations/${org}/me`;
  return (
    <Dialog open onClose={onClose} title={texts.once} description={texts.onceText} actions={done}>
      <Copyable text={secret} label={texts.once} />
      <Copyable text={request} label={texts.try} />
    </Dialog>
  );
}
