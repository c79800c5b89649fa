// What a refused or failed request is called. The server's `detail` explains the case; these are the titles.
export const problem = {
  offline: { title: "The server can't be reached", text: "Check your connection. Nothing is lost; try again." },
  unauthenticated: { title: "You are signed out", text: "Sign in again; this page stays as it is." },
  refused: { title: "Not allowed", text: "Your role does not include this." },
  missing: { title: "Not there, or not yours", text: "It may have been removed, or you can't see it." },
  locked: { title: "The environment is not free", text: "Somebody holds it, or others wait for it." },
  yours: { title: "You hold it already", text: "Open your session to go on." },
  ended: { title: "The session has ended", text: "Claim the environment again to go on." },
  stale: { title: "Somebody else changed it", text: "Compare, then save again." },
  invalid: { title: "Please check what you entered", text: "" },
  conflict: { title: "Not possible now", text: "" },
  busy: { title: "The server is busy", text: "Try again in a moment." },
  uncertain: {
    title: "Not known whether it happened",
    text: "It was sent several times, and the server did not answer. Look whether it happened before you do it again.",
  },
  unread: {
    title: "The server can't answer now",
    text: "Its database does not respond. This is read again by itself.",
  },
  unexpected: { title: "Something went wrong", text: "The failure was recorded. Try again." },
};

export const suggested: Record<string, string> = {
  queue: "Queue",
  request_handover: "Ask for it",
  force_claim: "Take over by force",
  deploy: "Deploy",
  release: "Release",
  wait: "Wait",
};
