"""Lines that change how an integrated shell asks before it runs a line.

A guardrail like the rest of policy: it looks at the text, and at its words as policy reads
them, so that the ways to switch the question off are asked about while it is still asked.
Builtins that change how lines are read, kept or drawn ask, but for their everyday uses. Code
that is read from a file can do the same unseen; then the next prompt says that the hook is gone.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from duetty.policy.scanning.reader import read
from duetty.policy.scanning.reading import UNKNOWN, Reading, Simple

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
_HOOKS = (
    r"(?:PS[02]|PROMPT_COMMAND|PROMPT_EOL_MARK|HIST\w*|histchars|BASH_\w+|BASHOPTS|SHELLOPTS|POSIXLY_CORRECT|INPUTRC"
    r"|KEYTIMEOUT|PERIOD|zle_\w+|[a-z]{1,20}_functions"
    r"|fish_(?!greeting\b|user_paths\b|color_|pager_color_)\w+)"
)
"""Variables that a shell's lines, its history or its prompt depend on."""

_IS_HOOK = re.compile(_HOOKS).fullmatch
_PROMPTS = frozenset(["PS1", "PS3", "PS4", "PROMPT", "PROMPT2", "RPROMPT", "RPS1", "prompt"])
_RUNS_IN_PROMPT = re.compile(r"[`\ufffc]|\$[({\[]")
"""A prompt is expanded each time it is drawn, and no line is asked about then."""

_SETS_IN_PASSING = re.compile(
    rf"\b(?:for|foreach|select)\s{{1,20}}{_HOOKS}\b|\$\{{{_HOOKS}(?:\[[^]]{{0,100}}\])?:{{0,2}}="
    rf"|\$\{{!\w{{1,100}}:?=|\$\{{\([^)]{{0,20}}P[^)]{{0,20}}\)\w{{1,100}}:{{0,2}}="
)
"""Loops and expansions that assign."""

_ARITHMETIC = re.compile(r"\(\(|\$\[")
_COUNTS = re.compile(
    rf"\b{_HOOKS}(?:\[[^]]{{0,100}}\])?\s{{0,20}}(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))"
    rf"|(?:\+\+|--)\s{{0,20}}{_HOOKS}\b"
)
"""Arithmetic that assigns."""

_EXEC = re.compile(r"e['\"\\]*x['\"\\]*e['\"\\]*c|\$'")
"""A line that may say `exec`, however it is quoted."""

_BEFORE = frozenset(
    ["command", "builtin", "noglob", "nocorrect", "-", "time", "and", "or", "not", "begin"]
)
"""Words behind which the same shell runs what follows."""

