// The key of this browser's sign-in. Every port of a host is sent its cookies, so the cookie alone proves little; this
// key stays with pages of this very address. Where the browser has cryptography it cannot even be read out.

const DATABASE = "duetty";
const STORE = "keys";
const PLACE = "sign-in";
const SECRET_PLACE = "duetty.secret";

const text = (bytes: ArrayBuffer | Uint8Array) => {
  const view = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
  return btoa(String.fromCharCode(...view)).replaceAll("+", "-").replaceAll("/", "_");
};

const done = <Result>(request: IDBRequest<Result>) =>
  new Promise<Result>((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("no storage"));
  });

async function keyPair(): Promise<CryptoKeyPair> {
  const opening = indexedDB.open(DATABASE, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  const database = await done(opening);
  try {
    const kept = () => done<CryptoKeyPair | undefined>(database.transaction(STORE).objectStore(STORE).get(PLACE));
    const found = await kept();
    if (found) return found;
    const made = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]);
    // Another tab may have been faster: then all tabs use its key.
    await done(database.transaction(STORE, "readwrite").objectStore(STORE).add(made, PLACE)).catch(() => {});
    return (await kept()) ?? made;
  } finally {
    database.close();
  }
}

/** Plain HTTP beyond this machine: the browser has no cryptography there, and keeps a secret for this address. */
function secret(): string {
  const found = localStorage.getItem(SECRET_PLACE);
  if (found) return found;
  const made = text(crypto.getRandomValues(new Uint8Array(32)));
  localStorage.setItem(SECRET_PLACE, made);
  return made;
}

/** What shows the server that this page belongs to the browser that signed in. */
export async function proofOf(challenge: string): Promise<{ key: string; proof: string }> {
  if (!globalThis.isSecureContext) return { key: `secret:${secret()}`, proof: secret() };
  const pair = await keyPair();
  const point = await crypto.subtle.exportKey("raw", pair.publicKey);
  const signature = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, pair.privateKey, new TextEncoder().encode(challenge));
  return { key: `p256:${text(point)}`, proof: text(signature) };
}
