// How this person likes it, in this browser.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { socket } from "../protocol/socket";
import { allowNotifications } from "../state/alerts";
import { ask } from "../state/dialogs";
import { complain, notify } from "../state/notices";
import { DEFAULTS, type Prefs, type Theme, prefs, setPref } from "../state/prefs";
import { Button } from "../ui/ui";
import css from "./pages.module.css";

function Setting({ label, note, children }: { label: string; note?: string; children: ComponentChildren }) {
  return (
    <label class={css.setting}>
      <span>{label}</span>
      {children}
      {note && <small>{note}</small>}
    </label>
  );
}

type Switchable = { [Name in keyof Prefs]: Prefs[Name] extends boolean ? Name : never }[keyof Prefs];

function Switch({ name, label, note }: { name: Switchable; label: string; note?: string }) {
  return (
    <Setting label={label} {...(note ? { note } : {})}>
      <input type="checkbox" checked={prefs.value[name]} onChange={(event) => setPref(name, event.currentTarget.checked)} />
    </Setting>
  );
}

function NumberOf({ name, label, min, max, step = 1 }: { name: "fontSize" | "lineHeight" | "scrollback"; label: string; min: number; max: number; step?: number }) {
  return (
    <Setting label={label}>
      <input
        type="number"
        min={min}
        max={max}
        step={step}
        value={prefs.value[name]}
        onChange={(event) => {
          const wanted = event.currentTarget.valueAsNumber;
          if (Number.isFinite(wanted)) setPref(name, Math.min(max, Math.max(min, wanted)));
        }}
      />
    </Setting>
  );
}

export function Settings() {
  const [allowed, setAllowed] = useState("Notification" in window ? Notification.permission : "denied");
  return (
    <section class={css.sheet} data-region aria-label="Settings">
      <h1>Settings</h1>
      <div class={css.box}>
        <h2>Looks</h2>
        <Setting label="Theme">
          <select value={prefs.value.theme} id="theme" onChange={(event) => setPref("theme", event.currentTarget.value as Theme)}>
            <option value="auto">As the system</option>
            <option value="dark">Dark</option>
            <option value="light">Light</option>
            <option value="contrast">High contrast</option>
          </select>
        </Setting>
        <NumberOf name="fontSize" label="Text size of terminals" min={8} max={32} />
        <NumberOf name="lineHeight" label="Line height" min={1} max={2} step={0.05} />
        <Setting label="Font">
          <input type="text" value={prefs.value.fontFamily} onChange={(event) => setPref("fontFamily", event.currentTarget.value || DEFAULTS.fontFamily)} />
        </Setting>
        <Switch name="cursorBlink" label="Blinking cursor" />
      </div>
      <div class={css.box}>
        <h2>Terminals</h2>
        <Switch name="fitOnOpen" label="Fit sessions to my window when I open them" note="Changes the size for all viewers, the agent included. Otherwise you see their size, scaled." />
        <NumberOf name="scrollback" label="Rows kept in the page (the server has the rest)" min={500} max={50_000} step={500} />
        <Switch name="copyOnSelect" label="Copy what I select" />
        <Switch name="warnPaste" label="Ask before pasting several lines" />
      </div>
      <div class={css.box}>
        <h2>Accessibility</h2>
        <Switch name="screenReader" label="Screen reader mode" note="Rows are announced as they come. The text view of a session (Ctrl+Shift+X) is often easier to read." />
      </div>
      <div class={css.box}>
        <h2>Notifications</h2>
        <Setting label="Tell me when a session waits for me" note={allowed === "denied" ? "The browser does not allow it for this address." : "Once each time a program begins to wait."}>
          <input
            type="checkbox"
            checked={prefs.value.notify && allowed === "granted"}
            disabled={allowed === "denied"}
            onChange={(event) => {
              const on = event.currentTarget.checked;
              if (!on) return setPref("notify", false);
              void allowNotifications().then((granted) => {
                setAllowed(Notification.permission);
                setPref("notify", granted);
              });
            }}
          />
        </Setting>
      </div>
      <div class={css.box}>
        <h2>This browser</h2>
        <p>
          <Button onClick={() => ask({ is: "keys" })}>Keyboard shortcuts</Button>{" "}
          <Button
            onClick={() => {
              prefs.value = { ...DEFAULTS };
              notify("Settings are as at the beginning", { kind: "good" });
            }}
          >
            Reset settings
          </Button>{" "}
          <Button look="danger" onClick={() => void socket.call("auth.signout", {}).then(() => location.reload(), complain)}>
            Sign out
          </Button>
        </p>
      </div>
    </section>
  );
}
