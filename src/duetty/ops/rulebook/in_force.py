"""The rules in force: shipped ones, the person's, and those of the project at hand.

A broken rule of the person refuses to start; one of a project refuses every call
of an agent there, and says which file to mend. One decision uses one set.
"""

import errno
import json
import os
import re
import stat
import tomllib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import cast

from duetty.clock import Clock
from duetty.errors import BadSetting, PolicyDenied
from duetty.file_lines import IS_TOML, json_line, mistake, toml_line
from duetty.ops.rulebook.rules_text import Examples, examples_of
from duetty.platform.own_process import name_of_descriptor
from duetty.policy import Judged, Names, Profile, RuleSet, load_rules, rule_lines
from duetty.policy.directories import entered
from duetty.policy.shipped import SHIPPED, SHIPPED_RULES

__all__ = [
    "PROJECT_FILE",
    "SHIPPED",
    "SHIPPED_RULES",
    "Project",
    "ProjectRules",
    "load_person_rules",
    "other_places",
    "shipped_examples",
    "stricter",
]

PROJECT_FILE = ".duetty/settings.json"
PROJECT_FILES = (PROJECT_FILE, ".elwood/settings.json")
PROJECT_KEYS = ("policy", "permissions", "mcp")
"""What a file of ours may have; `mcp` is read by who offers its servers (`upstreams/projects.py`)."""

_VERDICTS = ("deny", "ask", "allow")
PROJECT_LOOK_S = 2.0
"""How long what was found for a directory is taken as it was."""

MAX_DIRECTORIES = 500
MAX_PROJECT_BYTES = 256 * 1024
MAX_DEPTH = 256
"""Directories above one another in which files of projects are looked for; below more of them nothing runs."""

_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
"""Why there is no file. For any other reason there may be one."""

_RULES_KEY = re.compile(r"\s*(?:policy\s*\.\s*)?[\"']?rules[\"']?\s*=")


def load_person_rules(config_file: Path, names: Names | None = None) -> RuleSet:
    """`[[policy.rules]]` and `[permissions]` of the settings file.

    Raises:
        BadSetting: if one is broken; nothing starts then.
    """
    if not config_file.exists():
        return RuleSet()
    text = config_file.read_text(encoding="utf-8")
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadSetting(mistake(config_file, text, error), hint=IS_TOML) from error
    table: object = document.get("policy", {})
    listed = permitted(
        document.get("permissions", {}), str(config_file), lambda *keys: toml_line(text, keys)
    )
    rules = cast("dict[str, object]", table).get("rules") if isinstance(table, dict) else None
    if rules is None:
        return listed
    lines = rule_lines(text)
    where = str(config_file) if lines else f"{config_file}{_rules_line(text)}"
    return load_rules({"rules": rules}, where, lines=lines, names=names) + listed


def load_permissions(config_file: Path) -> RuleSet:
    """`[permissions]` of the settings file alone; none where it cannot be read."""
    try:
        document = tomllib.loads(config_file.read_text(encoding="utf-8"))
        return permitted(document.get("permissions", {}), str(config_file), _unasked)
    except (OSError, ValueError, RecursionError, BadSetting):
        return RuleSet()


Line = Callable[..., int]
"""On which line of the file something stands, by its keys."""


def _unasked(*_keys: str) -> int:
    return 1


def permitted(table: object, file: str, line: Line, *, project: bool = False) -> RuleSet:
    """Lists of tools under `allow`, `ask` and `deny`, as rules. What a project allows says nothing.

    Raises:
        BadSetting: if it is not such a table, or names anything but tools of upstreams.
    """
    if not isinstance(table, dict):
        raise BadSetting(
            f"{file}:{line('permissions')}: permissions must be lists",
            hint='write deny = ["mcp__*__x"]',
        )
    lists = cast("dict[str, object]", table)
    if unknown := [key for key in lists if key not in _VERDICTS]:
        raise BadSetting(
            f"{file}:{line('permissions', unknown[0])}: permissions has no {unknown[0]!r}",
            hint="there are allow, ask and deny",
        )
    given = [
        verdict
        for verdict in _VERDICTS
        if lists.get(verdict) not in (None, []) and not (project and verdict == "allow")
    ]
    rules = [
        {"name": f"permissions.{verdict}", "decide": verdict, "tool": lists[verdict]}
        for verdict in given
    ]
    try:
        return load_rules({"rules": rules}, file, project=project)
    except BadSetting:
        lines = [line("permissions", verdict) for verdict in given]
        return load_rules({"rules": rules}, file, project=project, lines=lines)


def _rules_line(text: str) -> str:
    """Where rules begin that are not written as tables of their own."""
    found = (n for n, row in enumerate(text.splitlines(), 1) if _RULES_KEY.match(row))
    line = next(found, None)
    return "" if line is None else f", line {line}"


def other_places(judged: Judged, rules: RuleSet) -> list[str]:
    """Directories besides its own that a call may be made in: where links lead, where its line goes.

    Those that rules or files of projects can be about; policy itself looks at no file.
    """
    cwd = judged.cwd
    if not cwd.startswith("/"):
        return []
    line = judged.command_line
    places = entered(line, cwd, shell=judged.shell).places if line is not None else ()
    names = [each for each in places if _can_be_named(each)]
    if any(rule.cwd for rule in rules.rules):
        names += [_led_to(each) or each for each in names or [cwd]]
    return [each for each in dict.fromkeys(names) if each != cwd]


def shipped_examples() -> dict[str, Examples]:
    return _examples(SHIPPED)