_OF_SHELL = {
    "zsh": (
        (r"(^\s*|[;&|({]\s*)r\b", "it runs a line of history, which is not told"),
        (
            r"\b(functions|dis_functions|options|widgets|[gs]?aliases)(\[[^]]*\])?\+?=[^=]",
            "it changes functions or options of zsh by name",
        ),
    ),
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
    rf"[$`{{]|{_HOOKS}|shopt|setopt|emulate|zmodload|compl|compdef|compctl|zstyle|abbr|history|commandline"
    r"|PS\d|PROMPT|prompt|declare|typeset|local|export|readonly|getopts|mapfile|readarray|alias|eval"
    r"|_duetty|PS0|PROMPT_COMMAND|promptvars|trap|extdebug|preexec|precmd|zsh-hook|zle|sched|bind"
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
    return _touched(line[:MAX_CHARS], shell, MAX_DEPTH)


def _touched(text: str, shell: str | None, depth: int) -> str | None:
    if shell == "fish":
        text = _FISH_ESCAPE.sub(_unescaped, text)
    plain = text.translate(_QUOTES)
    if _PERHAPS.search(text) is None and _PERHAPS.search(plain) is None:
        return None
    for pattern, why in (*_PATTERNS, *_PATTERNS_OF.get(shell or "", ())):
        if pattern.search(text) or (plain != text and pattern.search(plain)):
            return why
    begins = _ARITHMETIC.search(text)
    if _SETS_IN_PASSING.search(text) or (begins and _COUNTS.search(text, begins.end())):
        return _SETS
    if _replaces_shell(text, MAX_DEPTH):
        return "it puts another program in the shell's place"
    return _changed_by(read(text), shell, depth)


_FISH_ESCAPE = re.compile(r"\\(?:[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3}))")
"""Read by fish outside of quotes."""


def _unescaped(found: re.Match[str]) -> str:
    code = int(found[1] or found[2], 16) if found[1] or found[2] else int(found[3], 8)
    char = chr(code)
    return char if char.isalnum() or char in "_-" else found[0]


# --- by words -------------------------------------------------------------------

_SETS = "it sets a variable that the shell's lines, history or prompts depend on"
_UNTOLD = "it sets a variable whose name is not told"

_SPECIAL = frozenset(
    [":", ".", "eval", "exec", "export", "readonly", "return", "set", "shift", "source", "times"]
)
"""Builtins before which an assignment may stay in force."""

_SHOPT = frozenset(
    [
        "autocd",
        "cdspell",
        "checkwinsize",
        "dirspell",
        "dotglob",
        "expand_aliases",
        "extglob",
        "globstar",
        "histappend",
        "nocaseglob",
        "nullglob",
    ]
)
_SET_LETTERS = frozenset("aefuxvbCET")
_SET_NAMES = frozenset(
    [
        "allexport",
        "errexit",
        "errtrace",
        "functrace",
        "noclobber",
        "noglob",
        "notify",
        "nounset",
        "pipefail",
        "verbose",
        "xtrace",
    ]
)
_SETOPT = _SET_NAMES | frozenset(
    [
        "autocd",
        "autopushd",
        "caseglob",
        "clobber",
        "correct",
        "correctall",
        "extendedglob",
        "glob",
        "globdots",
        "globstarshort",
        "nobanghist",  # as a whole: without history in them lines say more, not less
        "nomatch",
        "nullglob",
        "numericglobsort",
        "pushdignoredups",
        "pushdsilent",
        "shwordsplit",
        "unset",
    ]
)
_READLINE = frozenset(
    [
        "bell-style",
        "colored-completion-prefix",
        "colored-stats",
        "completion-ignore-case",
        "mark-symlinked-directories",
        "menu-complete-display-prefix",
        "page-completions",
        "show-all-if-ambiguous",
        "show-all-if-unmodified",
        "visible-stats",
    ]
)
_VALUED = {"read": "dinNptuPcR", "mapfile": "dnOsucC", "readarray": "dnOsucC"}
"""Options that take a word, which is no name; of mapfile -C names code."""


def _changed_by(reading: Reading, shell: str | None, depth: int) -> str | None:
    for simple in reading.commands:
        if (why := _changed_by_one(simple, shell, depth)) is not None:
            return why
    return None


def _changed_by_one(simple: Simple, shell: str | None, depth: int) -> str | None:
    words = [word.text for word in simple.words]
    while words and words[0] in _BEFORE:
        del words[0]
        while words and words[0][:1] == "-":
            del words[0]
    if not words or words[0] in _SPECIAL:
        for name, value in simple.assignments:
            if _is_set(name, value.text):
                return _SETS
    if not words:
        return None
    name, given = words[0], words[1:]
    if name in ("eval", "alias"):
        return _of_texts([" ".join(given)] if name == "eval" else given, shell, depth)
    if shell == "fish" and name == "set":
        return _of_fish_set(given)
    check = _BUILTINS.get(name)
    if check is not None:
        return check(given)
    if name in _SETTERS:
        return _of_setter(name, given)
    return None


def _of_texts(texts: Sequence[str], shell: str | None, depth: int) -> str | None:
    """Of code that is given as words; an alias may stand before its own."""
    for text in texts:
        for each in {text, text.partition("=")[2]} - {""}:
            why = _touched(each, shell, depth - 1) if depth else "it is nested too deeply"
            if why is not None:
                return why
    return None


def _is_set(name: str, value: str) -> bool:
    if _IS_HOOK(name):
        return True
    return name in _PROMPTS and _RUNS_IN_PROMPT.search(value) is not None


def _names(name: str, given: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """Each name that a builtin sets, its value, and whether that is a name too."""
    valued = _VALUED.get(name, "")
    is_reference = takes = False
    for word in given:
        if takes:
            takes = False
        elif word[:1] in "-+" and len(word) > 1 and "=" not in word:
            is_reference = is_reference or "n" in word
            takes = word[-1] in valued
        else:
            found, _, value = word.partition("=")
            found = found.partition("[")[0].partition("?")[0]
            yield found.strip().removesuffix("+"), value, is_reference


def _of_setter(name: str, given: Sequence[str]) -> str | None:
    if name == "printf":
        given = given[1:2] if given[:1] == ["-v"] else [given[0][2:]] if _is_joined(given) else ()
    elif name == "getopts":
        given = given[1:2]
    is_declared = name in ("declare", "typeset", "local")
    for found, value, is_reference in _names(name, given):
        if UNKNOWN in found:
            return _UNTOLD
        if _is_set(found, value):
            return _SETS
        if is_declared and is_reference and (_IS_HOOK(value) or UNKNOWN in value):
            return _SETS
    return None


def _is_joined(given: Sequence[str]) -> bool:
    return bool(given) and given[0][:2] == "-v"


def _of_fish_set(given: Sequence[str]) -> str | None:
    for word in given:
        if word[:1] != "-":
            return _SETS if _IS_HOOK(word.partition("[")[0]) else None
    return None


def _of_trap(given: Sequence[str]) -> str | None:
    given = [word for word in given if word != "--"]
    if not given or given[0] in ("-l", "-p", "-P") or {*given[1:]} <= {"EXIT", "0"}:
        return None if len(given) != 1 or given[0][:1] == "-" else _TRAPS
    return _TRAPS


_TRAPS = "it traps what the gate works with"
_KEYS = "it binds a key, which may run code without a question"
_LINES = "it changes how the shell reads lines, or keeps them"
_COMPLETES = "it makes completion run code, which runs without a question"


def _of_bind(given: Sequence[str]) -> str | None:
    for word in given:
        if re.fullmatch(r"-[lpPsSvVXaKLM]+|--(all|function-names|key-names|list-modes)", word):
            continue
        found = re.fullmatch(r"set ([a-z-]+) \S+", word)
        if found is None or found[1] not in _READLINE:
            return _KEYS
    return None


def _of_bindkey(given: Sequence[str]) -> str | None:
    return None if all(re.fullmatch(r"-[evldLp]+", word) for word in given) else _KEYS


def _of_zle(given: Sequence[str]) -> str | None:
    return None if given and given[0] in ("-l", "-L", "-la", "-lL") else _KEYS


def _of_shopt(given: Sequence[str]) -> str | None:
    flags = "".join(word[1:] for word in given if word[:1] == "-")
    if not {*flags} & {"s", "u"}:
        return None
    known = _SET_NAMES if "o" in flags else _SHOPT
    return None if known.issuperset(word for word in given if word[:1] != "-") else _LINES


def _of_set(given: Sequence[str]) -> str | None:
    words = iter(given)
    for word in words:
        if word in ("--", "-") or word[:1] not in "-+" or len(word) < 2:
            return None  # positional parameters
        letters = {*word[1:]}
        if "A" in letters:
            return _of_setter("set", [next(words, "")])
        if "o" in letters:
            name = next(words, None)
            if name is not None and name.lower().replace("_", "") not in _SETOPT:
                return _LINES
        if not letters - {"o"} <= _SET_LETTERS and word != "+H":
            return _LINES
    return None


def _of_setopt(given: Sequence[str]) -> str | None:
    for word in given:
        name = word.lower().replace("_", "")
        if name not in _SETOPT and name.removeprefix("no") not in _SETOPT:
            return _LINES
    return None


def _of_complete(given: Sequence[str]) -> str | None:
    for word in given:
        is_coded = re.match(r"-\w*[CFn]|--condition", word) is not None
        if is_coded or re.search(rf"[(`${UNKNOWN}]", word):
            return _COMPLETES
    return None


def _of_history(given: Sequence[str]) -> str | None:
    changes = re.compile(r"-\w*[scdrn]|delete|clear|merge|append|--delete|--clear")
    return _LINES if any(changes.match(word) for word in given) else None


def _asks(why: str) -> Callable[[Sequence[str]], str | None]:
    return lambda given: why


def _asks_with(pattern: str, why: str) -> Callable[[Sequence[str]], str | None]:
    found = re.compile(pattern).match
    return lambda given: why if any(found(word) for word in given) else None


_BUILTINS: dict[str, Callable[[Sequence[str]], str | None]] = {
    "trap": _of_trap,
    "bind": _of_bind,
    "bindkey": _of_bindkey,
    "zle": _of_zle,
    "shopt": _of_shopt,
    "set": _of_set,
    "setopt": _of_setopt,
    "unsetopt": _of_setopt,
    "emulate": _asks(_LINES),
    "enable": _asks_with(
        r"-\w*[nfd]|[^-]", "it switches commands off that the integration may use"
    ),
    "zmodload": _asks_with(r"-\w*u", _LINES),
    "complete": _of_complete,
    "compdef": _asks(_COMPLETES),
    "compctl": _asks_with(r"-", _COMPLETES),
    "zstyle": _asks_with(r"-\w*e", _COMPLETES),
    "abbr": _asks_with(r"-f|--function", _COMPLETES),
    "history": _of_history,
    "commandline": _asks_with(r"", "it puts text on the next line"),
    "add-zle-hook-widget": _asks(_KEYS),
}
_SETTERS = frozenset(
    [
        "declare",
        "typeset",
        "local",
        "export",
        "readonly",
        "integer",
        "float",
        "read",
        "printf",
        "mapfile",
        "readarray",
        "getopts",
        "unset",
        "let",
        "vared",
    ]
)


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
