"""Policy: a call and the rules in, a decision out.

Pure and total. Knows nothing of people, queues, sessions or time, so every decision
can be made again from the trail.
"""

from duetty.calls import Effect
from duetty.policy.analysis import Analysis, analyse
from duetty.policy.decisions import Allow, Ask, Canonical, Decision, Deny, Judged, Mode, Profile
from duetty.policy.proving.recogniser import Command, Line, Unproven
from duetty.policy.proving.specs import Proof, Refuted, prove
from duetty.policy.rules import Rule, RuleSet
from duetty.policy.scanning.catalogue import CLASSES
from duetty.policy.scanning.findings import Scan
from duetty.policy.scanning.scan import scan_line, scan_typed
from duetty.policy.values import new
from duetty.shell import kind_of_program

_PROFILE_RULES = {profile: f"profile:{profile}" for profile in Profile}

# An enumeration looks its members up by a detour, and each decision needs several.
_OPEN, _GUARDED, _STRICT, _HEADLESS = Profile.OPEN, Profile.GUARDED, Profile.STRICT, Mode.HEADLESS

_CATALOGUED = {
    each.name: (f"catalogue:{each.name}", f"{each.reason}: ", each.instead)
    for each in CLASSES.values()
}
"""Rule, the beginning of the detail, and what to do instead: of each class."""

_ALLOWED_UNASKED = Allow(rule=_PROFILE_RULES[_GUARDED], reason="by_profile")
"""What most lines come to that destroy nothing: a value that is always the same, and made once."""

_WRITTEN_OUT = "write the line so that it can be read: each program by its name, as it will run"

UNFINISHED = "not closed"
"""How the reader ends what it says of a text that a shell would wait for the rest of."""

_RAW = Deny(
    rule=_PROFILE_RULES[_STRICT],
    reason="not_provable",
    detail="raw input that no shell will have judged",
    instead="run the command line as a call of its own",
)


def decide(call: Judged, rules: RuleSet, profile: Profile, *, can_ask: bool) -> Decision:
    """What becomes of this call.

    `can_ask` says whether a person can be reached; what would be asked is denied
    otherwise. Headless calls pass the strict gate whatever the profile, and what is
    destructive is denied there without a question.
    """
    line = call.command_line
    analysis = (
        analyse(line, call.cwd, call.shell, call.workspace, call.home) if line is not None else None
    )
    decision = _by_profile(call, analysis, _STRICT if call.mode is _HEADLESS else profile)
    if rules.rules:
        decision = _by_rules(call, analysis, rules, decision)
    if call.shell and profile is _STRICT and _is_of_another_shell(call, decision):
        why = "what was proven of this line is not proven of this shell"
        decision = Ask(rule=_PROFILE_RULES[_STRICT], reason="not_provable", detail=why)
    if type(decision) is Ask and (
        not can_ask or (call.mode is _HEADLESS and decision.reason == "destructive")
    ):
        return Deny(
            rule=decision.rule,
            reason="denied_by_rule" if decision.reason == "asked_by_rule" else decision.reason,
            detail=decision.detail,
            classes=decision.classes,
            instead=decision.instead,
        )
    return decision


def _is_of_another_shell(call: Judged, decision: Decision) -> bool:
    """Whether its text may say something else to the shell that will read it."""
    return (
        type(decision) is Allow
        and decision.canonical is not None
        and call.actor.kind != "person"
        and call.mode is not _HEADLESS  # there it runs as it was proven
        and kind_of_program(call.shell).proven_as not in decision.canonical.shells
    )


def _by_profile(call: Judged, analysis: Analysis | None, profile: Profile) -> Decision:
    rule = _PROFILE_RULES[profile]
    if call.actor.kind == "person":
        return Allow(rule="person", reason="by_profile", canonical=_canonical(analysis))
    if analysis is None:
        return _without_command_line(call, profile, rule)
    if call.into_program:
        return _into_program(call, profile, rule)
    recognised, proof, scan = analysis
    if type(proof) is Proof:
        return Allow(rule=_spec_of(proof), reason="proven", canonical=_canonical(analysis))
    if profile is _OPEN:
        return Allow(rule=rule, reason="by_profile", classes=scan.classes)
    if call.sandbox and profile is _GUARDED:
        return _contained(call, scan)
    if scan.findings:
        return _catalogued(scan)
    if (doubt := _unread(call, analysis)) is not None:
        return Ask(rule=rule, reason="not_provable", detail=doubt, instead=_WRITTEN_OUT)
    if profile is _GUARDED:
        return _ALLOWED_UNASKED
    if isinstance(recognised, Unproven):
        return Ask(rule=rule, reason="not_provable", detail=recognised.why)
    assert isinstance(proof, Refuted)
    return Ask(rule=rule, reason="not_allowlisted", detail=proof.why)


