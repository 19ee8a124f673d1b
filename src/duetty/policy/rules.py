"""Rules of people: tables in, a checked set out; one that is broken refuses to load.

    [[policy.rules]]
    name = "no-publishing"
    decide = "deny"                      # deny, ask or allow
    command = ["npm publish **"]         # words; `*` within a word, `**` for any more words
    matches = ["npm publish --tag next"]
    not_matches = ["npm pack"]

Every condition that is given must hold: `operation`, `actor` (`agent`, `person:alice`),
`dialect`, `tag`, `mode`, `cwd` (the directory and what is below it), `command`, `tool`
(`mcp__*__delete_*`: server and tool apart). Deny beats ask, ask beats allow, and the
order of rules means nothing. Rules of a project may only tighten.

What denies or asks reads a line generously: it holds for every directory that the line
may enter, and for a program whose options stand before the words that it names. What
allows means what it says.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import translate
from functools import cache
from hashlib import sha256
from itertools import chain
from json import dumps
from posixpath import normpath
from typing import Literal, cast, get_args

from duetty.errors import BadSetting
from duetty.policy.analysis import Analysis, analyse, analyse_whole
from duetty.policy.decisions import Judged, Mode, Profile
from duetty.policy.directories import entered
from duetty.policy.late_pattern import late_pattern
from duetty.policy.proving.recogniser import Line
from duetty.policy.scanning.catalogue import CLASSES

MAX_RULES = 500
MAX_PATTERNS = 200
MAX_NAMED = 40
"""A message lists no more names than these."""

Verdict = Literal["deny", "ask", "allow"]

_LISTS = tuple(
    "operation actor dialect tag mode cwd command tool matches not_matches even_destructive".split()
)
_KEYS = (*_LISTS, "name", "decide", "why")

_NAME = late_pattern(r"[a-z0-9][a-z0-9._-]{0,63}")
_TOOL = late_pattern(r"mcp__((?:[A-Za-z0-9.*?-]|(?<=[^_])_(?!_))+)__([A-Za-z0-9_.*?-]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What calls are called. A rule about any other name would load and never hold."""

    operations: frozenset[str]
    dialects: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    name: str
    decide: Verdict
    operation: tuple[str, ...] = ()
    actor: tuple[str, ...] = ()
    dialect: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    mode: tuple[str, ...] = ()
    cwd: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()
    even_destructive: tuple[str, ...] = ()
    """Classes that an allowing rule knows of and allows all the same."""
    why: str = ""
    where: str = ""

    def applies(self, call: Judged) -> bool:
        """Whether every condition but the command's holds, or may hold."""
        return self.applying(call) is not None

    def applying(self, call: Judged) -> "Rule | None":
        """This rule, if every condition but the command's holds.

        Where the line may change to one of its directories, and that is unknown, it asks whatever it decides.
        """
        if not self._applies_anywhere(call):
            return None
        if not self.cwd:
            return self
        places, is_open = entered(call.command_line, call.cwd, shell=call.shell)
        if self.decide == "allow":
            return self if not is_open and all(map(self.is_about, places)) else None
        if any(map(self.is_about, places)):
            return self
        if not is_open:
            return None
        why = f"it may go to a directory that this rule is about: {', '.join(self.cwd[:3])}"
        return replace(self, decide="ask", why=why)

    def names_tag(self, tag: str) -> bool:
        return bool(self.tag) and _any(self.tag, tag)

    def is_about(self, directory: str) -> bool:
        return any(_within(directory, each) for each in self.cwd)

    def _applies_anywhere(self, call: Judged) -> bool:
        return (
            _any(self.operation, call.operation)
            and _any(self.actor, call.actor.kind, f"{call.actor.kind}:{call.actor.name}")
            and _any(self.dialect, call.dialect)
            and (not self.tag or any(_any(self.tag, tag) for tag in call.tags))
            and _any(self.mode, str(call.mode))
            and (not self.tool or (call.tool is not None and self.matches_tool(*call.tool)))
            and (not self.command or call.command_line is not None)
        )

    def matches_tool(self, server: str, tool: str) -> bool:
        for pattern in self.tool:
            parts = _TOOL.fullmatch(pattern)
            assert parts is not None  # load_rules let no other pass
            if _glob(parts[1]).fullmatch(server) and _glob(parts[2]).fullmatch(tool):
                return True
        return False

    def matches_words(self, words: Sequence[str]) -> bool:
        matches = _matches_words if self.decide == "allow" else _means_words
        return any(matches(_split(pattern), words) for pattern in self.command)

    def matches_line(self, analysis: Analysis) -> bool:
        """Whether some command of the line is meant (deny, ask), or every one (allow)."""
        if self.decide == "allow":
            line = analysis.recognised
            return isinstance(line, Line) and all(
                self.matches_words(each.words) for each in line.commands
            )
        if any(self.matches_words(words) for words in analysis.commands):
            return True
        line = analysis.recognised
        return isinstance(line, Line) and any(
            self.matches_words(each.words) for each in line.commands
        )


