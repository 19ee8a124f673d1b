// What agents may do without asking: the rules, their text, and what would become of a command.
import { useEffect } from "preact/hooks";
import { socket } from "../protocol/socket";
import { loadRules, loadText, problem, rules } from "../state/policy";
import { adjust, route } from "../state/route";
import { parts } from "../ui/ui";
import { RulesTable } from "./PolicyRules";
import { RulesEditor } from "./PolicyText";
import { Tester } from "./PolicyTry";
import css from "./Policy.late.module.css";
import pages from "./pages.module.css";

const PROFILES: Record<string, string> = {
  open: "everything runs that no rule stops",
  guarded: "what is destructive or cannot be read asks; the rest runs",
  strict: "only what is proven to just read runs unasked",
};

const VIEWS = [
  ["rules", "Rules"],
  ["text", "Text"],
] as const;
type View = (typeof VIEWS)[number][0];

export function Policy() {
  const live = socket.connection.value.is === "live";
  const view: View = route.value.query.get("view") === "text" ? "text" : "rules";
  const profile = rules.value?.profile;
  useEffect(() => {
    if (!live) return;
    void loadRules();
    void loadText();
  }, [live]);
  const step = (event: KeyboardEvent) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    const other = view === "rules" ? "text" : "rules";
    adjust({ view: other === "rules" ? "" : other });
    document.getElementById(`view-${other}`)?.focus();
  };
  return (
    <section class={`${pages.sheet} ${css.policy}`} data-region aria-label="Policy">
      <header>
        <h1>Policy</h1>
        {profile && (
          <p class={css.profile}>
            Profile <b>{profile}</b>: {PROFILES[profile]}
          </p>
        )}
      </header>
      {problem.value && <p role="alert" class={parts.problem}>{problem.value}</p>}
      <div class={css.columns}>
        <Tester />
        <div class={css.main}>
          <div role="tablist" aria-label="The rules as" class={css.tabs} onKeyDown={step}>
            {VIEWS.map(([name, label]) => (
              <button
                key={name}
                type="button"
                role="tab"
                id={`view-${name}`}
                aria-selected={view === name}
                aria-controls="view"
                tabIndex={view === name ? 0 : -1}
                onClick={() => adjust({ view: name === "rules" ? "" : name })}
              >
                {label}
              </button>
            ))}
          </div>
          <div role="tabpanel" id="view" aria-labelledby={`view-${view}`} class={css.panel}>
            {view === "rules" ? <RulesTable /> : <RulesEditor />}
          </div>
        </div>
      </div>
    </section>
  );
}
