"""A call or a line in, a decision out: the rules in force, and what comes besides the words.

Policy is pure; this knows the session, the directory and the project that a call is
about, and remembers. Nobody is asked here and nothing is recorded.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from json import dumps
from posixpath import join, normpath
from typing import Any

from duetty.blocks import Phase
from duetty.calls import Actor, Call, Effect
from duetty.clock import Clock
from duetty.ops.judging.line_keys import LineKeys, Where
from duetty.ops.judging.made import MAX_DETAIL, STRICTNESS, Made
from duetty.ops.judging.own_things import OwnThings
from duetty.ops.judging.recording import (
    COMMAND_LINES,
    RAW_INPUT,
    TOOL_CALLS,
    Doing,
    is_secret_input,
)
from duetty.ops.judging.shell_hooks import touched_hook
from duetty.ops.judging.surroundings import (
    fed_text,
    known_shell,
    line_for,
    other_shell,
    running_variables,
    shell_name,
)
from duetty.ops.judging.typed_lines import (
    TypedLines,
    is_at_gate,
    typed_text,
    without_pastes,
    written_keys,
)
from duetty.ops.rulebook.book import Rulebook
from duetty.ops.rulebook.in_force import SHIPPED_RULES, ProjectRules, other_places, stricter
from duetty.policy import (
    Allow,
    Ask,
    Decision,
    Deny,
    Judged,
    Mode,
    Profile,
    RuleSet,
    analyse,
    decide,
    fish_commands,
    visible,
)
from duetty.policy.proving.recogniser import Line
from duetty.policy.scanning.fed import RUNS_PRINTED
from duetty.session import Question as LineQuestion
from duetty.session import Session

REMEMBERED = 4_096
"""Decisions kept: the same line in the same place is decided the same."""

REMEMBERED_CHARS = 4_096
"""Of a line; longer ones are decided anew."""

MAX_ASKED_CHARS = 16_384
"""Nobody can answer for a line that nobody can read."""

MAX_TOLD_CHARS = 4_000
"""Of a line that a shell tells when it asks; of longer ones it says only that there is one."""


_AT_PROMPT = (Phase.PROMPT, Phase.INPUT, Phase.CONTINUATION)
_SHIPPED_DIGEST = SHIPPED_RULES.digest
_READING = ("awaiting_input", "awaiting_password", "fullscreen")

FISH = "fish"

UNKNOWN_SHELL = "unknown"
"""Of a session whose shell is none that is known: nothing is proven of it."""

TYPED_LINE = "input.line"
"""What a line is called, to rules and in the trail, that a shell asks about."""


@dataclass(frozen=True, slots=True)
class _Line:
    """What a shell asks about is no operation that anybody calls."""

    name: str = TYPED_LINE
    effect: Effect = Effect.INPUT


_LINE = _Line()


class Judging:
    def __init__(self, *, profile: Profile, book: Rulebook, clock: Clock, home: str) -> None:
        self.profile = profile
        self.book = book
        self.rules = self.as_in_force(book.rules)
        self._digest = self.rules.digest
        self._home = home
        self.own_things = OwnThings()
        self.own_pids: Callable[[], Sequence[int]] = tuple
        self.own_shell = ""
        """What reads a command without a terminal, where the call does not say."""

        self.inherited: Mapping[str, str] = {}
        """What the server was started with, and its programs have anyway."""

        self.projects = ProjectRules(clock, names=book.names)
        self._remembered: dict[tuple[Judged, str, Profile], Decision] = {}
        self._typed = TypedLines()
        self._line_keys = LineKeys()
        self.risk_of: Callable[[str, str], str] = lambda upstream, tool: "unknown"
        """What an upstream says of its tool."""

        self.check_tool: Callable[[str, str], None] = lambda upstream, tool: None
        """Raises what a call would fail with anyway: nobody is asked about such a call."""

    def use(self, rules: RuleSet) -> None:
        """From the next decision on; what waits for an answer is judged again when it has one."""
        self.rules = self.as_in_force(rules)
        self._digest = self.rules.digest

    def as_in_force(self, rules: RuleSet) -> RuleSet:
        """What the profile leaves of them."""
        return rules if self.profile is not Profile.OPEN else _without_shipped(rules)

    # --- deciding -------------------------------------------------------------------

    def decide(
        self, judged: Judged, *, profile: Profile | None = None, rules: RuleSet | None = None
    ) -> Made:
        """With the rules of the project that the call is made in; or as if under others."""
        own = self.rules if rules is None else self.as_in_force(rules)
        project = self.projects.of(judged.cwd) if judged.actor.kind != "person" else RuleSet()
        used = own + project if project.rules or project.profile else own
        profile = stricter(profile or self.profile, project.profile)
        digest = self._digest if used is self.rules else used.digest
        decision = self._remember(judged, used, digest, profile)
        decision = self.own_things.judged(judged, decision, self.own_pids())
        if self.profile is Profile.OPEN and judged.command_line is not None:
            shipped = self._remember(judged, SHIPPED_RULES, _SHIPPED_DIGEST, Profile.OPEN)
            decision = shipped if isinstance(shipped, Deny) else decision
        if isinstance(decision, Ask) and judged.actor.kind == "person":
            # Whoever would be asked is the one who calls.
            decision = Allow(rule="person", reason="by_profile", classes=decision.classes)
        return Made(judged=judged, rules=used, digest=digest, profile=profile, decision=decision)

    def _remember(self, judged: Judged, rules: RuleSet, digest: str, profile: Profile) -> Decision:
        key = judged, digest, profile
        found = self._remembered.get(key)
        if found is None:
            found = decide(judged, rules, profile, can_ask=True)
            if len(judged.command_line or "") > REMEMBERED_CHARS:
                return found
            if len(self._remembered) >= REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = found
        return found

    # --- a call ---------------------------------------------------------------------

    def of_call(
        self,
        call: Call,
        operation: Doing,
        params: Any,
        session: Session | None,
        *,
        secret: bool,
        leaves: bool = True,
    ) -> Made:
        """`secret`: what is typed is not shown. `leaves`: the shell may be the one who asks."""
        line = _command_line(operation, params)
        judged = Judged(
            operation=operation.name,
            effect=operation.effect,
            actor=Actor(kind=call.actor.kind, name=call.actor.name),
            dialect=call.dialect,
            mode=Mode(call.mode),
            tags=frozenset(session.profile.tags) if session is not None else frozenset(),
            cwd=_cwd(params, session, self._home),
            command_line=line,
            shell=self._shell_of(call, operation, params, session),
            is_raw_input=operation.name in RAW_INPUT
            and (session is None or not is_at_gate(session)),
        )
        if operation.name in TOOL_CALLS:
            return self._of_tool_call(judged, params)
        made = self._with_comments(self.decide(judged), session)
        if operation.name == "command.run" and session is not None and session.is_busy:
            made = self._read_by_any(made)
        if call.actor.kind != "person":
            made = self._with_surroundings(made, params)
        if session is not None and _is_part(made, operation, session):
            made = made.unproven("it goes on with a line that was begun before")
        if session is not None and operation.name in RAW_INPUT:
            keys = written_keys(operation.name, params, session)
            made = self._of_input(made, typed_text(operation.name, params), session)
            made = self._of_line_keys(self._of_lines_ahead(made, keys, session), keys, session)
        if leaves and session is not None and _leaves_to_shell(made, operation, session):
            assert line is not None
            if session.gate is not None:
                session.gate.leave(line, actor=call.actor)
            return replace(made, decision=Allow(rule="left to the shell", reason="by_profile"))
        if session is not None and line is not None:
            made = _with_hooks(made, operation, session, line)
            if leaves and _may_become_another(made, operation, session):
                assert session.gate is not None
                session.gate.ask_about_run(line, actor=call.actor)
        if isinstance(made.decision, Ask) and len(line or "") > MAX_ASKED_CHARS:
            return made.refused("it is too long for a person to read")
        if secret and line is not None:
            return made.withheld()
        return made if operation.name.startswith("process.") else _as_typed(made)

    def _shell_of(self, call: Call, operation: Doing, params: Any, session: Session | None) -> str:
        """Who will read the line."""
        if operation.name == "command.run" and session is not None:
            return _shell_in(session)
        if operation.name.startswith("process.") and call.mode != Mode.HEADLESS:
            return shell_name(other_shell(params, self.own_shell) or self.own_shell)
        return ""  # headless, what was proven runs rebuilt

    def _with_comments(self, made: Made, session: Session | None) -> Made:
        """Zsh reads no comments at its prompt: what looks like one runs."""
        line = made.judged.command_line
        if (
            session is None
            or session.profile.shell != "zsh"
            or line is None
            or "#" not in line
            or made.judged.actor.kind == "person"
        ):
            return made
        bare = self.decide(replace(made.judged, command_line=line.replace("#", "_")))
        if STRICTNESS[type(bare.decision)] <= STRICTNESS[type(made.decision)]:
            return made
        return replace(bare, judged=made.judged)

    def _read_by_any(self, made: Made) -> Made:
        """Of a line for a program that runs: a shell perhaps, a fish perhaps, perhaps none."""
        plain, fish = (self.decide(replace(made.judged, shell=each)) for each in ("", FISH))
        # Code of other languages looks like substitutions, which is nothing that fish was found to run.
        if made.profile is Profile.STRICT or {*fish.decision.classes} - {"hidden_code"}:
            return max(made, fish, key=lambda each: STRICTNESS[type(each.decision)])
        return plain if made.judged.shell == FISH else made

    def _wherever(self, made: Made) -> Made:
        """As strict as in every directory that the line goes to, and where links lead."""
        for place in other_places(made.judged, made.rules):
            inner = self.decide(replace(made.judged, cwd=place))
            if STRICTNESS[type(inner.decision)] <= STRICTNESS[type(made.decision)] or (
                inner.digest == made.digest
                and not inner.decision.rule.startswith("rule:")
                and made.decision.reason != "allowed_by_rule"
            ):
                continue  # no rule is about that place
            assert not isinstance(inner.decision, Allow)
            told = f"in {visible(place)}: {inner.decision.detail}"
            decision = replace(inner.decision, detail=told)
            made = replace(inner, judged=made.judged, decision=decision, besides=_digest_of(place))
        return made

    def _with_surroundings(self, made: Made, params: Any) -> Made:
        """As strict as the line, wherever it goes, what reads it, what is fed to a shell, and its variables."""
        shell, about = other_shell(params, self.own_shell), list[tuple[str, str]]()
        made = self._read_by(self._wherever(made), shell)
        if shell is not None:
            about.append((shell, f"read by {visible(shell[:MAX_DETAIL])}"))
        line = made.judged.command_line
        fed = None if line is None else fed_text(params, line, made.judged.shell)
        for reader in () if fed is None else fed.readers:
            assert fed is not None
            about.append((fed.text, ""))
            given = replace(made.judged, command_line=fed.text.rstrip("\n"), shell=reader)
            inner = self.decide(given)
            if STRICTNESS[type(inner.decision)] > STRICTNESS[type(made.decision)]:
                assert not isinstance(inner.decision, Allow)
                told = f"it is fed to a shell: {inner.decision.detail}"
                made = replace(made, decision=replace(inner.decision, detail=told))
        strict = made.profile is Profile.STRICT or made.judged.mode is Mode.HEADLESS
        if made.profile is Profile.OPEN and not strict:
            code = dict[str, str]()  # there everything runs that no rule stops
        else:
            code = running_variables(params, strict=strict, inherited=self.inherited)
        if code:
            # Names only: what is told here is kept in the trail and with the question.
            shown = ", ".join(visible(name[:100]) for name in sorted(code))
            why = f"variables can make programs run other code: {shown[:MAX_DETAIL]}"
            was_asked = not isinstance(made.decision, Allow)
            about.append((repr(sorted(code.items())), why if was_asked else ""))
            made = made if was_asked else made.unproven(why)
        for what, told in about:
            made = made.also_about(what, told)
        return made

    def _read_by(self, made: Made, shell: str | None) -> Made:
        """What was found of a line holds where a shell reads it that reads it so; any other is a program."""
        line = made.judged.command_line
        if line is None or not made.judged.operation.startswith("process."):
            return made
        if shell is None or known_shell(shell) is not None:
            return made
        started = self.decide(replace(made.judged, command_line=line_for(shell, line)))
        if STRICTNESS[type(started.decision)] > STRICTNESS[type(made.decision)]:
            return replace(started, judged=made.judged)
        if isinstance(made.decision, Allow) and made.profile is not Profile.OPEN:
            return made.unproven("a program is given it to read, and may do anything with it")
        return made

    # --- tools of upstreams ---------------------------------------------------------

    def decide_tool(self, actor: Actor, upstream: str, tool: str) -> Decision:
        """What would become of a call of this tool."""
        judged = Judged(
            operation="upstreams.call",
            effect=Effect.CONTROL,
            actor=Actor(kind=actor.kind, name=actor.name),
        )
        return self.decide(self._of_tool(judged, upstream, tool)).decision

    def _of_tool_call(self, judged: Judged, params: Any) -> Made:
        named = TOOL_CALLS[judged.operation]
        tool = str(getattr(params, named))
        made = self.decide(self._of_tool(judged, params.upstream, tool))
        # An answer is for these arguments and no others.
        given = dumps(getattr(params, "arguments", {}), sort_keys=True, ensure_ascii=False)
        if isinstance(made.decision, Ask) and len(given) > MAX_ASKED_CHARS:
            return made.refused("its arguments are too long for a person to read")
        return replace(made, besides=_digest_of(given), arguments=visible(given))

    def _of_tool(self, judged: Judged, upstream: str, tool: str) -> Judged:
        destroys = self.risk_of(upstream, tool) == "destructive"
        return replace(judged, tool=(upstream, tool), is_destructive=destroys)

    # --- raw input ------------------------------------------------------------------

    def of_keys(self, actor: Actor, session: Session, text: str) -> Made:
        """Keys that end no line: what they begin is kept, for when it ends."""
        judged = Judged(
            operation="input.type",
            effect=Effect.INPUT,
            actor=Actor(kind=actor.kind, name=actor.name),
            tags=frozenset(session.profile.tags),
            cwd=session.cwd,
            is_raw_input=not is_at_gate(session),
        )
        made = self._of_input(self.decide(judged), text, session)
        made = self._of_line_keys(made, text, session)
        if isinstance(made.decision, Allow):
            self._take(actor, session, text)
        return made

    def typed(self, actor: Actor, session: Session, operation: str, params: Any) -> None:
        """A call that writes input was let through: what it types is part of what comes next."""
        self._take(actor, session, typed_text(operation, params))

    def _take(self, actor: Actor, session: Session, text: str) -> None:
        if actor.kind != "person" and self.profile is not Profile.OPEN:
            hidden = is_secret_input(session, raw=True)
            self._typed.take(session.profile.id, text, hidden=hidden, asks=is_at_gate(session))

    def _of_input(self, made: Made, text: str, session: Session) -> Made:
        """Where no shell will ask, the text of a line is all there is to judge."""
        if made.judged.actor.kind == "person" or made.profile is Profile.OPEN:
            return made
        gate = session.gate
        if gate is not None and not (gate.works and gate.has_begun):
            told = (
                "this shell does not ask any more before it runs a line"
                if gate.has_begun
                else "this shell has not said yet that it asks before it runs a line"
            )
            return _ungated(made, told)
        if session.is_prompt_missing():
            return _ungated(made, "this shell has drawn no prompt since its last line ended")
        if not isinstance(made.decision, Allow):
            return made
        if is_at_gate(session):
            return made
        hidden = is_secret_input(session, raw=True)
        typed = self._typed.lines(session.profile.id, text, hidden=hidden)
        for line in typed.commands:
            for each in _commands(line) if session.alternate_active else (line,):
                found = self._of_text(made, each, session, hidden=typed.is_hidden)
                if not isinstance(found.decision, Allow):
                    return found
        if typed.is_untold and not session.alternate_active:
            return made.unproven("it goes on with a line that is too long to be judged as a whole")
        return made

    def _of_lines_ahead(self, made: Made, keys: str, session: Session) -> Made:
        """At a shell that asks: its question is about its own lines, not about what a program reads that one of them starts."""
        if (
            made.judged.actor.kind == "person"
            or made.profile is Profile.OPEN
            or not isinstance(made.decision, Allow)
            or not is_at_gate(session)
        ):
            return made
        text = without_pastes(keys) if session.bracketed_paste else keys
        for line in self._typed.lines(session.profile.id, text).later:
            found = self._of_text(made, line, session)
            if not isinstance(found.decision, Allow):
                return found
        return made

    def _of_text(self, made: Made, text: str, session: Session, *, hidden: bool = False) -> Made:
        """Typed into a program that may run it: for what is destructive only.

        `hidden`: some of it was typed where nothing is shown.
        """
        typed = replace(made.judged, command_line=text, is_raw_input=False)
        found = self._read_by_any(self.decide(typed))
        decision = found.decision
        if isinstance(decision, Allow) or not (
            decision.classes
            or RUNS_PRINTED in analyse(text, found.judged.cwd, found.judged.shell).scan.unreadable
        ):
            return made
        if hidden or is_secret_input(session, raw=True):
            # A shell behind ssh and a program that reads a password look the same from here: what was
            # typed is in no question and in no record.
            decision = Deny(
                rule=decision.rule,
                reason=decision.reason,
                detail="what is typed into a program that shows nothing of it could be a destructive command",
                classes=decision.classes,
                instead="run the command line as a call of its own, or let a person type it",
            )
            return replace(made, decision=decision)
        detail = f"typed into a program that may run it: {decision.detail}"
        return replace(found, decision=replace(decision, detail=detail))

    def _of_line_keys(self, made: Made, keys: str, session: Session) -> Made:
        """Keys for a shell's line editor, now or when the shell comes to read them."""
        gate = session.gate
        if (
            gate is None
            or made.judged.actor.kind == "person"
            or made.profile is Profile.OPEN
            or not isinstance(made.decision, Allow)
        ):
            return made
        touched = session.line.is_touched
        where = Where(
            prompts=gate.prompts,
            shown=session.shown_line() if not keys.isprintable() else "",
            at_prompt=session.phase in _AT_PROMPT,
            settled=session.is_settled_at_prompt(),
            strange=session.is_continuing or (touched and session.actor.kind == "person"),
            touched=touched,
            taken=session.are_keys_taken(),
            pastes=session.bracketed_paste,
            completes=made.profile is not Profile.STRICT,
        )
        if not self._line_keys.runs_code(session.profile.id, keys, where):
            return made
        is_read = session.phase is Phase.RUNNING and session.state().word in _READING
        if is_read and not session.is_shell_reading_keys():
            # A program reads them; but it may leave them to the shell, whose question comes too late.
            text = self._line_keys.take(session.profile.id, keys, where)
            return self._of_text(made, text, session)
        return replace(
            made,
            decision=Deny(
                rule="gate",
                reason="not_provable",
                detail="this key may make the shell run what stands on its line, and nobody could ask before",
                instead="end the line with Enter, or drop it with Ctrl-C; only then complete or expand another",
            ),
        )

    # --- a line that a shell is about to run ----------------------------------------

    def of_line(self, session: Session, question: LineQuestion) -> Made:
        """Of the line as typed and as its aliases make it; a line that cannot be told asks."""
        made = _as_typed(self._of_lines(session, question))
        for line in (question.line, question.expanded):
            if line is not None:
                made = _with_hooks(made, _LINE, session, line)
        return made

    def _of_lines(self, session: Session, question: LineQuestion) -> Made:
        lines = [question.line, question.expanded] if question.line is not None else []
        lines = [line for line in lines if line is not None]
        made = [self.decide(_line(session, question.actor, line)) for line in lines]
        if not made:
            unread = self.decide(_line(session, question.actor, None))
            why = "the shell could not tell what it is about to run"
            if question.history is not None:
                why += f"; its history has {visible(question.history[:MAX_DETAIL])}"
            return unread.unproven(why)
        made = [self._wherever(self._with_comments(each, session)) for each in made]
        return max(made, key=lambda each: STRICTNESS[type(each.decision)])


