// A link that was shared carries a token behind its #, which browsers never send. It is taken out of the address at once
// and kept for this tab only. Without one, the cookie of a one-time link speaks for this browser.

const PLACE = "duetty.token";

function taken(): string | null {
  const found = /[#&]token=([\w.-]+)/.exec(location.hash);
  try {
    if (!found?.[1]) return sessionStorage.getItem(PLACE);
    history.replaceState(null, "", location.pathname + location.search);
    sessionStorage.setItem(PLACE, found[1]);
  } catch {
    // no storage: then the link works until the page is loaded again
  }
  return found?.[1] ?? null;
}

let token = taken();
const began = token;

export function forgetToken(): void {
  token = null;
  try {
    sessionStorage.removeItem(PLACE);
  } catch {
    // there was none to begin with
  }
}

export const hasToken = () => token !== null;
/** Whether this page was let in by a link that is refused now. */
export const wasGuest = () => began !== null && token === null;

/** Ask the server for something, with this tab's credential. */
export function ask(url: URL | string, options: RequestInit = {}): Promise<Response> {
  // The second says that our own page asks, where the browser does not say so itself.
  const headers = token ? { authorization: `Bearer ${token}` } : { "duetty-page": "1" };
  return fetch(url, { ...options, headers: { ...headers, ...(options.headers as Record<string, string> | undefined) } });
}

export const sharedLink = (page: string, token: string) => `${page}#token=${token}`;
