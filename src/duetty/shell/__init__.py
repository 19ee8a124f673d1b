"""Shells: how they are started so that they announce marks, and how marks are read.

Pure: bytes and command lines in, values out. The scripts in `scripts/` are
static files, written from the published sequences (OSC 133 and kitty's fields).
"""

from duetty.shell.confining import confined
from duetty.shell.gate import ASK, PASS, answer_line, armed_path
from duetty.shell.injection import NONCE_FD, Injection, Shell, integrate
from duetty.shell.marks import MAX_SEQUENCE_BYTES, Mark, MarkKind, MarkScanner, strip_nonce
from duetty.shell.telling import line_as_read, plain_text

__all__ = [
    "ASK",
    "MAX_SEQUENCE_BYTES",
    "NONCE_FD",
    "PASS",
    "Injection",
    "Mark",
    "MarkKind",
    "MarkScanner",
    "Shell",
    "answer_line",
    "armed_path",
    "confined",
    "integrate",
    "line_as_read",
    "plain_text",
    "strip_nonce",
]
