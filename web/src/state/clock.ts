// The server's clock is not the browser's. How much this one is ahead is known from whatever has only just happened there.
let aheadMs = 0;

/** Something that happened at this moment of the server's clock arrived right away. */
export function happenedNow(at: string): void {
  aheadMs = Date.now() - Date.parse(at);
}

/** How long until a moment of the server's clock; negative when it is over. */
export const untilMs = (at: string) => Date.parse(at) + aheadMs - Date.now();
