"""A command line whose standard input is a file: typed as one group, so that all of it reads from there."""

import shlex
from pathlib import Path


def with_input(line: str, shell: str | None, path: Path) -> str:
    """The line as this shell has to be given it. The line end before the bracket ends a comment, too."""
    if shell == "fish":
        quoted = str(path).replace("\\", "\\\\").replace("'", "\\'")
        return f"begin\n{line}\nend < '{quoted}'"
    return f"{{ {line}\n}} < {shlex.quote(str(path))}"
