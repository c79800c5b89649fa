// Organization Settings > Groups.
import { plural } from "./number";

export const group = {
  title: "Groups",
  intro:
    "A group is a set of members. Definitions name groups that approve or deploy, and grants raise their role on a pipeline.",
  name: "Name",
  nameHint: "Small letters, digits and hyphens, such as release-managers",
  nameInvalid: "It begins with a small letter; then small letters, digits and hyphens, 63 at most.",
  description: "Description",
  created: "Since",
  create: "New group",
  createdToast: (name: string) => `${name} was created`,
  adminsOnly: "Admins change groups",
  emptyTitle: "No groups yet",
  emptyText: "Make a group of those who approve deployments to production, and name it in a definition.",
  edit: "Change",
  editTitle: (name: string) => `Change ${name}`,
  renameText:
    "Definitions that name the group are not changed: for them, nobody is in a group with the former name any more.",
  save: "Save",
  saved: (name: string) => `${name} was changed`,
  delete: "Delete",
  deleteTitle: (name: string) => `Delete ${name}?`,
  deleteText: (members: number) =>
    `${plural(members, "member")} lose${members === 1 ? "s" : ""} what its grants permit. A definition that names it has nobody to approve or deploy.`,
  deleted: (name: string) => `${name} was deleted`,
  deletedBar: "This group was deleted. It has neither members nor grants any more.",
  members: "Members",
  member: "Member",
  since: "Added",
  add: "Add a member",
  addLabel: "Member of the organization",
  choose: "Choose a person or a program",
  program: (name: string) => `${name} (service account)`,
  chooseRequired: "Choose one.",
  added: (name: string) => `${name} was added`,
  remove: "Remove",
  removeTitle: (name: string, from: string) => `Remove ${name} from ${from}?`,
  removeText: "What only a grant of the group permits ends at once.",
  removed: (name: string) => `${name} was removed`,
  noMembers: "Nobody is in the group yet. An approval that only names this group can't be given.",
};