def _ungated(made: Made, told: str) -> Made:
    decision = Deny(
        rule="gate",
        reason="not_provable",
        detail=told,
        instead="run the command line as a call of its own, or open a new session",
    )
    return replace(made, decision=decision)


def _commands(line: str) -> tuple[str, ...]:
    """What a line is to a program with a screen of its own: a shell's line, or what an editor hands to one."""
    _, shouted, behind = line.partition("!")
    return (line, behind) if shouted and behind.strip() else (line,)


def _line(session: Session, actor: Actor, line: str | None) -> Judged:
    return Judged(
        operation=TYPED_LINE,
        effect=Effect.INPUT,
        actor=Actor(kind=actor.kind, name=actor.name),
        tags=frozenset(session.profile.tags),
        cwd=session.cwd,
        command_line=line,
        is_expanded=True,
        shell=_shell_in(session),
    )


def _shell_in(session: Session) -> str:
    return session.profile.shell or UNKNOWN_SHELL


def _is_part(made: Made, operation: Doing, session: Session) -> bool:
    """The shell asks for the rest of a line: this is no line of its own."""
    return (
        operation.name == "command.run"
        and session.is_continuing
        and isinstance(made.decision, Allow)
        and made.profile is not Profile.OPEN
        and made.judged.actor.kind != "person"
    )


