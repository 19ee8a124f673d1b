// What this person likes, kept in this browser.
import { effect, signal } from "@preact/signals";

export type Theme = "auto" | "dark" | "light" | "contrast";

export interface Prefs {
  theme: Theme;
  fontSize: number;
  fontFamily: string;
  lineHeight: number;
  scrollback: number;
  cursorBlink: boolean;
  screenReader: boolean;
  copyOnSelect: boolean;
  warnPaste: boolean;
  fitOnOpen: boolean;
  notify: boolean;
  sideOpen: boolean;
  listOpen: boolean;
  groupBy: "none" | "tag" | "state";
}

export const DEFAULT_FONT = 'ui-monospace, "Cascadia Mono", "SF Mono", Menlo, "DejaVu Sans Mono", Consolas, monospace';

export const DEFAULTS: Prefs = {
  theme: "auto",
  fontSize: 14,
  fontFamily: DEFAULT_FONT,
  lineHeight: 1.15,
  scrollback: 5000,
  cursorBlink: true,
  screenReader: false,
  copyOnSelect: false,
  warnPaste: true,
  fitOnOpen: false,
  notify: false,
  sideOpen: true,
  listOpen: true,
  groupBy: "none",
};

const PLACE = "duetty.prefs";

export const prefs = signal<Prefs>({ ...DEFAULTS, ...stored() });

export function setPref<Name extends keyof Prefs>(name: Name, value: Prefs[Name]): void {
  prefs.value = { ...prefs.value, [name]: value };
}

export const dark = signal(matchMedia("(prefers-color-scheme: dark)").matches);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => (dark.value = event.matches));

/** The theme that is shown: what "auto" means here and now. */
export function shownTheme(): Exclude<Theme, "auto"> {
  const { theme } = prefs.value;
  return theme !== "auto" ? theme : dark.value ? "dark" : "light";
}

effect(() => {
  document.documentElement.dataset["theme"] = shownTheme();
});

// Another window of this browser changed them: they hold here too, and are not overwritten by what was liked before.
addEventListener("storage", (event) => {
  if (event.key === PLACE) prefs.value = { ...DEFAULTS, ...stored() };
});

effect(() => {
  const changed = Object.entries(prefs.value).filter(([name, value]) => DEFAULTS[name as keyof Prefs] !== value);
  try {
    localStorage.setItem(PLACE, JSON.stringify(Object.fromEntries(changed)));
  } catch {
    // private windows may have no storage: then they last as long as the page
  }
});

function stored(): Partial<Prefs> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(PLACE) ?? "{}");
    if (typeof kept !== "object" || kept === null) return {};
    return Object.fromEntries(
      Object.entries(kept).filter(([name, value]) => typeof value === typeof DEFAULTS[name as keyof Prefs]),
    );
  } catch {
    return {};
  }
}