@dataclass(frozen=True, slots=True)
class RuleSet:
    rules: tuple[Rule, ...] = ()
    profile: Profile | None = None
    """What the document asked for; None when it has no such key."""

    def applying(self, call: Judged) -> list[Rule]:
        """Those whose every condition but the command's holds, in an order that is always the same."""
        found = (rule.applying(call) for rule in self.rules)
        return sorted(
            (rule for rule in found if rule is not None), key=lambda rule: (rule.name, repr(rule))
        )

    def __add__(self, other: "RuleSet") -> "RuleSet":
        """Both together, with the stricter profile: how a project's rules join a person's."""
        profiles = [each.profile for each in (self, other) if each.profile]
        strictest = max(profiles, key=list(Profile).index) if profiles else None
        return RuleSet(self.rules + other.rules, strictest)

    @property
    def digest(self) -> str:
        """The same for the same rules in any order; the trail keeps it with each decision."""
        kept = sorted(
            dumps(
                {
                    key: getattr(rule, key)
                    for key in (*_KEYS[:8], "even_destructive", "name", "decide")
                }
            )
            for rule in self.rules
        )
        return sha256(
            "\n".join([str(self.profile), *kept]).encode("utf-8", "surrogatepass")
        ).hexdigest()


def load_rules(
    document: object,
    where: str,
    *,
    project: bool = False,
    lines: Sequence[int] = (),
    names: Names | None = None,
) -> RuleSet:
    """The table `policy` of a parsed document, checked.

    `lines` are the lines on which the rules begin, for messages (see `rule_lines`);
    `names` are those that calls have, where it is known.

    Raises:
        BadSetting: a rule or key is wrong, or an example does not behave as it says.
    """
    if not isinstance(document, Mapping):
        raise _bad(where, "policy must be a table", near="write [policy] and [[policy.rules]]")
    document = cast("Mapping[str, object]", document)
    unknown = [key for key in document if key not in ("profile", "rules")]
    if unknown:
        raise _bad(
            where,
            f"no setting {unknown[0]!r} in [policy]",
            near=_nearest(unknown[0], ("profile", "rules")),
        )
    profile = document.get("profile")
    if profile is not None and profile not in list(Profile):
        raise _bad(where, f"no profile {profile!r}", near=f"there are {', '.join(Profile)}")
    tables = document.get("rules", [])
    if not isinstance(tables, list):
        raise _bad(where, "policy.rules must be a list of tables")
    tables = cast("list[object]", tables)
    if len(tables) > MAX_RULES:
        raise _bad(where, f"more than {MAX_RULES} rules")
    rules = tuple(
        _rule(table, number, where=_place(where, number, lines), project=project)
        for number, table in enumerate(tables, 1)
    )
    if names is not None:
        for rule in rules:
            _check_names(rule, names)
    seen = [rule.name for rule in rules]
    for number, name in enumerate(seen):
        if name in seen[:number]:
            raise _bad(rules[number].where, f"a second rule named {name!r}")
    return RuleSet(rules, Profile(str(profile)) if profile is not None else None)


def rule_lines(text: str) -> list[int]:
    """Where the rules begin in a TOML document's text."""
    return [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if line.split("#")[0].strip() in ("[[policy.rules]]", "[[rules]]")
    ]


