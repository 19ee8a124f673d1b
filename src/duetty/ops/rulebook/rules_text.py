"""The person's rules as text: the part of `config.toml` that has them, judged and put back.

The rest of that file is left alone: it is neither shown nor changed, and
a new text that would change it is refused.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import cast

from duetty.errors import BadSetting
from duetty.policy import Names, RuleSet, load_rules

_HEADER = re.compile(r"\s*\[.*\]\s*(#.*)?")
_RULE = re.compile(r"""\s*\[\[\s*["']?policy["']?\s*\.\s*["']?rules["']?\s*\]\]\s*(#.*)?""")
_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")
_EXAMPLE = re.compile(r"(?:its example|matches) (?P<quoted>'.*'|\".*\")")

HERE = "these rules"

_NONE = RuleSet()


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a text cannot be used, and where: lines and columns count from 1."""

    line: int
    column: int
    message: str
    hint: str | None = None
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Examples:
    matches: tuple[str, ...] = ()
    not_matches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a text of rules says, or every reason why it says nothing."""

    rules: RuleSet = _NONE
    examples: dict[str, Examples]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A settings file around its rules."""

    before: str
    rules: str
    after: str

    def joined(self, rules: str) -> str:
        """The file with other rules."""
        if not rules.strip():
            return self.before + self.after
        kept = rules.rstrip("\n") + "\n"
        gap = "\n" if self.before and not self.before.endswith("\n\n") else ""
        tail = "\n" if self.after and not self.after.startswith("\n") else ""
        before = (
            self.before if not self.before or self.before.endswith("\n") else self.before + "\n"
        )
        return before + gap + kept + tail + self.after


def text_hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def parts_of(text: str) -> Parts:
    """The rules of a settings file, with the comments right above each, and what is around them.

    Raises:
        BadSetting: if the file is broken, or has rules in another form.
    """
    before: list[str] = []
    rules: list[str] = []
    after: list[str] = []
    for section, is_rule in _sections(text.splitlines(keepends=True)):
        (rules if is_rule else after if rules else before).extend(section)
    parts = Parts(before="".join(before), rules="".join(rules).strip("\n"), after="".join(after))
    if parts.rules:
        parts = Parts(before=parts.before, rules=parts.rules + "\n", after=parts.after)
    document = _loaded(text)
    if _rules_in(document) != _rules_in(_loaded(parts.rules)) or not _is_rest(
        document, _loaded(parts.before + parts.after)
    ):
        raise BadSetting(
            "the rules in the settings file are not written as [[policy.rules]] tables",
            hint="change them in the file itself",
        )
    return parts


def replaced(text: str, rules: str) -> str:
    """The settings file with these rules, which were judged to be good, and otherwise the same.

    Raises:
        BadSetting: if it would not be otherwise the same.
    """
    made = parts_of(text).joined(rules)
    document = _loaded(made)
    if _rules_in(document) != _rules_in(_loaded(rules)) or not _is_rest(_loaded(text), document):
        raise BadSetting(
            "these rules do not fit into the settings file", hint="change them in the file itself"
        )
    return made


def judge_text(text: str, where: str = HERE, names: Names | None = None) -> Judgement:
    """Every rule, with every problem that does not follow from another."""
    try:
        document: dict[str, object] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return Judgement(examples={}, problems=(_syntax(text, error),))
    except RecursionError:
        return Judgement(examples={}, problems=(Problem(line=1, column=1, message="too deep"),))
    if (problem := _stranger(document, text)) is not None:
        return Judgement(examples={}, problems=(problem,))
    tables = _rules_in(document)
    starts = _starts(text)
    rows = text.splitlines()
    problems: list[Problem] = []
    examples: dict[str, Examples] = {}
    for number, table in enumerate(tables):
        begin = starts[number] if number < len(starts) else 1
        end = starts[number + 1] - 1 if number + 1 < len(starts) else len(rows)
        # A rule without a name is called by its number.
        named: dict[str, object] = {"name": f"rule-{number + 1}"}
        if isinstance(table, dict):
            named |= cast("dict[str, object]", table)
        name = str(named["name"])
        try:
            alone = {"rules": [named if isinstance(table, dict) else table]}
            load_rules(alone, HERE, names=names)
            if name in examples:
                raise BadSetting(f"{HERE}: a second rule named {name!r}")
        except BadSetting as error:
            problems.append(_placed(error, name, rows[begin - 1 : end], begin))
            continue
        examples[name] = examples_of(named)
    if problems:
        return Judgement(examples=examples, problems=tuple(problems))
    try:
        loaded = load_rules({"rules": tables}, where, lines=starts, names=names)
    except BadSetting as error:
        return Judgement(examples=examples, problems=(_placed(error, None, rows, 1),))
    return Judgement(rules=loaded, examples=examples)


def examples_of(table: dict[str, object]) -> Examples:
    return Examples(_texts(table.get("matches")), _texts(table.get("not_matches")))


def _texts(value: object) -> tuple[str, ...]:
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return tuple(each for each in values if isinstance(each, str))


def _stranger(document: dict[str, object], text: str) -> Problem | None:
    """Anything that is no rule: it would be another setting, which is not changed here."""
    policy = document.get("policy", {})
    strange = [key for key in document if key != "policy"]
    if isinstance(policy, dict):
        keys = cast("dict[str, object]", policy)
        strange += [f"policy.{key}" for key in keys if key != "rules"]
        if not strange and not isinstance(keys.get("rules", []), list):
            strange = ["policy.rules"]
    elif not strange:
        strange = ["policy"]
    if not strange:
        return None
    key = strange[0].rpartition(".")[2]
    line = next(
        (n for n, row in enumerate(text.splitlines(), 1) if re.match(rf"\s*\[*\s*\W?{re.escape(key)}\b", row)),
        1,
    )  # fmt: skip
    return Problem(
        line=line,
        column=1,
        message=f"{strange[0]} is no rule",
        hint="only [[policy.rules]] tables belong here",
    )


def _sections(lines: Sequence[str]) -> list[tuple[list[str], bool]]:
    """Runs of lines, each with whether it is a rule; comments go with the header below them."""
    found: list[tuple[list[str], bool]] = [([], False)]
    for line in lines:
        if not _HEADER.fullmatch(line.rstrip("\n")):
            found[-1][0].append(line)
            continue
        comments: list[str] = []
        while found[-1][0] and found[-1][0][-1].lstrip().startswith("#"):
            comments.insert(0, found[-1][0].pop())
        found.append(([*comments, line], _RULE.fullmatch(line.rstrip("\n")) is not None))
    return found


def _starts(text: str) -> list[int]:
    return [n for n, line in enumerate(text.splitlines(), 1) if _RULE.fullmatch(line)]


def _loaded(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadSetting(f"the settings file cannot be read: {error}") from error


def _rules_in(document: dict[str, object]) -> list[object]:
    policy = document.get("policy")
    rules = cast("dict[str, object]", policy).get("rules") if isinstance(policy, dict) else None
    return cast("list[object]", rules) if isinstance(rules, list) else []


def _is_rest(document: dict[str, object], other: dict[str, object]) -> bool:
    return _without_rules(document) == _without_rules(other)


def _without_rules(document: dict[str, object]) -> dict[str, object]:
    policy = document.get("policy")
    if not isinstance(policy, dict):
        return document
    rest = {
        key: value for key, value in cast("dict[str, object]", policy).items() if key != "rules"
    }
    others = {key: value for key, value in document.items() if key != "policy"}
    return others | ({"policy": rest} if rest else {})


def _syntax(text: str, error: tomllib.TOMLDecodeError) -> Problem:
    reason = str(error)
    found = _PLACE.search(reason)
    message = _PLACE.sub("", reason).replace("(at end of document)", "").strip()
    if found:
        return Problem(line=int(found[1]), column=int(found[2]), message=message)
    rows = text.splitlines() or [""]
    return Problem(line=len(rows), column=len(rows[-1]) + 1, message=f"{message}, at the end")


def _placed(error: BadSetting, rule: str | None, rows: Sequence[str], begin: int) -> Problem:
    """With the line that the message is about, as far as it can be found."""
    message = re.sub(rf"^{HERE}(, (line|rule) \d+)?: ", "", error.message)
    line, column = begin, 1
    if (found := _row_of(message, rows)) is not None:
        line, column = begin + found[0], found[1] + 1
    return Problem(line=line, column=column, message=message, hint=error.hint, rule=rule)


def _row_of(message: str, rows: Sequence[str]) -> tuple[int, int] | None:
    if (quoted := _EXAMPLE.search(message)) is not None:
        text = quoted["quoted"][1:-1]
        key = "not_matches" if "should not" in message else "matches"
        first = next((n for n, row in enumerate(rows) if re.match(rf"\s*{key}\s*=", row)), 0)
        for number, row in enumerate(rows[first:], first):
            if (at := row.find(text)) >= 0:
                return number, at
    words = re.findall(r"[a-z_]+", message.replace("named", "name"))
    for number, row in enumerate(rows):
        key = re.match(r"\s*([a-z_]+)\s*=", row)
        if key and key[1] in words:
            return number, key.start(1)
    return None
