r"""Marks: where the shell says a prompt, a line, its output and its end are.

Bytes in, marks out. Pure and total: programs write these bytes too, so no
input raises, an unfinished sequence is bounded, and only the session's nonce
makes a mark trusted. Knows nothing of blocks, time or the emulator.

    ESC ] 133 ; letter *( ";" field ) ( BEL | ESC "\" )

    A   a prompt begins            B   the prompt ends, input begins
    C   a command line runs        D   it ended; the first field is its exit code

    nonce=<nonce>       the mark is trusted
    k=s                 continuation prompt (A, B)
    cmdline=<quoted>    the command line, as `${x@Q}` of bash or `${(qqqq)x}` of zsh writes it
    cmdline_url=<url>   the same, percent-encoded
    t=<seconds>         when, by the machine's clock, with a fraction (C, D)
    took=<ms>           how long the line ran, where the shell tells that instead (D)
    cwd=, cwd_url=      the directory, likewise
    cwd_raw=<bytes>     the directory as it is, up to the end of the sequence: always the last field

The 8-bit introducer 0x9D and terminator 0x9C are not looked for: both are
continuation bytes of UTF-8, and "Ü" would end a sequence.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from duetty.shell.quoting import split_fields, unquoted

MAX_SEQUENCE_BYTES = 64 * 1024
"""A longer sequence is not a mark. The shells send at most a few times 4,096 bytes."""

_INTRODUCER = re.compile(rb"\x1b(?:\](?:1(?:3(?:3(?:;|\Z)|\Z)|\Z)|\Z)|\Z)")
"""`ESC ] 133 ;`, or as much of it as the chunk still holds. One pass in C either way."""

_INTRODUCER_BYTES = len(b"\x1b]133;")

_STOP = re.compile(rb"[\x07\x18\x1a\x1b]")
"""BEL and ESC \\ end a sequence; CAN, SUB and any other ESC abandon it."""

_EXIT_CODE = re.compile(rb"-?[0-9]{1,10}\Z")

_SECONDS = re.compile(rb"([0-9]{9,11})[.,]([0-9]{1,9})\Z")
"""bash writes the fraction as the user's language does."""

_COUNT = re.compile(rb"[0-9]{1,12}\Z")

_CMDLINE, _CWD = ((name, name + b"_url", name + b"_raw") for name in (b"cmdline", b"cwd"))
"""A text may come in three ways of writing."""

_BEL, _ESC, _BACKSLASH = b"\x07\x1b\\"


class MarkKind(StrEnum):
    PROMPT = "A"
    INPUT = "B"
    OUTPUT = "C"
    DONE = "D"


_KINDS = {kind.value.encode(): kind for kind in MarkKind}


class Mark(NamedTuple):
    """One boundary, as announced; `None` where the mark has no value."""

    kind: MarkKind
    start: int
    """Offset of its first byte in the session's output."""
    end: int
    """Offset after its last byte."""
    trusted: bool = False
    secondary: bool = False
    """A continuation prompt: the line is not complete yet."""
    exit_code: int | None = None
    command_line: str | None = None
    cwd: str | None = None
    at_ns: int | None = None
    """When the shell says it was."""
    took_ns: int | None = None
    """How long the line ran, of a `DONE` that tells it; a shell that counts whole milliseconds
    tells nothing of a line that took less than one."""


