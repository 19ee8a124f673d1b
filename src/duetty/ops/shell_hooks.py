"""Lines that change how an integrated shell asks before it runs a line.

A guardrail like the rest of policy: it looks at the text, so that the plain ways to
switch the question off are asked about while it is still asked. Code that is read from
a file can do the same unseen; then the next prompt says that the hook is gone.
"""

import re

from duetty.policy.reader import read

_COMMAND = r"(?:^\s*|[;&|({]\s*|\b(?:command|builtin|then|do|else|and|or|not|begin)\s+)"
"""Where a command may begin."""

_ANY = (
    (r"_duetty", "it names parts of the integration"),
    (r"\bPROMPT_COMMAND\b|\bPS0\b|\bpromptvars\b", "it changes what bash runs before a line"),
    (
        r"\btrap\b[^;&|]*\b(DEBUG|INT|SIGINT|RETURN)\b|\bTRAP[A-Z]+\b",
        "it traps what the gate works with",
    ),
    (
        r"\bstty\b[^;&|]*\b(intr|isig|lnext|raw|sane|undef)|\bcmdhist\b|interactive_?comments",
        "it changes how the shell reads lines, or keeps them",
    ),
    (
        r"\bprint\s+(-\w+\s+)*-\w*z|\bread\s+(-\w+\s+)*-\w*z|\bvared\b|\bpush-line\b",
        "it puts text on the next line",
    ),
    (r"\bextdebug\b", "it changes how bash runs lines"),
    (
        r"\b(preexec|precmd)(_functions)?\b|\badd-zsh-hook\b|\bzle\s+-(N|D)|\bsched\b",
        "it changes what zsh runs before a line",
    ),
    (r"\bbind\s+(\S+\s+)*-x\b", "it binds a key to code, which runs without a question"),
    (
        r"\bfish_(preexec|prompt|postexec|key_bindings|cancel|posterror)\b",
        "it changes what fish runs before a line",
    ),
    (
        r"(\bfunction\s+|^\s*|[;&|{(]\s*)(builtin|command|kill|read|test|printf|set|string|status"
        r"|commandline|functions|random|fc|emulate|print|local|typeset)\s*\(\s*\)",
        "it puts a function in the place of a command that the integration uses",
    ),
    (
        r"\bfunction\s+(builtin|command|kill|read|test|printf|set|string|status|commandline"
        r"|functions|random|fc|emulate|print|local|typeset)\b",
        "it puts a function in the place of a command that the integration uses",
    ),
    (
        rf"{_COMMAND}(enable|disable|unfunction|unhash)\s+\S|\bunset\s+(-\w+\s+)*-\w*f",
        "it switches commands off that the integration may use",
    ),
    (
        r"armed\b|\bDUETTY_HOME\b|duetty\S*scratch",
        "it names files by which the shell asks",
    ),
    (
        r"\bbind\b[^;&|]*(:|\s-\w*f)|\bbindkey\b(?!\s*(-[evldLp]+\s*)*($|[;&|]))",
        "it binds a key, which may run code without a question",
    ),
    (
        r"(^\s*|[;&|({]\s*|\b(command|builtin|then|do|else)\s+)fc\b(?!\s+-\w*l)",
        "it runs a line of history, which is not told",
    ),
)
_EXEC = re.compile(r"e['\"\\]*x['\"\\]*e['\"\\]*c|\$'")
"""A line that may say `exec`, however it is quoted."""

_BEFORE = frozenset(
    ["command", "builtin", "noglob", "nocorrect", "-", "time", "and", "or", "not", "begin"]
)
"""Words behind which the same shell runs what follows."""

_OF_SHELL = {
    "zsh": ((r"(^\s*|[;&|({]\s*)r\b", "it runs a line of history, which is not told"),),
    "fish": (
        (
            r"(^\s*|[;&|({]\s*|\band\s+|\bor\s+)bind\b",
            "it binds a key, which runs without a question",
        ),
        (
            rf"{_COMMAND}set\s+(-\S+\s+)*[^\s;=-]*[($]",
            "it sets a variable whose name is not told",
        ),
    ),
}

_PATTERNS = tuple((re.compile(pattern), why) for pattern, why in _ANY)
_PATTERNS_OF = {
    shell: tuple((re.compile(pattern), why) for pattern, why in patterns)
    for shell, patterns in _OF_SHELL.items()
}

_PERHAPS = re.compile(
    r"_duetty|PS0|PROMPT_COMMAND|promptvars|trap|extdebug|preexec|precmd|zsh-hook|zle|sched|bind"
    rf"|fish_|function|\(\s*\)|enable|disable|unhash|unset|armed|DUETTY_HOME|scratch|\bset\b|fc"
    rf"|TRAP|stty|cmdhist|comments|\bprint\b|\bread\b|vared|push-line|{_EXEC.pattern}|\br\b"
)
"""One look that most lines do not survive."""

_QUOTES = str.maketrans("", "", "'\"\\")
"""A name in pieces is the same name: `_due''tty`."""

MAX_CHARS = 8_192
MAX_DEPTH = 4
"""Texts within texts that are looked into for an `exec`."""


def touched_hook(line: str, *, shell: str | None) -> str | None:
    """What in this line would change how its shell asks; None if nothing is seen."""
    text = line[:MAX_CHARS]
    plain = text.translate(_QUOTES)
    if _PERHAPS.search(text) is None and _PERHAPS.search(plain) is None:
        return None
    for pattern, why in (*_PATTERNS, *_PATTERNS_OF.get(shell or "", ())):
        if pattern.search(text) or (plain != text and pattern.search(plain)):
            return why
    if _replaces_shell(text, MAX_DEPTH):
        return "it puts another program in the shell's place"
    return None


def _replaces_shell(text: str, depth: int) -> bool:
    """Whether a command of this text is an `exec` of the shell's own: not one that is handed to another shell."""
    if _EXEC.search(text) is None or not depth:
        return False
    reading = read(text)
    own = {*reading.functions, "eval"}
    for simple in reading.commands:
        words = [word.text for word in simple.words]
        while words and words[0] in _BEFORE:
            del words[0]
            while words and words[0][:1] == "-":
                del words[0]
        if not words:
            continue
        if words[0] == "alias":
            own.update(word.partition("=")[0] for word in words[1:])
        if words[0] == "exec" and any(word[:1] not in ("-", "{") for word in words[1:]):
            return True
        if words[0] in own and (
            _replaces_shell(" ".join(words[1:]), depth - 1)
            or any(_replaces_shell(word, depth - 1) for word in words[1:])
        ):
            return True
    return False
