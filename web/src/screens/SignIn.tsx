// Shown when this browser has no valid cookie: a link that works once brings one.
import { useState } from "preact/hooks";
import { wasGuest } from "../protocol/credential";
import { server } from "../protocol/socket";
import { Button, Copyable, Field, Input } from "../ui/ui";
import { Logo } from "../ui/logo";
import css from "./shell.module.css";

export function SignIn() {
  const [text, setText] = useState("");
  const code = codeOf(text);
  return (
    <main class={css.signin} data-region>
      <Logo />
      <h1>{wasGuest() ? "This link has ended" : "Sign in to Duetty"}</h1>
      {wasGuest() && <p>Its time is up, or its owner has taken it back. Ask them for another.</p>}
      <p>On the machine where the server runs, ask for a link. It signs one browser in, once.</p>
      <Copyable label="Command" text="duetty token --link" />
      <form
        style={{ display: "grid", gap: "14px" }}
        onSubmit={(event) => {
          event.preventDefault();
          if (code) location.assign(new URL(`login?code=${encodeURIComponent(code)}`, server));
        }}
      >
        <Field label="Open that link, or paste it here">
          <Input value={text} onInput={(event) => setText(event.currentTarget.value)} placeholder="http://127.0.0.1:9315/login?code=…" autofocus />
        </Field>
        <p>
          <Button type="submit" look="primary" disabled={!code}>
            Sign in
          </Button>
        </p>
      </form>
    </main>
  );
}

/** The code alone is taken: the rest of a pasted link does not decide where this browser goes. */
function codeOf(text: string): string {
  const trimmed = text.trim();
  const found = /[?&]code=([\w-]+)/.exec(trimmed);
  return found?.[1] ?? (/^[\w-]{16,}$/.test(trimmed) ? trimmed : "");
}