def _rule(table: object, number: int, *, where: str, project: bool) -> Rule:
    if not isinstance(table, dict):
        raise _bad(where, "a rule must be a table")
    fields = cast("dict[str, object]", table)
    for key in fields:
        if key not in _KEYS:
            raise _bad(where, f"a rule has no {key!r}", near=_nearest(key, _KEYS))
    name = fields.get("name", f"rule-{number}")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _bad(where, "a rule's name is 1 to 64 lower-case letters, digits, '.', '_' and '-'")
    decide = fields.get("decide")
    if decide not in get_args(Verdict):
        raise _bad(where, f"rule {name!r}: decide must be one of deny, ask, allow")
    lists = {key: _texts(fields.get(key), f"rule {name!r}: {key}", where) for key in _LISTS}
    examples, counterexamples = lists.pop("matches"), lists.pop("not_matches")
    why = fields.get("why", "")
    if not isinstance(why, str):
        raise _bad(where, f"rule {name!r}: why must be text")
    rule = Rule(name=name, decide=cast(Verdict, decide), why=why, where=where, **lists)
    _check(rule, project=project)
    _check_examples(rule, examples, counterexamples)
    return rule


def _check(rule: Rule, *, project: bool) -> None:
    problems = _problems(rule, project=project), _class_problems(rule), _command_problems(rule)
    for problem, near in chain(*problems):
        raise _bad(rule.where, f"rule {rule.name!r}: {problem}", near=near)


def _problems(rule: Rule, *, project: bool) -> Iterator[tuple[str, str | None]]:
    """What is wrong with a rule, and what to write instead."""
    allows = rule.decide == "allow"
    if project and allows:
        near = "move it to your own config.toml"
        yield "a project's rules may deny and ask, not allow", near
    if allows and not (rule.command or rule.tool or rule.operation):
        yield "an allowing rule names a command, a tool or an operation", None
    if rule.tool and rule.command:
        near = "write two rules, one with tool and one with command"
        yield "a call of a tool has no command line, so it would never hold", near
    for mode in rule.mode:
        if mode not in list(Mode):
            yield f"no mode {mode!r}", f"there are {', '.join(Mode)}"
    for tool in rule.tool:
        if not _TOOL.fullmatch(tool):
            near = "write mcp__SERVER__TOOL, with * within a part"
            yield f"{tool!r} is not a tool pattern", near
    for directory in rule.cwd:
        if not directory.startswith("/"):
            yield f"cwd must be an absolute directory, not {directory!r}", None
    for actor in rule.actor:
        if actor.partition(":")[0] not in ("agent", "person", "node", "*"):
            near = "write agent, person or node, with :NAME where one is meant"
            yield f"{actor!r} is no actor", near


def _class_problems(rule: Rule) -> Iterator[tuple[str, str | None]]:
    for name in rule.even_destructive:
        if name not in CLASSES:
            yield f"no class {name!r}", _nearest(name, tuple(CLASSES))
        elif rule.decide != "allow":
            yield 'even_destructive goes with decide = "allow"', None
        elif CLASSES[name].grave:
            yield f"no rule can allow {name!r}: a person answers each time", None


def _command_problems(rule: Rule) -> Iterator[tuple[str, str | None]]:
    for pattern in rule.command:
        words = pattern.split()
        if not words:
            yield "an empty command pattern", None
        elif any(word[0] in "'\"" for word in words):
            near = "write ? for a blank within a word"
            yield f"{pattern!r} has quotes, which a word has no more when it is compared", near
        elif "**" in words[:-1] or any("**" in word for word in words if word != "**"):
            yield "** stands for any more words and can only be the last", None
        elif rule.decide == "allow" and words[0] in ("*", "**"):
            yield "an allowing rule names the program", None


def _check_names(rule: Rule, names: Names) -> None:
    for what, patterns, known in (
        ("operation", rule.operation, names.operations),
        ("dialect", rule.dialect, names.dialects),
    ):
        for pattern in patterns:
            if not any(map(_glob(pattern).fullmatch, known)):
                raise _bad(
                    rule.where,
                    f"rule {rule.name!r}: no {what} {pattern!r}, so it would never hold",
                    near=_nearest(pattern, sorted(known)),
                )


def _check_examples(
    rule: Rule, examples: tuple[str, ...], counterexamples: tuple[str, ...]
) -> None:
    if (examples or counterexamples) and not (rule.command or rule.tool):
        raise _bad(rule.where, f"rule {rule.name!r}: examples need a command or a tool pattern")
    for example in examples:
        if not _example_matches(rule, example):
            raise _bad(rule.where, f"rule {rule.name!r} does not match its example {example!r}")
        if rule.decide == "allow" and rule.command and (beyond := _beyond(rule, example)):
            grave = any(CLASSES[each].grave for each in beyond)
            raise _bad(
                rule.where,
                f"rule {rule.name!r} does not allow its example {example!r}: it is {', '.join(beyond)}",
                near="a person answers each time; leave the example out"
                if grave
                else f"an allowing rule names what it knows of: even_destructive = {dumps(beyond)}",
            )
    for example in counterexamples:
        if _example_matches(rule, example):
            raise _bad(rule.where, f"rule {rule.name!r} matches {example!r}, which it should not")


