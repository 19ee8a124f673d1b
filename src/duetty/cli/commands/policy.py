"""`duetty policy check` and `duetty policy explain`: no server needed.

`check` exits with 0 when every line may run, 10 when one needs a person's answer, 11
when one is denied; with `--jsonl` it exits with 0 when every line was judged.
"""

import argparse
import gc
import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, cast

from duetty.calls import Actor, Effect
from duetty.cli.show import visible
from duetty.errors import BadSetting
from duetty.policy import (
    Allow,
    Analysis,
    Ask,
    Decision,
    Deny,
    Judged,
    Mode,
    Profile,
    RuleSet,
    analyse,
    analyse_whole,
    decide,
    home_elsewhere,
    load_rules,
    rule_lines,
)
from duetty.policy.proving.recogniser import Unproven
from duetty.policy.proving.specs import Proof, Refuted
from duetty.policy.scanning.catalogue import CLASSES
from duetty.policy.shipped import SHIPPED_RULES, may_hold
from duetty.shell import SHELL_KINDS
from duetty.workspaces import workspace_of

EXIT_ASKS, EXIT_DENIED = 10, 11

SHELLS = tuple(kind.name for kind in SHELL_KINDS if kind.proven_as)
SANDBOXES = ("open", "closed")

CHUNK_BYTES = 65_536

MAX_LINE_BYTES = 1_048_576
"""Of a JSON line; a command line that is longer than a shell reads is refused anyway."""

REMEMBERED = 10_000
"""Answers kept while a stream is judged: lines come again."""

_AGENT = Actor(kind="agent", name="check")
_KINDS: dict[type[Decision], str] = {Allow: "allow", Ask: "ask", Deny: "deny"}
_json = json.JSONEncoder().encode


def _no_constant(name: str) -> object:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
"""NaN and Infinity are no JSON, and could not be answered."""

_scan_json = cast("Callable[[str, int], tuple[object, int]]", cast(Any, _DECODER).scan_once)
"""The decoder's own scanner: a line that is one object from end to end needs no more."""

