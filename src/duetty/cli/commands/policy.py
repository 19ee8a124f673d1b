"""`duetty policy check` and `duetty policy explain`: no server needed.

`check` exits with 0 when every line may run, 10 when one needs a person's answer, 11
when one is denied; with `--jsonl` it exits with 0 when every line was judged.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import BinaryIO

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
    decide,
    load_rules,
    rule_lines,
)
from duetty.policy.catalogue import CLASSES
from duetty.policy.recogniser import Unproven
from duetty.policy.specs import Proof, Refuted

EXIT_ASKS, EXIT_DENIED = 10, 11

CHUNK_BYTES = 65_536

REMEMBERED = 10_000
"""Answers kept while a stream is judged: lines come again."""

_AGENT = Actor(kind="agent", name="check")
_COLOURS = {"allow": "32", "ask": "33", "deny": "31"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|explain")
    check = actions.add_parser(
        "check", help="judge command lines; JSON lines on stdin when none are given"
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
            "--rules", type=Path, metavar="FILE", help="TOML with [policy] and [[policy.rules]]"
        )


def run(arguments: argparse.Namespace) -> int:
    judge = _Judge(arguments)
    if arguments.action == "explain":
        return _explain(" ".join(arguments.command), judge)
    if not arguments.command:
        return _stream(sys.stdin.buffer, judge)
    decisions = [(line, judge(line, arguments.cwd)) for line in arguments.command]
    if arguments.jsonl:
        for number, (_, decision) in enumerate(decisions):
            print(_answer(number, decision))
        return 0
    for line, decision in decisions:
        _show(line, decision)
    kinds = {type(decision) for _, decision in decisions}
    return EXIT_DENIED if Deny in kinds else EXIT_ASKS if Ask in kinds else 0


class _Judge:
    """Profile, mode and rules of one run of the command."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.answers: dict[tuple[str, str], str] = {}
        self.mode = Mode(arguments.mode)
        self.rules = _rules(arguments.rules) if arguments.rules else RuleSet()
        self.profile = (
            Profile(arguments.profile)
            if arguments.profile
            else self.rules.profile or Profile.GUARDED
        )

    def __call__(self, line: str, cwd: str) -> Decision:
        call = Judged(
            operation="command.run",
            effect=Effect.INPUT,
            actor=_AGENT,
            mode=self.mode,
            cwd=cwd,
            command_line=line,
        )
        return decide(call, self.rules, self.profile, can_ask=self.mode is Mode.INTERACTIVE)

    def answer(self, identity: object, line: str, cwd: str) -> str:
        """As JSON; what was judged before is remembered."""
        known = self.answers.get((line, cwd))
        if known is None:
            known = _answer(None, self(line, cwd)).removeprefix('{"id": null')
            if len(self.answers) < REMEMBERED:
                self.answers[line, cwd] = known
        return f'{{"id": {json.dumps(identity)}{known}'


def _rules(path: Path) -> RuleSet:
    import tomllib

    text = path.read_text()
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadSetting(f"{path}: {error}") from None
    return load_rules(document.get("policy", document), str(path), lines=rule_lines(text))


def _stream(source: BinaryIO, judge: _Judge) -> int:
    """One answer for each line, at once: whoever feeds us may wait for it."""
    rest = b""
    while True:
        chunk = os.read(source.fileno(), CHUNK_BYTES)
        *lines, rest = (rest + chunk).split(b"\n")
        if not chunk and rest:
            lines, rest = [*lines, rest], b""
        sys.stdout.write("".join(_judged(line, judge) for line in lines if line.strip()))
        sys.stdout.flush()
        if not chunk:
            return 0


def _judged(raw: bytes, judge: _Judge) -> str:
    try:
        request = json.loads(raw)
        identity, line, cwd = request.get("id"), request["command"], request.get("cwd") or ""
        if isinstance(line, str) and isinstance(cwd, str):
            return judge.answer(identity, line, cwd) + "\n"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    print("duetty: not a JSON line with a command; denied", file=sys.stderr)
    return '{"id": null, "decision": "deny", "reason": "not_provable", "rule": "bad_input", "classes": []}\n'


def _answer(identity: object, decision: Decision) -> str:
    return json.dumps(
        {
            "id": identity,
            "decision": type(decision).__name__.lower(),
            "reason": decision.reason,
            "rule": decision.rule,
            "classes": decision.classes,
        }
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
    from duetty.policy.tree import drawn

    decision = judge(line, "")
    _show(line, decision)
    analysis = analyse(line)
    _explain_words(analysis)
    _explain_scan(analysis)
    if isinstance(decision, Allow) and decision.canonical:
        print(f"\nRuns as\n  {visible(decision.canonical.text)}")
    print("\nTree (tree-sitter; for people, never to allow)")
    for row in drawn(line).splitlines():
        print("  " + visible(row))
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