def _examples(policy: dict[str, object]) -> dict[str, Examples]:
    tables = cast("list[dict[str, object]]", policy.get("rules", []))
    return {
        str(table.get("name", f"rule-{number}")): examples_of(table)
        for number, table in enumerate(tables, 1)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """What one file of a project says."""

    file: Path
    rules: RuleSet
    examples: dict[str, Examples]


class ProjectRules:
    """What the `.duetty/settings.json` in and above a directory add.

    All of them: one that is nearer, and perhaps written by an agent, takes nothing away.
    """

    def __init__(self, clock: Clock, *, names: Names | None = None) -> None:
        self._clock = clock
        self._names = names
        self._found: OrderedDict[str, tuple[float, RuleSet | BadSetting]] = OrderedDict()

    def of(self, cwd: str) -> RuleSet:
        """Raises:
        PolicyDenied: if a project's file cannot be used.
        """
        now_s = self._clock.monotonic_s()
        known = self._found.get(cwd)
        if known is None or now_s - known[0] >= PROJECT_LOOK_S:
            known = now_s, self._read(cwd)
            self._found[cwd] = known
            if len(self._found) > MAX_DIRECTORIES:
                self._found.popitem(last=False)
        if isinstance(known[1], BadSetting):
            raise PolicyDenied(
                f"the project's rules cannot be read: {known[1].message}",
                hint=known[1].hint or "mend the file",
                details={"reason": "denied_by_rule", "rule": "project"},
            )
        return known[1]

    def _read(self, cwd: str) -> RuleSet | BadSetting:
        found = RuleSet()
        try:
            for file in self.files(cwd):
                found += self.read(file).rules
        except BadSetting as error:
            return error
        return found

    @staticmethod
    def files(cwd: str) -> list[Path]:
        """Nearest first; where links lead, and as the directory is called.

        Raises:
            BadSetting: if the directory is too deep to be sure, or its path cannot be read.
        """
        places: dict[Path, None] = {}
        if (real := _led_to(cwd)) is None:
            raise BadSetting(
                f"{cwd}: where it leads may not be looked at", hint="name another directory"
            )
        for name in (real, cwd):
            if name.startswith("/"):
                directory = Path(name)
                places |= dict.fromkeys((directory, *directory.parents))
        if len(places) > 2 * MAX_DEPTH:
            raise BadSetting(f"{cwd[:100]}…: it is more than {MAX_DEPTH} directories deep")
        return [
            path
            for place in places
            for name in PROJECT_FILES
            if _may_be_there(path := place / name)
        ]

    def read(self, path: Path) -> Project:
        """Raises:
        BadSetting: if the file cannot be used.
        """
        try:
            raw, is_linked = _bytes_of(path)
        except OSError as error:
            raise BadSetting(f"{path}: {error}") from error
        try:
            return self._parsed(path, raw)
        except BadSetting as error:
            if not is_linked:
                raise
            # It may be any file of this person's, and the maker of the link must not learn its text.
            raise BadSetting(
                f"{path}: it is a link, and what it leads to is no project's settings",
                hint="put a file there",
            ) from error

    def _parsed(self, path: Path, raw: bytes) -> Project:
        try:
            if len(raw) > MAX_PROJECT_BYTES:
                raise BadSetting(f"{path}: it has more than {MAX_PROJECT_BYTES} bytes")
            document: object = json.loads(raw, object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            raise BadSetting(
                mistake(path, raw.decode("utf-8", "replace"), error), hint="the file is JSON"
            ) from error
        text = raw.decode("utf-8", "replace")

        def line(*keys: str) -> int:
            return json_line(text, keys)

        if not isinstance(document, dict):
            raise BadSetting(f"{path}:1: it must be a JSON object")
        known = cast("dict[str, object]", document)
        is_ours = path.parent.name != ".elwood"  # that one has settings of its own
        if is_ours and (unknown := [key for key in known if key not in PROJECT_KEYS]):
            near = get_close_matches(unknown[0].lower(), PROJECT_KEYS, n=1)
            raise BadSetting(
                f"{path}:{line(unknown[0])}: no setting {unknown[0]!r}",
                hint=f"did you mean {near[0]!r}?"
                if near
                else "a project's file has policy, permissions and mcp",
            )
        policy = known.get("policy", {})
        if not isinstance(policy, dict):
            raise BadSetting(f"{path}:{line('policy')}: policy must be an object")
        table = cast("dict[str, object]", policy)
        rules = load_rules(table, str(path), project=True, names=self._names)
        rules += permitted(known.get("permissions", {}), str(path), line, project=True)
        return Project(file=path, rules=rules, examples=_examples(table))


def _led_to(path: str) -> str | None:
    """Where links lead; None where one may not be read (`/proc/1/root`)."""
    try:
        return os.path.realpath(path)
    except OSError:
        return None


def _can_be_named(path: str) -> bool:
    """Whether the system could have a directory of this name."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return path.startswith("/") and "\0" not in path


def _may_be_there(path: Path) -> bool:
    """Whether anything has this name, whatever it is."""
    try:
        path.lstat()
    except OSError as error:
        return error.errno not in _ABSENT
    except ValueError:
        return False
    return True


def _bytes_of(path: Path) -> tuple[bytes, bool]:
    """Up to one more than there may be, and whether a link led there; of a file only, since anything
    else may wait, or do something.

    Raises:
        OSError: if it cannot be read, or is no file.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError("it is no file")
    # Another file may have been put there since.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is no file")
        is_linked = Path(name_of_descriptor(descriptor)).parts[-2:] != path.parts[-2:]
        return file.read(MAX_PROJECT_BYTES + 1), is_linked


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Of two values one would be lost, and perhaps the stricter."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise ValueError(f"the key {twice[:100]!a} stands twice in one object")
    return found


def stricter(first: Profile, second: Profile | None) -> Profile:
    return first if second is None else max(first, second, key=list(Profile).index)
