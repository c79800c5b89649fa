// The names of groups. Pure.

const NAME = /^[a-z][a-z0-9-]{0,62}$/;

export function isGroupName(text: string): boolean {
  return NAME.test(text);
}

/** What a change of the form sends: only what differs, and `null` for a description that was removed. */
export function changeOf(
  before: { name: string; description?: string | null },
  after: { name: string; description: string },
): { name?: string; description?: string | null } {
  const description = after.description.trim() === "" ? null : after.description.trim();
  return {
    ...(after.name === before.name ? {} : { name: after.name }),
    ...(description === (before.description ?? null) ? {} : { description }),
  };
}
