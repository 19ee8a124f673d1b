"""The rules in force and the files that they came from: listed, judged anew, saved.

One decision uses one set: a decision takes `rules` once.
"""

import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio

from duetty.errors import BadSetting, RulesChanged, StateUnwritable
from duetty.ops.rulebook.in_force import SHIPPED_RULES, load_permissions, load_person_rules
from duetty.ops.rulebook.rules_text import (
    Examples,
    Judgement,
    judge_text,
    parts_of,
    replaced,
    text_hash,
)
from duetty.policy import Names, RuleSet

MAX_BYTES = 1 << 20
"""Of a settings file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The person's rules as the file has them now."""

    text: str
    hash: str
    exists: bool
    problem: str | None = None
    """Why they cannot be changed from here."""


class Rulebook:
    def __init__(self, config_file: Path, names: Names | None = None) -> None:
        """Raises:
        BadSetting: if a rule is broken.
        """
        self.file = config_file
        self.names = names
        self.person = load_person_rules(config_file, names)
        """Those in force."""

        self.examples: dict[str, Examples] = {}
        """Of the person's rules, by name."""

        written = self.written()
        self.hash = written.hash
        """Of the text in force; another one in the file waits for a restart, or to be saved."""

        if written.problem is None:
            self.examples = self.judged(written.text).examples
        self._saving = anyio.Lock()

    @property
    def rules(self) -> RuleSet:
        """Shipped ones and the person's."""
        return SHIPPED_RULES + self.person

    def written(self) -> Written:
        try:
            text, exists = self._read(), True
        except FileNotFoundError:
            text, exists = "", False
        except (OSError, ValueError) as error:
            return Written(text="", hash="", exists=True, problem=f"{self.file}: {error}")
        try:
            rules = parts_of(text).rules
        except BadSetting as error:
            return Written(text="", hash="", exists=exists, problem=error.message)
        return Written(text=rules, hash=text_hash(rules), exists=exists)

    def judged(self, text: str) -> Judgement:
        return judge_text(text, str(self.file), self.names)

    async def save(self, text: str, *, base: str) -> Judgement:
        """Put a text that is good in the place of the one with the hash `base`, and in force.

        Raises:
            RulesChanged: if the file has another text by now.
            BadSetting: if the new one is broken, or does not fit.
            StateUnwritable: if the file cannot be written.
        """
        judged = self.judged(text)
        if judged.problems:
            first = judged.problems[0]
            raise BadSetting(
                f"line {first.line}, column {first.column}: {first.message}", hint=first.hint
            )
        async with self._saving:
            await anyio.to_thread.run_sync(self._replace, text, base)
        self.person = self._placed(judged.rules)
        self.examples = judged.examples
        self.hash = self.written().hash
        return judged

    def _placed(self, rules: RuleSet) -> RuleSet:
        """The same rules, with their lines in the file and not in the text that was saved."""
        rules += load_permissions(self.file)  # the text has none of them
        try:
            found = load_person_rules(self.file, self.names)
        except (BadSetting, OSError, ValueError):
            return rules  # the file was changed again
        return found if found.digest == rules.digest else rules

    def _replace(self, text: str, base: str) -> None:
        written = self.written()
        if written.problem is not None:
            raise BadSetting(written.problem, hint="change the rules in the file itself")
        if written.hash != base:
            raise RulesChanged(
                "another writer changed the rules meanwhile",
                hint="read the text again and put your change into that",
                details={"hash": written.hash},
            )
        whole = self._read() if written.exists else ""
        _write(self.file, replaced(whole, text))

    def _read(self) -> str:
        with self.file.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES} bytes")
        return raw.decode("utf-8")


def _write(path: Path, text: str) -> None:
    """Whole or not at all, where a link leads if the file is one."""
    path = path.resolve()
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
        fd, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(fd, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(temporary).replace(path)
        temporary = None
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as error:
        raise StateUnwritable(
            f"cannot write {path}: {error.strerror}", hint="check that the file is yours"
        ) from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                Path(temporary).unlink()
