"""A call in, a decision out: the rules in force, and what comes besides the words.

Policy is pure; this knows the session, the directory and the project that a call is
about, and remembers. It asks no person and records nothing.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from json import dumps
from posixpath import join, normpath
from typing import Any, Protocol

from duetty.calls import Actor, Effect
from duetty.clock import Clock
from duetty.config import Settings
from duetty.errors import DuettyError
from duetty.ops.guardrail.decision_record import MAX_DETAIL, STRICTNESS, Decided
from duetty.ops.guardrail.server_files import OwnThings
from duetty.ops.guardrail.surroundings import (
    fed_text,
    known_shell,
    line_for,
    other_shell,
    shell_name,
    unknown_variables,
)
from duetty.ops.judgements import PLAIN, CallsTool, Judgement, RunsLine, Types
from duetty.ops.resolved_call import AnyCall
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
    home_elsewhere,
    visible,
)
from duetty.policy.proving.recogniser import Line
from duetty.session import Session, edited_text, ends_line, plain_text
from duetty.workspaces import workspace_of

REMEMBERED = 4_096
"""Decisions kept: the same line in the same place is decided the same."""

REMEMBERED_CHARS = 4_096
"""Of a line; longer ones are decided anew."""

MAX_ASKED_CHARS = 16_384
"""A person can answer for no line that is too long to read."""

UNKNOWN_SHELL = "unknown"
"""Of a session whose shell is none that is known: nothing is proven of it."""

INTERRUPT = b"\x03"

_SHIPPED_DIGEST = SHIPPED_RULES.digest
_SHELL_ESCAPE = re.compile(r"!+(.+)")
_DROP_LINE = "Ctrl-C, or a run with reset: true, drops that line; then send the whole as one run"
_USE_RUN = "send the whole line as a run (wsh_run_command, command.run); clear this one with Ctrl-C"


_NAMED = frozenset({"cwd", "sandbox", "shell", "session"})
"""Arguments that a decision may depend on besides what its judgement names."""


@dataclass(frozen=True, slots=True)
class Typing:
    """What a call types, and where."""

    data: bytes
    at_prompt: bool
    so_far: str | None = None
    """The shell's line before it, where that is known."""

    @property
    def ends_line(self) -> bool:
        return ends_line(self.data)


class ToolFacts(Protocol):
    """Facts about upstreams' tools."""

    def named(self, upstream: str, tool: str) -> str: ...
    def risk_of(self, upstream: str, tool: str) -> str: ...
    def trust_of(self, upstream: str) -> str: ...
    def check(self, upstream: str, tool: str) -> None:
        """Raise the error that the call would fail with, before a person is asked about it."""


