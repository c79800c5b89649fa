// Buttons, fields and overlays.
import { useState } from "react";
import { Button } from "@/ui/Button";
import { Dialog, Sheet } from "@/ui/Dialog";
import { Field, Filter, Select, TextArea } from "@/ui/Field";
import { Kbd } from "@/ui/Lamp";
import { Menu } from "@/ui/Menu";
import { Popover } from "@/ui/Popover";
import { showToast } from "@/ui/toasts";
import { Section } from "./Section";

export function Buttons() {
  return (
    <Section title="Buttons">
      <div className="flex flex-wrap items-center gap-2">
        <Button look="primary">Claim</Button>
        <Button>Renew</Button>
        <Button look="quiet">Cancel</Button>
        <Button look="danger">Take over by force</Button>
        <Button look="primary" busy>
          Deploying
        </Button>
        <Button why="You are a viewer">Release</Button>
        <Kbd>Shift F</Kbd>
      </div>
    </Section>
  );
}

export function Fields() {
  return (
    <Section title="Fields">
      <div className="grid max-w-md gap-3">
        <Filter label="Filter by name, holder, label" />
        <Field label="Commit" hint="7 to 64 hexadecimal digits" placeholder="9f3c2a1" />
        <Field label="Commit" error="A commit has at least 7 digits" defaultValue="9f3" />
        <TextArea label="What for?" />
        <Select label="For how long">
          <option>4 h</option>
          <option>8 h</option>
        </Select>
      </div>
    </Section>
  );
}

export function Overlays() {
  const [open, setOpen] = useState<"dialog" | "sheet" | undefined>();
  const close = () => setOpen(undefined);
  return (
    <Section title="Overlays">
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => setOpen("dialog")}>Dialog</Button>
        <Button onClick={() => setOpen("sheet")}>Sheet</Button>
        <Popover trigger={<Button>Popover</Button>} title="Claim load-1">
          <Field label="Commit" />
          <Button look="primary">Claim</Button>
        </Popover>
        <Menu
          trigger={<Button />}
          items={[
            { label: "Give to", onSelect: close },
            { label: "Take over by force", onSelect: close, danger: true },
            { label: "Release", onSelect: close, why: "not yours" },
          ]}
        >
          Menu
        </Menu>
        <Button onClick={() => showToast({ title: "qa-1 is yours", text: "Until 18:04" })}>Message</Button>
        <Button onClick={() => showToast({ title: "Not allowed", text: "You are a viewer.", tone: "bad" })}>
          Failure
        </Button>
      </div>
      <Dialog open={open === "dialog"} onClose={close} title="Keys" description="All keys of this page.">
        <p>Content</p>
      </Dialog>
      <Sheet
        open={open === "sheet"}
        onClose={close}
        danger
        title="Take over qa-1"
        description="Maya holds qa-1 since 14:12. She reads your reason."
        actions={<Button look="danger">Take over</Button>}
      >
        <TextArea label="Reason" />
      </Sheet>
    </Section>
  );
}