def _beyond(rule: Rule, example: str) -> list[str]:
    """Classes of the line that the rule does not name, wherever it may hold: then it never allows it."""
    found = [
        sorted({*analyse_whole(example, cwd).scan.classes} - {*rule.even_destructive})
        for cwd in rule.cwd or ("",)
    ]
    return min(found, key=len)


def _example_matches(rule: Rule, example: str) -> bool:
    if rule.tool and (parts := _TOOL.fullmatch(example)):
        return rule.matches_tool(parts[1], parts[2])
    return bool(rule.command) and rule.matches_line(analyse(example))


def _matches_words(pattern: tuple[str, ...], words: Sequence[str]) -> bool:
    open_ended = pattern[-1] == "**"
    fixed = pattern[:-1] if open_ended else pattern
    if len(words) < len(fixed) or (not open_ended and len(words) != len(fixed)):
        return False
    return _is_program(pattern[0], words[0]) and all(
        _glob(part).fullmatch(word) for part, word in zip(fixed[1:], words[1:], strict=False)
    )


def _is_program(part: str, word: str) -> bool:
    program = word if "/" in part else word.rpartition("/")[2]
    # Most rules name one program, and most commands are another.
    return program == part or (not part.isalnum() and _glob(part).fullmatch(program) is not None)


def _means_words(pattern: tuple[str, ...], words: Sequence[str]) -> bool:
    """The same, or with options, and a value for each, before words that the pattern spells out."""
    if not words or not _is_program(pattern[0], words[0]):
        return False
    if _matches_words(pattern, words):
        return True
    if len(pattern) == 1 or not any(word[:1] == "-" for word in words[1:]):
        return False
    is_open_ended = pattern[-1] == "**"
    at = {1}
    for part in pattern[1:-1] if is_open_ended else pattern[1:]:
        if part.strip("*?"):
            at = _past_options(at, words)
        at = {
            place + 1 for place in at if place < len(words) and _glob(part).fullmatch(words[place])
        }
    return bool(at) if is_open_ended else len(words) in at


def _past_options(at: set[int], words: Sequence[str]) -> set[int]:
    """Those places, and every one behind options that begin there."""
    reached = set(at)
    waiting = [*at]
    while waiting:
        place = waiting.pop()
        if place >= len(words) or words[place][:1] != "-":
            continue
        behind = (place + 1,) if "=" in words[place] else (place + 1, place + 2)
        waiting += [each for each in behind if each not in reached]
        reached.update(behind)
    return reached


def _any(patterns: tuple[str, ...], *values: str) -> bool:
    return not patterns or any(
        _glob(pattern).fullmatch(value) for pattern in patterns for value in values
    )


def _within(path: str, directory: str) -> bool:
    if not path.startswith("/"):
        return False
    path, directory = normpath(path), normpath(directory)
    pattern = _glob(directory)
    while True:
        if pattern.fullmatch(path):
            return True
        if path == "/" or path == "//":
            return False
        path = path.rpartition("/")[0] or "/"


@cache
def _split(pattern: str) -> tuple[str, ...]:
    return tuple(pattern.split())


@cache
def _glob(text: str) -> "re.Pattern[str]":
    return re.compile(translate(text))


def _texts(value: object, what: str, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    if (
        not values
        or len(values) > MAX_PATTERNS
        or not all(isinstance(each, str) and each for each in values)
    ):
        raise _bad(where, f"{what} must be text or a list of 1 to {MAX_PATTERNS} texts")
    return tuple(cast("list[str]", values))


def _place(where: str, number: int, lines: Sequence[int]) -> str:
    return (
        f"{where}, line {lines[number - 1]}" if number <= len(lines) else f"{where}, rule {number}"
    )


def _nearest(name: str, names: Sequence[str]) -> str | None:
    near = get_close_matches(name, names, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"there are {', '.join(sorted(names))}" if len(names) <= MAX_NAMED else None


def _bad(where: str, message: str, *, near: str | None = None) -> BadSetting:
    return BadSetting(f"{where}: {message}", hint=near)
