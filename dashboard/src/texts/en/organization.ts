// Organization settings > general.
export const organization = {
  title: "General",
  name: "Name",
  nameHint: "People see it. Addresses use the short name, which stays.",
  nameRequired: "Give it a name.",
  save: "Save",
  saved: "The name was changed",
  slug: "Short name",
  id: "Id",
  since: "Since",
  facts: "Facts",
  adminsOnly: "Admins change the name",
};
