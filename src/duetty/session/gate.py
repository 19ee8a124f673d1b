"""A session's gate: the question its shell asks before it runs a line, and our answer.

Armed when an agent first writes to the session other than by a run: until then
every line passes unasked, because a run's line has been judged already and a
person's line is the person's business. Who judges is not known here.

Whose a line is: an agent's, as long as line ends that an agent wrote may still be
on their way, or something it wrote may stand in the line. Bytes wait in the terminal
while a command runs, and a program may take them; so a line too many may be asked
about, and none too few.
"""

import errno
import os
import re
import stat
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio

from duetty.calls import Actor
from duetty.errors import DuettyError, Unavailable
from duetty.shell import ASK, PASS, Mark, answer_line, armed_path, line_as_read, plain_text

ANSWER_S = 10.0
"""How long a shell may take from its question to reading the answer."""

TOLD_BYTES = 64
"""Of the file that says whether to ask; more than either of its two texts."""

ANSWER_STEP_S = 0.002

SETTLED_S = 1.0
"""Since an agent's last byte: it has come through the kernel's buffers, or is seen in them."""

LINE_ENDS = (b"\r", b"\n", b"\x0f")
"""What makes a shell take a line: Enter, and Ctrl-O of bash."""

_SURE = re.compile(
    rb"(?:[ -~\r\n\x01-\x03\x05\x06\x08\x0b\x0c\x0f\x15\x17\x7f]|\x1b[\[O][A-D]|\x1b\[200~[^\x1b]*\x1b\[201~)*"
)
"""Keys after which Enter ends the line, in every keymap: text, motions, what takes away, a whole paste."""

PROMPT_S = 2.0
"""How long a shell may take from the end of a line to its prompt before nobody types into it unseen."""

IDLE_S = 0.1
"""Since a prompt: what a shell still had in store, of a macro perhaps, would have made a line by now."""

MAX_TYPED_CHARS = 131_072
"""Of what agents put on a line. A longer one is told by nobody."""

MAX_UNJUDGED = 256
"""Lines that wait for a question of the shell. The same line is always left to it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A line that a shell is about to run."""

    id: str
    line: str | None
    """As it stands; None if the shell could not tell."""
    history: str | None = None
    """What its history has, where that is not the line."""
    expanded: str | None
    """With aliases expanded, where the shell tells that."""
    run_line: str | None
    """The line that a run is typing, which was decided on already."""
    actor: Actor
    """Who wrote the line: an agent, if one had a part in it that was not decided on."""


Judge = Callable[[str, Question], Awaitable[str | None]]
"""Session name and question in; None to let the line run, or why not."""