def _into_program(call: Judged, profile: Profile, rule: str) -> Decision:
    """What reads the line is a program, so nothing is proven and doubt says nothing."""
    if profile is _STRICT:
        return _RAW
    scan = scan_typed(call.command_line or "", call.cwd, workspace=call.workspace, home=call.home)
    if profile is _GUARDED and scan.findings:
        return _contained(call, scan) if call.sandbox else _catalogued(scan)
    return Allow(rule=rule, reason="by_profile", classes=scan.classes)


def _contained(call: Judged, scan: Scan) -> Decision:
    """In a sandbox only what goes through its edge asks."""
    passing = [
        each
        for each in scan.findings
        if each.name == "workspace_delete" or (each.leaves and call.sandbox == "open")
    ]
    if passing:
        return _catalogued(scan._replace(findings=tuple(passing)))
    return Allow(rule="sandbox:contained", reason="by_profile", classes=scan.classes)


def _catalogued(scan: Scan) -> Ask:
    name, what, _ = scan.findings[0]
    by, detail, instead = _CATALOGUED[name]
    return Ask(
        rule=by, reason="destructive", detail=detail + what, classes=scan.classes, instead=instead
    )


def _by_trust(call: Judged, tool: tuple[str, str], profile: Profile) -> Decision:
    """A trusted server's tools run, and its word that one destroys counts; any other's are asked about."""
    named = f"mcp__{tool[0]}__{tool[1]}"
    if call.trust != "trusted":
        return Ask(
            rule=f"trust:{call.trust}",
            reason="destructive" if call.is_destructive else "not_allowlisted",
            detail=f"the server {tool[0]!r} is not trusted, and no rule allows {named}",
        )
    if call.is_destructive and profile is _STRICT:
        return Ask(
            rule="trust:trusted",
            reason="destructive",
            detail=f"{named} destroys, by its own server's word",
        )
    return Allow(rule="trust:trusted", reason="by_profile")


def _without_command_line(call: Judged, profile: Profile, rule: str) -> Decision:
    if call.tool is not None and call.trust and call.effect is Effect.CONTROL:
        return _by_trust(call, call.tool, profile)
    if call.tool is not None and call.is_destructive and profile is not _OPEN:
        named = f"mcp__{call.tool[0]}__{call.tool[1]}"
        return Ask(
            rule=rule, reason="destructive", detail=f"{named} destroys, by its own server's word"
        )
    if profile is _STRICT:
        if call.is_raw_input:
            return _RAW
        if call.tool is not None and call.effect not in (Effect.READ, Effect.DISPLAY):
            return Ask(
                rule=rule,
                reason="not_allowlisted",
                detail=f"no rule allows mcp__{call.tool[0]}__{call.tool[1]}",
            )
    return Allow(rule=rule, reason="by_profile")


def _by_rules(
    call: Judged, analysis: Analysis | None, rules: RuleSet, decision: Decision
) -> Decision:
    applying = rules.applying(call)
    if not applying:
        return decision
    matching = [rule for rule in applying if rule.decide != "allow" and _matches(rule, analysis)]
    for rule in matching:
        if rule.decide == "deny":
            return Deny(
                rule=f"rule:{rule.name}",
                reason="denied_by_rule",
                detail=rule.why or f"the rule {rule.name!r} denies it",
                classes=decision.classes,
            )
    if matching:
        rule = matching[0]
        if type(decision) is Deny:
            return decision
        return Ask(
            rule=f"rule:{rule.name}",
            reason="asked_by_rule",
            detail=rule.why or f"the rule {rule.name!r} asks",
            classes=decision.classes,
        )
    if type(decision) is Allow:
        watching = [rule for rule in applying if rule.decide != "allow" and rule.command]
        if watching and analysis is not None and (doubt := _unread(call, analysis)) is not None:
            # Whether the rule is meant cannot be read: as strict as if it were.
            return Ask(
                rule=f"rule:{watching[0].name}",
                reason="not_provable",
                detail=doubt,
                classes=decision.classes,
            )
        return decision
    allowing = [rule for rule in applying if rule.decide == "allow"]
    return _allowed(call, analysis, allowing, decision)


