"""Shells: how they are started so that they announce marks, and how marks are read.

Pure: bytes and command lines in, values out. The scripts in `scripts/` are
static files, written from the published sequences (OSC 133 and kitty's fields).
"""

from duetty.shell.exact_lines import EXACT_LINE, needs_exact_line
from duetty.shell.injection import NONCE_FD, Injection, Shell, integrate
from duetty.shell.marks import MAX_SEQUENCE_BYTES, Mark, MarkKind, MarkScanner, strip_nonce
from duetty.shell.sandbox_needs import confined
from duetty.shell.stdin_file import with_input

__all__ = [
    "EXACT_LINE",
    "MAX_SEQUENCE_BYTES",
    "NONCE_FD",
    "Injection",
    "Mark",
    "MarkKind",
    "MarkScanner",
    "Shell",
    "confined",
    "integrate",
    "needs_exact_line",
    "strip_nonce",
    "with_input",
]