class Gate:
    """The files of one session's gate. Always asks in a session that has no armed file."""

    def __init__(self, path: Path, *, nonce: str) -> None:
        self._path = path
        self._nonce = nonce
        self._armed = False
        self._agent: Actor | None = None
        """The one that wrote last, other than by a run."""

        self._is_agents = False
        """Whether the next line may have something of an agent's. How many lines an agent has sent
        cannot be told by what it wrote: one key may make several, and programs take some."""

        self._is_open = False
        """Whether nothing has ended the line since that something was written."""

        self._is_sure = True
        """Whether Enter was Enter, to all that is known: not behind Ctrl-V, nor in a menu of completions."""

        self._wrote_at = 0
        """How many prompts there were when it was, or when it was ended."""

        self._typed: str | None = None
        """What agents and runs put on the line since the last prompt, to the letter; None if nobody knows."""

        self._wrote_s = 0.0
        self._prompted_s = 0.0
        self._unjudged: set[str] = set()
        self._was_asked = False
        self._was_ever_asked = False
        self._has_slipped = False
        """Whether a shell that asked before ran a line unasked: something has got at it, and may again."""

        self.prompts = 0
        """Drawn by the shell so far."""

        self.works = True
        """Whether the shell said at its last prompt that it will ask."""

        self._done_s: float | None = None
        """When a line ended, until the next prompt."""

        self.has_begun = False
        """Whether there was such a prompt. A shell that was interrupted while it read its files, or is
        another program by now, draws none."""

    def make(self, *, always: bool) -> None:
        """Before the shell starts.

        Raises:
            OSError: if the directory cannot be written.
        """
        os.mkfifo(self._path, 0o600)
        if not always:
            armed_path(self._path).write_text(PASS)

    def inherit(self, actor: Actor) -> None:
        """A server before us let agents write; what is still on its way is not known."""
        self._armed = _is_armed(armed_path(self._path))
        if self._armed:
            self._agent, self._is_agents, self._is_open = actor, True, True

    def expect(
        self, data: bytes, *, actor: Actor, now_s: float, is_line_empty: Callable[[], bool]
    ) -> None:
        """These bytes are about to be written, by no run: an agent's are asked about.

        `is_line_empty` tells whether the shell waits with an empty line and has taken all there was.
        """
        if actor.kind == "person":
            self._typed = None
            if self._is_agents and self._is_over(now_s) and is_line_empty():
                self._is_agents = False
            self.note_ends(data)
            return
        if not self._armed or any(each in data for each in LINE_ENDS):
            self._arm()
        if not self._is_sure and self.prompts > self._wrote_at and is_line_empty():
            self._is_sure = True
        self._is_sure = self._is_sure and _SURE.fullmatch(data) is not None
        self._note(actor, data, now_s)
        self._add(data, is_line_empty)

    def _add(self, data: bytes, is_line_empty: Callable[[], bool]) -> None:
        """Keep what these keys put on the line, if all of it is known."""
        before, text = self._typed, plain_text(data)
        if before == "" and not is_line_empty():
            before = (
                None  # what was written ahead of the prompt may stand there, or go on from there
            )
        self._typed = None if before is None or text is None else before + text
        if self._typed is not None and len(self._typed) > MAX_TYPED_CHARS:
            self._typed = None

    def note_run(self, data: bytes, is_line_empty: Callable[[], bool]) -> None:
        """These bytes are about to be written by a run."""
        if self._armed:
            self._add(data, is_line_empty)
        else:
            self._typed = None  # nobody asks, or (in strict) about all in several lines anyway
        self.note_ends(data)

    def note_ends(self, data: bytes) -> None:
        """These bytes are about to be written by a person, or a run."""
        if self._is_open and any(each in data for each in LINE_ENDS):
            self._is_open = False
            self._wrote_at = self.prompts

    def _note(self, actor: Actor, data: bytes, now_s: float) -> None:
        self._agent = actor
        self._wrote_s = now_s
        self._wrote_at = self.prompts
        self._is_agents = True
        self._is_open = not self._is_sure or data[-1:] not in LINE_ENDS

    def _is_over(self, now_s: float) -> bool:
        """Whether there was a prompt since, and the shell has waited at it for a while."""
        return (
            not self._is_open
            and self.prompts > self._wrote_at
            and now_s - self._prompted_s >= IDLE_S
        )

    def has_settled(self, now_s: float) -> bool:
        """Whether what an agent wrote last is long since through."""
        return now_s - self._wrote_s >= SETTLED_S

    def leave(self, line: str, *, actor: Actor) -> None:
        """A run will type this line though nobody could read it: the shell is to ask about it."""
        self.ask_about_run(line, actor=actor)
        if len(self._unjudged) >= MAX_UNJUDGED:
            self._unjudged.clear()
        self._unjudged.add(line.strip())

    def ask_about_run(self, line: str, *, actor: Actor) -> None:
        """A run will type this line, and the shell may make another of it: it is to tell which."""
        self._arm()
        self._note(actor, line.encode("utf-8", "surrogatepass") + b"\r", self._wrote_s)

    def is_judged(self, line: str) -> bool:
        return line.strip() not in self._unjudged

    def line_of(self, mark: Mark, *, are_keys_plain: Callable[[], bool]) -> str | None:
        """The line that this mark asks about; None if it cannot be told.

        `are_keys_plain` tells whether the terminal hands on line ends and text as they come.
        """
        typed = self._typed if self._typed and are_keys_plain() else None
        return line_as_read(mark, typed)

    def take_actor(self) -> Actor | None:
        """The agent whose line this may be."""
        self._was_asked = self._was_ever_asked = True
        return self._agent if self._is_agents else None

    def note_prompt(self, *, gated: bool, now_s: float) -> str | None:
        """The shell drew a prompt and said whether it will ask; why not, when that is news."""
        before, self._was_asked = self.works, False
        self.works = gated and not self._has_slipped
        self._typed = ""
        self._done_s = None
        self.has_begun = True
        self.prompts += 1
        self._prompted_s = now_s
        if before and not gated:
            return "the shell's hook that asks before it runs a line was changed or removed"
        return None

    def note_done(self, now_s: float) -> None:
        """A line has ended; the prompt comes next."""
        self._done_s = now_s

    def is_prompt_missing(self, now_s: float) -> bool:
        """Whether no prompt came: what draws it, and asks, may be gone."""
        return self._done_s is not None and now_s - self._done_s > PROMPT_S

    def note_output(self) -> str | None:
        """A line runs; why that should not be, when nobody was asked about it."""
        was_asked, self._was_asked, self._done_s = self._was_asked, False, None
        if was_asked or not self._armed or not self.works or not self._agent:
            return None
        self.works, self._has_slipped = False, self._was_ever_asked
        return "the shell ran a line without asking"

    def _arm(self) -> None:
        """From now on the shell asks. A disk that refuses leaves no file, and that asks too.

        Each time anew: a program of the same user may have written into the file.
        """
        self._armed = True
        armed = armed_path(self._path)
        try:
            if _told(armed) != ASK.encode():
                _tell(armed, ASK)
        except FileNotFoundError:
            return
        except OSError:
            with suppress(OSError):
                armed.unlink()

    async def answer(self, question: Question, refusal: str | None) -> None:
        """Tell the shell.

        Raises:
            Unavailable: if the shell does not read it.
        """
        line = answer_line(nonce=self._nonce, question=question.id, refusal=refusal)
        with anyio.move_on_after(ANSWER_S):
            while not self._try_write(line):  # noqa: ASYNC110 - a FIFO tells nobody of its reader
                await anyio.sleep(ANSWER_STEP_S)
            return
        raise Unavailable("the shell asked whether it may run a line and does not read the answer")

    def remove(self) -> None:
        for path in (self._path, armed_path(self._path)):
            with suppress(OSError):
                path.unlink()

    def _try_write(self, line: bytes) -> bool:
        try:
            fd = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno == errno.ENXIO:  # it has asked and does not read yet
                return False
            raise Unavailable(f"the gate {self._path} is gone: {error.strerror}") from error
        try:
            if not stat.S_ISFIFO(os.fstat(fd).st_mode):
                raise Unavailable(f"the gate {self._path} is no FIFO any more")
            os.write(fd, line)
        except BlockingIOError:  # somebody else has filled it: the shell reads that first
            return False
        except OSError as error:
            raise Unavailable(f"nobody reads the gate {self._path}: {error.strerror}") from error
        finally:
            os.close(fd)
        return True


def _is_armed(armed: Path) -> bool:
    try:
        return _told(armed) != PASS.encode()
    except OSError:
        return True


# The session's programs can write that file, or put something else in its place: anything, of any size.


def _told(armed: Path) -> bytes:
    fd = os.open(armed, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return os.read(fd, TOLD_BYTES)
    finally:
        os.close(fd)


def _tell(armed: Path, text: str) -> None:
    flags = os.O_WRONLY | os.O_TRUNC | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(armed, flags)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


async def decide(judge: Judge, session: str, question: Question) -> str | None:
    """The judge's answer; a judge that fails refuses."""
    is_judged = question.line is not None and question.line == question.run_line
    if question.actor.kind == "person" or is_judged:
        return None
    try:
        return await judge(session, question)
    except DuettyError as error:
        return f"duetty: {error.message}"