def _leaves_to_shell(made: Made, operation: Doing, session: Session) -> bool:
    """A line that nobody can read is decided on when it is known who reads it.

    An unfinished one by the shell's own question, when it is complete; a
    program that has the terminal (an interpreter, an editor) is no shell.
    """
    if operation.name != "command.run" or made.profile is not Profile.GUARDED:
        return False
    if not made.is_unread or made.decision.classes:
        return False
    can_be_told = len(made.judged.command_line or "") <= MAX_TOLD_CHARS
    asks = session.gate is not None and session.gate.works
    return session.is_busy or (asks and can_be_told)


_HISTORY = re.compile(r"![^ \t\n\r=(]|^\s*\^", re.MULTILINE)
"""What history may take the place of: `!` and a word of its own, `^old^new`."""


def _may_become_another(made: Made, operation: Doing, session: Session) -> bool:
    """Whether history may put other words into a line that runs by what it says."""
    return (
        operation.name == "command.run"
        and session.gate is not None
        and session.profile.shell in ("bash", "zsh")
        and made.judged.actor.kind != "person"
        and made.profile is not Profile.OPEN
        and isinstance(made.decision, Allow)
        and _HISTORY.search(made.judged.command_line or "") is not None
    )


def _with_hooks(made: Made, operation: Doing, session: Session, line: str) -> Made:
    """A line that changes how its shell asks is asked about while it still does."""
    if (
        session.gate is None
        or operation.name not in ("command.run", TYPED_LINE)
        or made.judged.actor.kind == "person"
        or made.profile is Profile.OPEN
        or not isinstance(made.decision, Allow)
    ):
        return made
    shell = session.profile.shell
    # The words of fish may be spelled as no other shell does.
    lines = (line, *(fish_commands(line) or ())) if shell == FISH and "\\" in line else (line,)
    whys = (touched_hook(each, shell=shell) for each in lines)
    why = next((each for each in whys if each is not None), None)
    return made if why is None else made.unproven(why)