def _unread(call: Judged, analysis: Analysis) -> str | None:
    """What of the line could not be read, where that says something."""
    if call.into_program:
        return None
    doubts = analysis.scan.unreadable
    if call.can_go_on:
        doubts = tuple(each for each in doubts if not each.endswith(UNFINISHED))
    return doubts[0] if doubts else None


def _matches(rule: Rule, analysis: Analysis | None) -> bool:
    return not rule.command or (analysis is not None and rule.matches_line(analysis))


def _allowed(
    call: Judged, analysis: Analysis | None, rules: list[Rule], decision: Decision
) -> Decision:
    """Every command of a literal line is proven, or allowed by a rule that knows what it is."""
    if not rules:
        return decision
    if analysis is None:
        named = [rule for rule in rules if not rule.command]
        if named and not call.is_raw_input:
            return Allow(rule=f"rule:{named[0].name}", reason="allowed_by_rule")
        return decision
    line, scan = analysis.recognised, analysis.scan
    if not isinstance(line, Line) or scan.unreadable:
        return decision
    used: dict[Command, list[Rule]] = {}
    for command in line.commands:
        if found := [rule for rule in rules if rule.command and rule.matches_words(command.words)]:
            used[command] = found
    if not used or (scan.findings and not _know_all(used, call, scan)):
        return decision
    commands = line.commands
    if len(used) < len(set(commands)):
        # What no rule allows has to be proven, where the line goes, and runs as that has it.
        proof = prove(line, call.cwd, allowed=used)
        if isinstance(proof, Refuted):
            return decision
        commands = proof.hardened
    first, *_ = used.values()
    return Allow(
        rule=f"rule:{first[0].name}",
        reason="allowed_by_rule",
        classes=scan.classes,
        canonical=Canonical(commands, line.joins, line.shells),
    )


def _know_all(used: dict[Command, list[Rule]], call: Judged, scan: Scan) -> bool:
    """Whether the rules for each command name what it does by itself, and together what the line does."""
    for command, rules in used.items():
        alone = scan_line(
            Line((command,), (), frozenset()),
            call.cwd,
            workspace=call.workspace,
            shell=call.shell,
            home=call.home,
        )
        if not _destructive_names(rules).issuperset(alone.classes):
            return False
    together = [rule for rules in used.values() for rule in rules]
    return _destructive_names(together).issuperset(scan.classes)


def _destructive_names(rules: list[Rule]) -> set[str]:
    return {name for rule in rules for name in rule.even_destructive}


def question_about(call: Judged, asked: Ask) -> str:
    """What a person is asked, in a text that hides nothing of it."""
    detail = asked.detail
    who = f"{call.actor.kind} {visible(call.actor.name)}"
    where = f" in {visible(call.cwd)}" if call.cwd else ""
    if call.command_line is not None:
        return f"May {who} run this{where}?\n\n    {visible(call.command_line)}\n\n{detail}"
    if call.tool is not None:
        return f"May {who} call {visible(call.tool[1])} of {visible(call.tool[0])}?\n\n{detail}"
    return f"May {who} do {call.operation}{where}?\n\n{detail}"


def visible(text: str) -> str:
    """Text as it will run, whole, with nothing in it that hides or moves what is read."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char == " " or (char.isprintable() and not _hides(char)) else f"⟨U+{ord(char):04X}⟩"
        for char in text
    )


def _hides(char: str) -> bool:
    return char in "\u115f\u1160\u2800\u3164\uffa0\u034f\u17b4\u17b5"


def _canonical(analysis: Analysis | None) -> Canonical | None:
    proof = analysis.proof if analysis is not None else None
    if not isinstance(proof, Proof):
        return None
    line, hardened = proof
    return new(Canonical, (hardened, line.joins, line.shells))


def _spec_of(proof: Proof) -> str:
    commands = proof.line.commands
    if len(commands) == 1:
        return "spec:" + commands[0].words[0].rpartition("/")[2]
    programs = [command.words[0].rpartition("/")[2] for command in commands]
    return "spec:" + "+".join(dict.fromkeys(programs))
