"""The commands of a fish line, as lines that the scan can read.

fish has no grammar of its own in the scan: its blocks end with `end`, and `(…)`
is a substitution. So a line is cut where fish ends a command, block words are
dropped, and what is left of each piece is the same in every shell. Serves the
scan only, which may block and never allows.
"""

SEPARATORS = frozenset(";\n|&()")

OPENERS = frozenset({"if", "while", "and", "or", "not", "begin", "else", "end", "time", "!"})
"""Words before a command; `end` may be followed by a redirection and nothing else."""

HEADERS = frozenset({"for", "switch", "case", "function"})
"""Words that begin a block by naming something: no command is in that piece."""

MAX_PIECES = 200


RUNNERS = frozenset(
    "command builtin exec env sudo doas nohup nice ionice time timeout setsid stdbuf xargs".split()
)
"""Programs that run what follows their options."""

SHELLS = frozenset("sh bash dash zsh ksh fish".split())

_GAP = "\0"
"""In place of a substitution, where it matters that there was one."""


def fish_hides(line: str) -> str | None:
    """Why it cannot be read off a line of fish what it runs; None if nothing of the kind is seen."""
    for piece in _cut(line, gap=_GAP) or ():
        words = _without_block_words(piece).split()
        while words and words[0] in RUNNERS:
            words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        if not words:
            continue
        program, has_gap = words[0].strip("'\""), any(_GAP in word for word in words)
        if _GAP in program:
            return "the name of a program is computed"
        if program in ("source", ".") and (has_gap or not words[1:] or words[1] == "-"):
            return "it runs what is piped into it"
        if has_gap and (program == "eval" or program.rpartition("/")[2] in SHELLS):
            return "what it runs is computed"
    return None


def fish_commands(line: str) -> tuple[str, ...] | None:
    """Each command of the line; None if the line cannot be cut."""
    pieces = _cut(line)
    if pieces is None or len(pieces) > MAX_PIECES:
        return None
    commands = [_without_block_words(piece) for piece in pieces]
    return tuple(command for command in commands if command)


def _cut(line: str, gap: str = "_") -> list[str] | None:
    pieces: list[str] = []
    piece: list[str] = []
    quote = ""
    at = 0
    while at < len(line):
        character = line[at]
        if quote == "'" and line[at : at + 2] in ("\\\\", "\\'"):
            # Only fish reads backslashes there: as other shells would write it.
            piece.append("\\" if line[at + 1] == "\\" else "'\\''")
            at += 2
            continue
        if character == "\\" and quote != "'":
            piece.append(line[at : at + 2])
            at += 2
            continue
        if quote:
            quote = "" if character == quote else quote
            if character in "()" and quote == '"' and line[at - 1 : at] == "$":
                return None  # a substitution within quotes
            piece.append(character)
        elif character in "'\"":
            quote = character
            piece.append(character)
        elif character == "#" and (not piece or piece[-1].isspace()):
            end = line.find("\n", at)
            at = len(line) if end < 0 else end
            continue
        elif character in SEPARATORS and not _is_redirection(line, at):
            if character == "(":
                piece = [text for text in piece if text != "$"]
                piece.append(gap)  # whatever it gives is one word of the command around it
            pieces.append("".join(piece))
            piece = []
        else:
            piece.append(character)
        at += 1
    if quote:
        return None
    pieces.append("".join(piece))
    return pieces


def _is_redirection(line: str, at: int) -> bool:
    """`2>&1`, `&>file`."""
    return line[at] == "&" and (line[at - 1 : at] == ">" or line[at + 1 : at + 2] == ">")


def _without_block_words(piece: str) -> str:
    words = piece.split()
    if words and words[0] in HEADERS:
        return ""
    while words and words[0] in OPENERS:
        piece = piece.lstrip().removeprefix(words.pop(0))
        if words and words[0] in HEADERS:
            return ""
    return piece.strip()