def _as_typed(made: Made) -> Made:
    """Nothing rebuilds what a session's shell reads: proven is there what only reads as it stands."""
    judged, decision = made.judged, made.decision
    if (
        not isinstance(decision, Allow)
        or decision.canonical is None
        or judged.command_line is None
        or (made.profile is not Profile.STRICT and judged.mode is not Mode.HEADLESS)
    ):
        return made
    line = analyse(judged.command_line, judged.cwd, judged.shell).recognised
    if not isinstance(line, Line) or decision.canonical.commands == line.commands:
        return made
    allowing = [
        rule for rule in made.rules.applying(judged) if rule.decide == "allow" and rule.command
    ]
    for given, hardened in zip(line.commands, decision.canonical.commands, strict=True):
        if given != hardened and not any(rule.matches_words(given.words) for rule in allowing):
            why = "only reads with options that are not put to it in a session; process.run does"
            return made.unproven(f"{given.words[0]} {why}")
    return made


def _command_line(operation: Doing, params: Any) -> str | None:
    name = COMMAND_LINES.get(operation.name)
    line = None if name is None else getattr(params, name, None)
    return line.rstrip("\r\n") if isinstance(line, str) else None


def _cwd(params: Any, session: Session | None, home: str) -> str:
    """Where it will run, however that was said: rules go by directories."""
    if session is not None:
        return session.cwd
    if not hasattr(params, "cwd"):
        return ""
    cwd: str = params.cwd or "~"
    return normpath(join(home, cwd[2:] if cwd == "~" or cwd.startswith("~/") else cwd))


def _digest_of(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _without_shipped(rules: RuleSet) -> RuleSet:
    """The open profile asks nobody that the person did not tell it to ask, nor about what it cannot
    read. What shipped rules deny is denied there too, where it can be read.
    """
    return RuleSet(
        tuple(
            rule
            for rule in rules.rules
            if rule.where != "shipped" and not rule.where.startswith("shipped,")
        ),
        rules.profile,
    )
