// Notifications of the system, for what a person waits for in another tab. They are asked for when the person
// starts to wait, never when a page opens.

export function askForNotifications(): void {
  if ("Notification" in window && Notification.permission === "default") void Notification.requestPermission();
}

/** Shows a notification if the page is not on the screen and the person has allowed it. */
export function notify(title: string, tag: string): void {
  if (!("Notification" in window) || Notification.permission !== "granted" || !document.hidden) return;
  try {
    const shown = new Notification(title, { tag, icon: "/assets/icons/yours.svg" });
    shown.addEventListener("click", () => window.focus());
  } catch {
    // Some phones allow notifications from service workers only.
  }
}