class MarkScanner:
    """Finds the marks of one session in its output, chunk by chunk."""

    def __init__(self, nonce: str, *, carry: bytes = b"") -> None:
        self._nonce = nonce.encode()
        self.carry = carry
        """The bytes of a sequence that began and did not end: all the state there is.

        Save it with a snapshot, or rebuild it by scanning the last
        `MAX_SEQUENCE_BYTES` of the journal.
        """

    def scan(self, data: bytes | memoryview, offset: int) -> Sequence[Mark]:
        """The marks that end in `data`, whose first byte has this offset.

        Chunks are scanned in order and without gaps.
        """
        marks: list[Mark] = []
        at = 0
        if self.carry:
            carried = len(self.carry)
            # A sequence that begins in the carry is decided within this much.
            joined = self.carry + bytes(data[: MAX_SEQUENCE_BYTES + _INTRODUCER_BYTES])
            at = self._scan(joined, 0, carried, offset - carried, marks) - carried
            if at < 0:
                return marks
        self._scan(data, at, len(data), offset, marks)
        return marks

    def _scan(
        self, buffer: bytes | memoryview, at: int, limit: int, base: int, marks: list[Mark]
    ) -> int:
        """Decide every sequence that begins before `limit`; where to go on, or -1 if one is open."""
        size = len(buffer)
        self.carry = b""
        while at < limit:
            introducer = _INTRODUCER.search(buffer, at)
            if introducer is None or introducer.start() >= limit:
                return max(at, limit)
            start = introducer.start()
            body = start + _INTRODUCER_BYTES
            bound = start + MAX_SEQUENCE_BYTES
            stop = _STOP.search(buffer, body, bound) if introducer.end() == body else None
            if stop is None:
                if size < bound:
                    self.carry = bytes(buffer[start:])
                    return -1
                at = bound
                continue
            at = stop.start()
            byte = buffer[at]
            if byte == _ESC and at + 1 == size:
                self.carry = bytes(buffer[start:])
                return -1
            if byte == _BEL or (byte == _ESC and buffer[at + 1] == _BACKSLASH):
                end = at + (1 if byte == _BEL else 2)
                if end <= bound:
                    mark = self._mark(bytes(buffer[body:at]), base + start, base + end)
                    if mark is not None:
                        marks.append(mark)
                at = end
            elif byte != _ESC:
                at += 1
        return at

    def _mark(self, body: bytes, start: int, end: int) -> Mark | None:
        letter, _, rest = body.partition(b";")
        kind = _KINDS.get(letter)
        if kind is None:
            return None
        fields = split_fields(rest)
        named: dict[bytes, bytes] = {}
        for field in fields:
            name, equals, value = field.partition(b"=")
            if equals:
                named.setdefault(name, value)
        return Mark(
            kind=kind,
            start=start,
            end=end,
            trusted=bool(self._nonce) and named.get(b"nonce") == self._nonce,
            secondary=named.get(b"k") == b"s",
            exit_code=_exit_code(fields) if kind is MarkKind.DONE else None,
            command_line=_text(named, _CMDLINE),
            cwd=_text(named, _CWD),
            at_ns=_at_ns(named.get(b"t", b"")),
            took_ns=_took_ns(named.get(b"took", b"")),
        )


def strip_nonce(data: bytes, nonce: str) -> bytes:
    """The same bytes, the same length, with no trusted mark in them.

    For exports: a recording that is printed again in its own session is text.
    Takes whole slices; a nonce cut in two by the caller would be kept.
    """
    secret = nonce.encode()
    return data.replace(secret, b"-" * len(secret)) if secret else data


def _exit_code(fields: Sequence[bytes]) -> int | None:
    return int(fields[0]) if fields and _EXIT_CODE.match(fields[0]) else None


def _at_ns(seconds: bytes) -> int | None:
    found = _SECONDS.match(seconds)
    return int(found[1]) * 10**9 + int(found[2].ljust(9, b"0")) if found else None


def _took_ns(milliseconds: bytes) -> int | None:
    found = _COUNT.match(milliseconds)
    return int(milliseconds) * 10**6 or None if found else None


def _text(named: dict[bytes, bytes], names: tuple[bytes, bytes, bytes]) -> str | None:
    plain, url, raw = names
    if (quoted := named.get(url)) is not None:
        return unquote_to_bytes(quoted).decode("utf-8", "replace")
    if (quoted := named.get(raw)) is not None:
        # The line discipline of the PTY writes CR LF where the shell wrote LF.
        return quoted.replace(b"\r\n", b"\n").decode("utf-8", "replace")
    if (quoted := named.get(plain)) is None:
        return None
    value = unquoted(quoted)
    return value.decode("utf-8", "replace") if value is not None else None