_COLOURS = {"allow": "32", "ask": "33", "deny": "31"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|explain")
    check = actions.add_parser(
        "check", help="judge command lines; JSON lines on stdin when none are given"
    )
    check.epilog = (
        "exit codes: 0 all may run, 10 one asks, 11 one is denied, 2 wrong command line;"
        " with JSON lines 0 when each was judged"
    )
    check.add_argument("command", nargs="*", metavar="COMMAND", help="a command line, as one word")
    check.add_argument("--jsonl", action="store_true", help="answer as JSON lines")
    explain = actions.add_parser("explain", help="show how a command line is read and judged")
    explain.add_argument(
        "command", nargs="+", metavar="COMMAND", help="a command line; several words are joined"
    )
    for each in (check, explain):
        each.add_argument(
            "--profile", choices=list(Profile), help="default: guarded, or what the rules say"
        )
        each.add_argument("--mode", choices=list(Mode), default=Mode.INTERACTIVE)
        each.add_argument("--cwd", default="", help="where it would run")
        each.add_argument(
            "--workspace", help="what is the agent's to change (the repository of --cwd, or that)"
        )
        each.add_argument(
            "--sandbox", choices=SANDBOXES, default="", help="confined, with or without a network"
        )
        each.add_argument(
            "--shell", choices=SHELLS, default="bash", help="the shell that would read it (bash)"
        )
        each.add_argument(
            "--rules", type=Path, metavar="FILE", help="TOML with [policy] and [[policy.rules]]"
        )


def run(arguments: argparse.Namespace) -> int:
    judge = _Judge(arguments)
    if arguments.action == "explain":
        return _explain(" ".join(arguments.command), judge)
    if not arguments.command:
        return _stream(sys.stdin.buffer, judge)
    decisions = [(line, judge(judge.call(line))) for line in arguments.command]
    if arguments.jsonl:
        for number, (_, decision) in enumerate(decisions):
            print(f'{{"id": {number}, {_judgement(decision)}}}')
        return 0
    for line, decision in decisions:
        _show(line, decision)
    kinds = {type(decision) for _, decision in decisions}
    return EXIT_DENIED if Deny in kinds else EXIT_ASKS if Ask in kinds else 0


class _Judge:
    """Profile, mode and rules of one run of the command."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.answers: dict[Judged, str] = {}
        self.shell: str = arguments.shell
        self.cwd: str = arguments.cwd
        self.workspace: str | None = arguments.workspace
        self.sandbox: str = arguments.sandbox
        self.mode = Mode(arguments.mode)
        self.person = _rules(arguments.rules) if arguments.rules else RuleSet()
        self.profile = (
            Profile(arguments.profile)
            if arguments.profile
            else self.person.profile or Profile.GUARDED
        )
        self.rules = SHIPPED_RULES + self.person
        self.home = home_elsewhere(str(Path.home()))

    def call(self, line: str, given: Mapping[str, str] | None = None) -> Judged:
        """The call that an agent would make; `given`: what a JSON line says of it."""
        given = given or {}
        cwd = given.get("cwd", self.cwd)
        workspace = given.get("workspace", self.workspace)
        return Judged(
            operation="command.run",
            effect=Effect.INPUT,
            actor=_AGENT,
            mode=self.mode,
            cwd=cwd,
            command_line=line,
            shell=given.get("shell", self.shell),
            workspace=_workspace_of(cwd) if workspace is None else workspace,
            home=self.home,
            sandbox=given.get("sandbox", self.sandbox),
        )

    def __call__(self, call: Judged) -> Decision:
        can_ask = self.mode is Mode.INTERACTIVE
        rules = self.person
        if may_hold(
            analyse(call.command_line or "", call.cwd, call.shell, call.workspace, call.home)
        ):
            if self.profile is not Profile.OPEN:
                rules = self.rules
            elif isinstance(
                shipped := decide(call, SHIPPED_RULES, Profile.OPEN, can_ask=True), Deny
            ):
                return shipped  # in the open profile they only deny
        return decide(call, rules, self.profile, can_ask=can_ask)

    def answer(self, identity: object, call: Judged) -> str:
        """As JSON; what was judged before is remembered."""
        known = self.answers.get(call)
        if known is None:
            known = _judgement(self(call))
            if len(self.answers) < REMEMBERED:
                self.answers[call] = known
        # Most are numbers, which the encoder is slow about.
        shown = str(identity) if type(identity) is int else _json(identity)
        return f'{{"id": {shown}, {known}}}'


@lru_cache(maxsize=256)
def _workspace_of(cwd: str) -> str:
    return workspace_of(cwd, str(Path.home())) if cwd else ""


def _rules(path: Path) -> RuleSet:
    import tomllib

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"{path} cannot be read: {error}") from None
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadSetting(f"{path}: {error}") from None
    from duetty.ops.rule_names import RULE_NAMES  # with every operation behind it

    policy = document.get("policy", document)
    return load_rules(policy, str(path), lines=rule_lines(text), names=RULE_NAMES)


def _stream(source: BinaryIO, judge: _Judge) -> int:
    """One answer for each line, at once: the program that writes the lines may wait for it."""
    rest = b""
    too_long = False
    # What was loaded so far stays to the end: the collector need not look through it again and again.
    gc.freeze()
    while True:
        chunk = os.read(source.fileno(), CHUNK_BYTES)
        *lines, rest = (rest + chunk).split(b"\n")
        if not chunk and rest:
            lines, rest = [*lines, rest], b""
        answers = [_judged(line, judge) for line in lines if line.strip()]
        if too_long and (lines or not chunk):
            answers[:1] = [_refused(None, "too_long", f"longer than {MAX_LINE_BYTES} bytes")]
            too_long = False
        if len(rest) > MAX_LINE_BYTES:
            # Kept too short to be JSON, and answered when its end comes.
            rest, too_long = b"!", True
        sys.stdout.write("".join(answers))
        sys.stdout.flush()
        if not chunk:
            return 0


def _judged(raw: bytes, judge: _Judge) -> str:
    try:
        request = _decoded(raw.decode())
    except (ValueError, RecursionError):
        return _refused(None, "not_json", "not a line of JSON")
    if not isinstance(request, dict):
        return _refused(None, "not_an_object", "not a JSON object")
    fields = cast("dict[str, object]", request)
    identity, line = fields.get("id"), fields.get("command")
    if not isinstance(line, str):
        return _refused(identity, "no_command", "`command` must be a text")
    given: dict[str, str] = {}
    for name, known in _FIELDS.items():
        value = fields.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            return _refused(identity, f"bad_{name}", f"`{name}` must be a text")
        if known and value not in known:
            message = f"`{name}` must be one of {', '.join(known)}"
            return _refused(identity, f"bad_{name}", message)
        given[name] = value
    return judge.answer(identity, judge.call(line, given)) + "\n"


_FIELDS = {"cwd": (), "shell": SHELLS, "workspace": (), "sandbox": SANDBOXES}
"""What a JSON line may say besides its command, and the words that are known of each."""


def _decoded(text: str) -> object:
    if text[:1] == "{" and text[-1:] == "}":
        try:
            found, end = _scan_json(text, 0)
        except StopIteration:
            return _DECODER.decode(text)
        if end == len(text):
            return found
    return _DECODER.decode(text)


def _refused(identity: object, code: str, message: str) -> str:
    """What cannot be judged may not run; the rest of the lines are judged all the same."""
    answer: dict[str, object] = {
        "id": identity,
        "decision": "deny",
        "reason": "not_provable",
        "rule": "bad_input",
        "classes": [],
        "error": {"code": code, "message": message},
    }
    return json.dumps(answer) + "\n"


def _judgement(decision: Decision) -> str:
    """As the inside of a JSON object; reasons and classes are words of our own."""
    classes = ", ".join([f'"{name}"' for name in decision.classes])
    return (
        f'"decision": "{_KINDS[type(decision)]}", "reason": "{decision.reason}", '
        f'"rule": {_json(decision.rule)}, "classes": [{classes}]'
    )


def _show(line: str, decision: Decision) -> None:
    kind = type(decision).__name__.lower()
    print(f"{_coloured(f'{kind:<5}', kind)}  {visible(line)}")
    classes = f" ({', '.join(decision.classes)})" if decision.classes else ""
    print(f"       {decision.reason}, {decision.rule}{classes}")
    if not isinstance(decision, Allow):
        print(f"       {visible(decision.detail)}")
        if decision.instead:
            print(f"       instead: {decision.instead}")


def _coloured(text: str, kind: str) -> str:
    return f"\033[{_COLOURS[kind]}m{text}\033[0m" if sys.stdout.isatty() else text


def _explain(line: str, judge: _Judge) -> int:
    call = judge.call(line)
    decision = judge(call)
    _show(line, decision)
    analysis = analyse_whole(line, call.cwd, call.shell, call.workspace, call.home)
    _explain_words(analysis)
    _explain_scan(analysis)
    if isinstance(decision, Allow) and decision.canonical:
        print(f"\nRuns as\n  {visible(decision.canonical.text)}")
    return 0


def _explain_words(analysis: Analysis) -> None:
    recognised = analysis.recognised
    print("\nWords")
    if isinstance(recognised, Unproven):
        print(f"  not literal: {visible(recognised.why)}, at character {recognised.offset + 1}")
        return
    for command, join in zip(recognised.commands, ("", *recognised.joins), strict=True):
        shown = " ".join(f"⟨{visible(word)}⟩" for word in command.words)
        print(f"  {join:<2} {shown} {' '.join(command.redirects)}".rstrip())
    print(f"  the same in {', '.join(sorted(recognised.shells))}")
    match analysis.proof:
        case Proof():
            print("  every command is known to only read")
        case Refuted(command, why):
            print(f"  not known to only read: {visible(command.words[0])}: {visible(why)}")
        case None:
            pass


def _explain_scan(analysis: Analysis) -> None:
    scan = analysis.scan
    print("\nScan")
    if analysis.proven:
        print("  not needed")
        return
    for words in scan.commands:
        print("  runs       " + visible(" ".join(words)))
    for finding in scan.findings:
        print(f"  {finding.name}: {visible(finding.what)}")
        print(f"    {CLASSES[finding.name].reason}")
        print(f"    instead: {CLASSES[finding.name].instead}")
    for doubt in scan.unreadable:
        print("  unreadable " + visible(doubt))
    if not scan.findings and not scan.unreadable:
        print("  nothing found (which proves nothing)")
