// Links in a terminal open beside the page and learn nothing of it.
import { ask } from "../state/dialogs";

/** One whose text may lie is shown first. */
export function openLink(url: string, mayLie: boolean): void {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return;
  }
  if (parsed.protocol !== "https:" && parsed.protocol !== "http:") return;
  const open = () => window.open(parsed.href, "_blank", "noopener,noreferrer");
  if (!mayLie) open();
  else ask({ is: "confirm", title: "Open this link?", text: "A program printed it; its text may say something else.", detail: parsed.href, yes: "Open", run: open });
}
