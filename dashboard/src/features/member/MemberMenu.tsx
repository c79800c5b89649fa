// What an admin can do with a member.
import { Ellipsis } from "lucide-react";
import type { Me, Member } from "@/api/types";
import { member as texts } from "@/texts/en/member";
import { Menu } from "@/ui/Menu";
import type { OpenMember } from "./MemberDialog";

type Props = { me: Me; member: Member; onOpen: (open: OpenMember) => void };

export function MemberMenu({ me, member, onOpen }: Props) {
  const why = member.role === "owner" && me.role !== "owner" ? texts.ownersOnly : undefined;
  return (
    <Menu
      className="relative ml-auto grid size-row place-items-center rounded-6 hover:bg-sunken"
      label={texts.actions(member.name)}
      items={[
        { label: texts.changeRole, why, onSelect: () => onOpen({ kind: "role", member }) },
        { label: texts.link, onSelect: () => onOpen({ kind: "link", member }) },
        { label: texts.remove, why, danger: !why, onSelect: () => onOpen({ kind: "remove", member }) },
      ]}
    >
      <Ellipsis aria-hidden size={18} />
    </Menu>
  );
}