class Judging:
    def __init__(
        self,
        *,
        settings: Settings,
        book: Rulebook,
        clock: Clock,
        home: str,
        own_things: OwnThings,
        own_pids: Callable[[], Sequence[int]],
        tools: ToolFacts,
    ) -> None:
        self.profile = Profile(settings.policy_profile)
        self.book = book
        self.rules = self.as_in_force(book.rules)
        self.projects = ProjectRules(clock, names=book.names)
        self.own_things = own_things
        self.own_pids = own_pids
        self.tools = tools
        self._digest = self.rules.digest
        self._settings = settings
        self._home = home
        self._home_elsewhere = home_elsewhere(home)
        self._plain: dict[tuple[str | None, ...], Judged] = {}
        self._remembered: dict[tuple[Judged, str, Profile], Decision] = {}

    @property
    def digest(self) -> str:
        return self._digest

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
    ) -> Decided:
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
            # The person who would be asked is the one who calls.
            decision = Allow(rule="person", reason="by_profile", classes=decision.classes)
        return Decided(judged=judged, rules=used, digest=digest, profile=profile, decision=decision)

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
        self, call: AnyCall, *, typing: Typing | None = None, secret: bool = False
    ) -> Decided:
        """`typing`: what it types, of an operation that does. `secret`: what is typed is not shown."""
        judged, session = self._judged(call), call.session
        match call.operation.judged:
            case CallsTool() as how:
                return self._of_tool_call(judged, how, call.params)
            case Types() if typing is not None and session is not None:
                return self._of_typing(judged, typing, session, secret=secret)
            case RunsLine():
                decided = self._of_line(judged, call.params, session, call.actor)
                return decided.withheld() if secret and judged.command_line else decided
            case _:
                return self.decide(judged)

    def of_forwarded(self, call: AnyCall) -> Decided:
        """Of a call that goes to another node: by what it says itself."""
        judged = replace(
            self._judged(call),
            cwd=getattr(call.params, "cwd", None) or "/",
            workspace="",
            home="",
            is_raw_input=False,  # the node knows what reads it
        )
        how = call.operation.judged
        if isinstance(how, CallsTool):
            return self._of_tool_call(judged, how, call.params)
        return self.decide(judged)

    def _judged(self, call: AnyCall) -> Judged:
        fields, actor = call.params.__dict__, call.actor
        if (
            call.session is not None
            or call.operation.judged != PLAIN
            or not _NAMED.isdisjoint(fields)
        ):
            return self._judged_anew(call)
        # Nothing but who calls what: the same for each of thousands of calls a second.
        named = actor.kind, actor.name, actor.conversation
        key = call.operation.name, *named, call.call.dialect, call.call.mode
        known = self._plain.get(key)
        if known is None:
            known = self._judged_anew(call)
            if len(self._plain) >= REMEMBERED:
                self._plain.clear()
            self._plain[key] = known
        return known

    def _judged_anew(self, call: AnyCall) -> Judged:
        operation, params, session = call.operation, call.params, call.session
        cwd = _cwd(params, session, self._home)
        confined, network = self._confinement(call.actor, params, session)
        return Judged(
            operation=operation.name,
            effect=operation.effect,
            actor=Actor(
                kind=call.actor.kind, name=call.actor.name, conversation=call.actor.conversation
            ),
            dialect=call.call.dialect,
            mode=Mode(call.call.mode),
            tags=frozenset(session.profile.tags) if session is not None else frozenset(),
            cwd=cwd,
            workspace=session.profile.workspace if session else workspace_of(cwd, self._home),
            home=self._home_elsewhere,
            sandbox=("open" if network else "closed") if confined else "",
            command_line=_command_line(operation.judged, params),
            shell=self._shell_of(call),
            is_raw_input=isinstance(operation.judged, Types),
            can_go_on=session is not None and isinstance(operation.judged, RunsLine),
        )

    def _confinement(self, actor: Actor, params: Any, session: Session | None) -> tuple[bool, bool]:
        """Whether it runs in a sandbox, and whether that lets it reach the network."""
        if session is not None:
            return session.profile.sandbox != "none", session.profile.network
        if "sandbox" not in params.__dict__:
            return False, True
        asked = params.sandbox or self._settings.session_sandbox
        is_confined = asked != "none" or actor.confined is not None
        return is_confined, self._settings.sandbox_network

    def _shell_of(self, call: AnyCall) -> str:
        """Which shell will read the line."""
        if call.session is not None:
            return call.session.profile.shell or UNKNOWN_SHELL
        if call.operation.name.startswith("process.") and call.call.mode != Mode.HEADLESS:
            own = self._settings.process_shell
            return shell_name(other_shell(call.params, own) or own)
        return ""  # headless, what was proven runs rebuilt

    # --- a line that is run ---------------------------------------------------------

    def _of_line(
        self, judged: Judged, params: Any, session: Session | None, actor: Actor
    ) -> Decided:
        if session is not None and session.prompt.is_busy:
            decided = self._into_program(judged)
        elif session is not None and session.prompt.is_continuing and judged.actor.kind != "person":
            decided = self._rest_of_line(judged, session, actor)
        else:
            decided = self.decide(judged)
        if judged.actor.kind != "person":
            decided = self._with_surroundings(decided, params)
        if isinstance(decided.decision, Ask) and len(judged.command_line or "") > MAX_ASKED_CHARS:
            return decided.too_long(judged.command_line or "", MAX_ASKED_CHARS)
        return decided if judged.operation.startswith("process.") else _as_typed(decided)

    def _into_program(self, judged: Judged) -> Decided:
        """A program reads it: an interpreter perhaps, perhaps a shell."""
        decided = self.decide(replace(judged, into_program=True))
        # A strict run asks, where a key would be refused.
        return self.decide(judged) if decided.profile is Profile.STRICT else decided

    def _rest_of_line(self, judged: Judged, session: Session, actor: Actor) -> Decided:
        """The shell asks for the rest of a line: judged is the whole."""
        if (so_far := session.prompt.line_so_far(actor)) is None:
            decided = self.decide(judged)
            why = "the shell still waits for the rest of a line that another actor began"
            if decided.profile is Profile.OPEN:
                return decided
            return decided.unproven(why, instead=_DROP_LINE)
        return self.decide(replace(judged, command_line=f"{so_far}{judged.command_line}"))

    def _wherever(self, decided: Decided) -> Decided:
        """As strict as in every directory that the line goes to, and where links lead."""
        for place in other_places(decided.judged, decided.rules):
            inner = self.decide(replace(decided.judged, cwd=place))
            if STRICTNESS[type(inner.decision)] <= STRICTNESS[type(decided.decision)] or (
                inner.digest == decided.digest
                and not inner.decision.rule.startswith("rule:")
                and decided.decision.reason != "allowed_by_rule"
            ):
                continue  # no rule is about that place
            assert not isinstance(inner.decision, Allow)
            detail = f"in {visible(place)}: {inner.decision.detail}"
            decided = replace(
                inner,
                judged=decided.judged,
                decision=replace(inner.decision, detail=detail),
                besides=_digest_of(place),
            )
        return decided

    def _with_surroundings(self, decided: Decided, params: Any) -> Decided:
        """As strict as the line, wherever it goes, what reads it, what is fed to a shell, and its variables."""
        shell, about = other_shell(params, self._settings.process_shell), list[tuple[str, str]]()
        decided = self._read_by(self._wherever(decided), shell)
        if shell is not None:
            about.append((shell, f"read by {visible(shell[:MAX_DETAIL])}"))
        line = decided.judged.command_line
        fed = None if line is None else fed_text(params, line, decided.judged.shell)
        if fed is not None:
            about.append((fed.text, ""))
            decided = self._fed(decided, fed.text, fed.readers)
        if code := unknown_variables(params):
            # Names only: the question and the trail keep no values.
            shown = ", ".join(visible(name[:100]) for name in sorted(code))
            why = f"variables can make programs run other code: {shown[:MAX_DETAIL]}"
            is_strict = decided.profile is Profile.STRICT or decided.judged.mode is Mode.HEADLESS
            is_asked = not isinstance(decided.decision, Allow)
            if is_strict and not is_asked:
                decided = decided.unproven(why)
            about.append((repr(sorted(code.items())), why if is_asked else ""))
        for what, detail in about:
            decided = decided.also_about(what, detail)
        return decided

    def _fed(self, decided: Decided, text: str, readers: Sequence[str]) -> Decided:
        """What a shell reads as its program is judged as a line of that shell."""
        for reader in readers:
            given = replace(decided.judged, command_line=text.rstrip("\n"), shell=reader)
            inner = self.decide(given)
            if STRICTNESS[type(inner.decision)] > STRICTNESS[type(decided.decision)]:
                assert not isinstance(inner.decision, Allow)
                detail = f"it is fed to a shell: {inner.decision.detail}"
                decided = replace(decided, decision=replace(inner.decision, detail=detail))
        return decided

    def _read_by(self, decided: Decided, shell: str | None) -> Decided:
        """A line is judged as shells read it; for any other program it is an argument."""
        line = decided.judged.command_line
        if line is None or shell is None or known_shell(shell) is not None:
            return decided
        started = self.decide(replace(decided.judged, command_line=line_for(shell, line)))
        if STRICTNESS[type(started.decision)] > STRICTNESS[type(decided.decision)]:
            return replace(started, judged=decided.judged)
        if isinstance(decided.decision, Allow) and decided.profile is not Profile.OPEN:
            return decided.unproven("a program is given it to read, and may do anything with it")
        return decided

    # --- tools of upstreams ---------------------------------------------------------

    def decide_tool(self, actor: Actor, upstream: str, tool: str) -> Decision:
        """What would become of a call of this tool."""
        judged = Judged(
            operation="upstreams.call",
            effect=Effect.CONTROL,
            actor=Actor(kind=actor.kind, name=actor.name),
        )
        return self.decide(self._of_tool(judged, upstream, tool)).decision

    def _of_tool_call(self, judged: Judged, how: CallsTool, params: Any) -> Decided:
        tool = str(getattr(params, how.tool))
        decided = self.decide(self._of_tool(judged, params.upstream, tool))
        # An answer is for these arguments and no others.
        if how.is_question and isinstance(decided.decision, Ask):
            allowed = Allow(rule="question", reason="by_profile", classes=decided.decision.classes)
            decided = replace(decided, decision=allowed)
        given: object = {} if how.arguments is None else getattr(params, how.arguments)
        text = dumps(given, sort_keys=True, ensure_ascii=False)
        if isinstance(decided.decision, Ask) and len(text) > MAX_ASKED_CHARS:
            return decided.too_long(text, MAX_ASKED_CHARS)
        return replace(decided, besides=_digest_of(text), arguments=visible(text))

    def _of_tool(self, judged: Judged, upstream: str, tool: str) -> Judged:
        tool = self.tools.named(upstream, tool)  # rules know a tool by its own name alone
        destroys = self.tools.risk_of(upstream, tool) == "destructive"
        trust = self.tools.trust_of(upstream)
        return replace(judged, tool=(upstream, tool), is_destructive=destroys, trust=trust)

    # --- what is typed --------------------------------------------------------------

    def typing(self, call: AnyCall, session: Session) -> Typing:
        data = _typed_bytes(call.operation.judged, call.params, session)
        if call.actor.kind == "person" or not session.prompt.is_open:
            return Typing(data, at_prompt=session.prompt.is_open)
        return Typing(data, at_prompt=True, so_far=session.prompt.line_so_far(call.actor))

    def of_keys(self, actor: Actor, session: Session) -> Decision:
        """Keys of a viewer that end no line."""
        judged = Judged(
            operation="input.type",
            effect=Effect.INPUT,
            actor=Actor(kind=actor.kind, name=actor.name),
            tags=frozenset(session.profile.tags),
            cwd=session.cwd,
            is_raw_input=True,
        )
        return self.decide(judged).decision

    def _of_typing(
        self, judged: Judged, typing: Typing, session: Session, *, secret: bool
    ) -> Decided:
        """A person's keys are never judged by their text; an agent's by the line that they end."""
        if typing.data == INTERRUPT:
            judged = replace(judged, is_raw_input=False)  # as `input.interrupt` is
        plain = self.decide(judged)
        if judged.actor.kind == "person" or not isinstance(plain.decision, Allow):
            return plain
        if plain.profile is not Profile.GUARDED:
            return plain
        if typing.at_prompt:
            return self._at_prompt(judged, typing, session) if typing.ends_line else plain
        if secret and session.pty.echo_and_canonical()[1]:
            return plain  # a password prompt: data, and nowhere kept
        if not (text := _program_lines(typing.data, session)):
            return plain
        found = self.decide(replace(judged, command_line=text, into_program=True))
        if isinstance(found.decision, Allow):
            return plain
        detail = f"typed into a program that may run it: {found.decision.detail}"
        return replace(found, decision=replace(found.decision, detail=detail))

    def _at_prompt(self, judged: Judged, typing: Typing, session: Session) -> Decided:
        """Enter at a shell's prompt: the line it ends is judged as a run's."""
        first, rest = _first_line(typing.data)
        text = plain_text(typing.data)
        if text is None:  # keys for the program that the first line starts
            text = plain_text(first)
        else:
            rest = b""
        if typing.so_far is None or text is None:
            return self._unknown_line(judged, session)
        line = (typing.so_far + text).rstrip("\n")
        if session.profile.shell_kind.may_change(line):
            return self._unknown_line(judged, session, "the shell may change it after Enter")
        judged = replace(judged, command_line=line, is_raw_input=False, can_go_on=True)
        decided = self._wherever(self.decide(judged))
        if rest and isinstance(decided.decision, Allow):
            into = replace(judged, command_line=edited_text(rest), into_program=True)
            return self.decide(into)
        if isinstance(decided.decision, Ask) and len(line) > MAX_ASKED_CHARS:
            return decided.too_long(line, MAX_ASKED_CHARS)
        return decided

    def _unknown_line(self, judged: Judged, session: Session, why: str = "") -> Decided:
        """Recalled, completed, edited with keys, or begun by another actor."""
        shown = session.prompt.shown_line()
        why = why or "not all of it was typed here as plain text, from an empty prompt"
        if shown:
            why += f"; the prompt shows: {visible(shown[:MAX_DETAIL])}"
        return self.decide(judged).unproven(f"the line is not known: {why}", instead=_USE_RUN)


