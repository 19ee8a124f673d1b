"""Shells: how they are started so that they announce marks, and how marks are read.

Pure: bytes and command lines in, values out. Each shell is one module with one value
(`ShellKind`) and one script in `scripts/`; `table.py` lists them. The scripts are static files,
written from the published sequences (OSC 133 and kitty's fields). Knows nothing of processes,
terminals or sessions.
"""

from duetty.shell.injection import NONCE_FD, Injection, integrate
from duetty.shell.kind import EXACT_LINE, ShellKind
from duetty.shell.marks import MAX_SEQUENCE_BYTES, Mark, MarkKind, MarkScanner, strip_nonce
from duetty.shell.table import (
    OTHER_SHELL,
    SHELL_KINDS,
    confined,
    kind_of_program,
    shell_kind,
)

__all__ = [
    "EXACT_LINE",
    "MAX_SEQUENCE_BYTES",
    "NONCE_FD",
    "OTHER_SHELL",
    "SHELL_KINDS",
    "Injection",
    "Mark",
    "MarkKind",
    "MarkScanner",
    "ShellKind",
    "confined",
    "integrate",
    "kind_of_program",
    "shell_kind",
    "strip_nonce",
]