def _first_line(data: bytes) -> tuple[bytes, bytes]:
    """Up to the first line end, and the rest."""
    found = re.search(rb"[\r\n\x0f]", data)
    return (data, b"") if found is None else (data[: found.end()], data[found.end() :])


def _program_lines(data: bytes, session: Session) -> str:
    """The lines that these keys end in a program, as far as their text can be known.

    In a full-screen program only what an editor hands to a shell: the rest is text that is edited.
    """
    *ended, _ = edited_text(session.prompt.typed.begun.encode() + data).split("\n")
    if session.alternate_active:
        ended = [found[1] for each in ended if (found := _SHELL_ESCAPE.search(each))]
    return "\n".join(ended).strip("\n")


def _typed_bytes(how: Judgement, params: Any, session: Session) -> bytes:
    """What the terminal gets; the operation itself refuses what has no bytes."""
    assert isinstance(how, Types)
    with suppress(DuettyError, ValueError):
        match how.text:
            case "keys":
                return session.pressed(params.keys)
            case "text":
                return session.pasted(params.text)
            case _ if params.encoding == "base64":
                return b64decode(params.data)
            case _:
                return params.data.encode("utf-8", "surrogatepass")
    return b""


def _as_typed(decided: Decided) -> Decided:
    """Nothing rebuilds what a session's shell reads: proven is there what only reads as it stands."""
    judged, decision = decided.judged, decided.decision
    if (
        not isinstance(decision, Allow)
        or decision.canonical is None
        or judged.command_line is None
        or (decided.profile is not Profile.STRICT and judged.mode is not Mode.HEADLESS)
    ):
        return decided
    line = analyse(
        judged.command_line, judged.cwd, judged.shell, judged.workspace, judged.home
    ).recognised
    if not isinstance(line, Line) or decision.canonical.commands == line.commands:
        return decided
    allowing = [
        rule for rule in decided.rules.applying(judged) if rule.decide == "allow" and rule.command
    ]
    for given, hardened in zip(line.commands, decision.canonical.commands, strict=True):
        if given != hardened and not any(rule.matches_words(given.words) for rule in allowing):
            why = "only reads with options that are not put to it in a session; process.run does"
            return decided.unproven(f"{given.words[0]} {why}")
    return decided


def _command_line(how: Judgement, params: Any) -> str | None:
    line = getattr(params, how.line, None) if isinstance(how, RunsLine) else None
    return line.rstrip("\r\n") if isinstance(line, str) else None


def _cwd(params: Any, session: Session | None, home: str) -> str:
    """The directory that it will run in, from any of the arguments that set it: rules go by directories."""
    if session is not None:
        return session.cwd
    if "cwd" not in params.__dict__:
        return ""
    cwd: str = params.cwd or "~"
    return normpath(join(home, cwd[2:] if cwd == "~" or cwd.startswith("~/") else cwd))


def _digest_of(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _without_shipped(rules: RuleSet) -> RuleSet:
    """The open profile asks only where a rule of the person's says so, and never about what it cannot
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
