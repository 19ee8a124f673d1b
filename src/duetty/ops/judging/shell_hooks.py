"""Lines that change how an integrated shell asks before it runs a line.

A guardrail like the rest of policy: it looks at the text, and at its words as policy reads
them, so that the ways to switch the question off are asked about while it is still asked.
Builtins that change how lines are read, kept or drawn ask, but for their everyday uses. Code
that is read from a file can do the same unseen; then the next prompt says that the hook is gone.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from duetty.ops.judging.aliases import changes_grammar
from duetty.ops.judging.counting import assigns_untold, counts_untold, given_to_count
from duetty.ops.judging.indirect import lists_names, reached
from duetty.ops.judging.prompts import is_appended_or_tied, is_plain, is_prompt, is_set_in_passing
from duetty.ops.judging.shell_builtins import (
    HIDES,
    NEXT_LINE,
    RUNS_AGAIN,
    SWITCHES_OFF,
    TAKES_NAMES,
    USED,
    ZSH_TABLES,
    hidden_by,
    is_watched,
    of_builtin,
)
from duetty.ops.judging.terminal_settings import set_by
from duetty.policy.scanning.reader import read
from duetty.policy.scanning.reading import UNKNOWN, Reading, Simple, Word, exact

_COMMAND = (
    r"(?:^\s*|[;&|({]\s*|(?:\b(?:command|builtin|time|if|elif|while|until|then|do|else|and|or|not|begin)|!)"
    r"\s+(?:-\S*\s+)*)"
)
"""Where a command may begin."""

_USED = "|".join(sorted(USED))

_ANY = (
    (r"_duetty", "it names parts of the integration"),
    (r"\bPROMPT_COMMAND\b|\bPS0\b|\bpromptvars\b", "it changes what bash runs before a line"),
    (
        r"\btrap\b[^;&|]*\b(DEBUG|INT|SIGINT|RETURN)\b|\bTRAP[A-Z]+\b",
        "it traps what the gate works with",
    ),
    (
        r"\bcmdhist\b|interactive_?comments",
        "it changes how the shell reads lines, or keeps them",
    ),
    (
        r"\bprint\s+(-\w+\s+)*-\w*z|\bread\s+(-\w+\s+)*-\w*z|\bvared\b|\bpush-line\b",
        NEXT_LINE,
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
    (rf"(\bfunction\s+|^\s*|[;&|{{(]\s*)({_USED})\s*\(\s*\)", HIDES),
    (rf"\bfunction\s+({_USED})\b", HIDES),
    (r"[]]133;|133;[ABCDQ]\b", "it could print marks that look like the shell's own"),
    (
        rf"{_COMMAND}(enable|disable|unfunction|unhash)\s+\S|\bunset\s+(-\w+\s+)*-\w*f",
        SWITCHES_OFF,
    ),
    (
        r"armed\b|\bDUETTY_HOME\b|duetty\S*scratch",
        "it names files by which the shell asks",
    ),
    (
        r"\bbind\b[^;&|]*(:|\s-\w*f)|\bbindkey\b(?!\s*(-[evldLp]+\s*)*($|[;&|]))",
        "it binds a key, which may run code without a question",
    ),
)
_HOOKS = (
    r"(?:PS[02]|PROMPT_COMMAND|PROMPT_EOL_MARK|HIST\w*|histchars|BASH_\w+|BASHOPTS|SHELLOPTS|POSIXLY_CORRECT|INPUTRC"
    r"|KEYTIMEOUT|PERIOD|zle_\w+|[a-z]{1,20}_functions|FUNCNEST|TRY_BLOCK_\w+|(?:READ)?NULLCMD|TMOUT|LINENO|SRANDOM|EPOCHREALTIME"
    r"|MAIL(?:PATH|CHECK)?|mailpath"
    r"|fish_(?!greeting\b|user_paths\b|color_|pager_color_)\w+)"
)
"""Variables that a shell's lines, its history or its prompt depend on."""

_IS_HOOK = re.compile(_HOOKS).fullmatch
_SETS_IN_PASSING = re.compile(
    rf"\b(?:for|foreach|select)\s{{1,20}}{_HOOKS}\b|\$\{{{_HOOKS}(?:\[[^]]{{0,100}}\])?:{{0,2}}="
    rf"|\bcoproc\s{{1,20}}{_HOOKS}\b|\{{{_HOOKS}(?:\[[^]]{{0,100}}\])?\}}[<>]"
    rf"|\$\{{!\w{{1,100}}:?=|\$\{{\([^)]{{0,20}}P[^)]{{0,20}}\)\w{{1,100}}:{{0,2}}="
)
"""Loops, expansions and redirections that assign."""

_COUNTS = re.compile(
    rf"\b{_HOOKS}(?:\[[^]]{{0,100}}\])?\s{{0,20}}(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))"
    rf"|(?:\+\+|--)\s{{0,20}}{_HOOKS}\b"
)
"""Arithmetic that assigns."""

_UNTOLD_COUNT = re.compile(
    r"(?:\(\(|\$\[|\w\[)[^][()]{0,200}?(?:\$\w{1,100}|(?:\$\{[^}]{0,100}\}|\$\([^)]{0,200}\)|`[^`]{0,200}`)\w{0,100})"
    r"\s{0,20}(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?![=~]))"
)
"""Arithmetic that assigns to what an expansion makes the name of: `a[${x}0=1]`."""

_EXEC = re.compile(r"e['\"\\]*x['\"\\]*e['\"\\]*c|\$'")
"""A line that may say `exec`, however it is quoted."""

_BEFORE = frozenset(
    [
        "command",
        "builtin",
        "noglob",
        "nocorrect",
        "-",
        "time",
        "and",
        "or",
        "not",
        "begin",
        "!",
        "coproc",
        "{",
        "[[",
        "if",
        "then",
        "elif",
        "else",
        "while",
        "until",
        "do",
        "always",
    ]
)
"""Words behind which the same shell runs what follows, where the reader left them standing."""

_PASSED_OVER = re.compile(r"-.*|\{\w+\}|[A-Za-z_]\w*(?:\[[^]]*\])?\+?=.*", re.DOTALL)
"""Options of such a word, a descriptor that is opened, and assignments: no command either."""

_OF_TABLES = "it changes functions or options of zsh by name"

_OF_SHELL = {
    "zsh": (
        (
            rf"(?<![\w$-])(?:{ZSH_TABLES.pattern})(\[[^]]*\])?(?:\+?=(?!=)|::?=)",
            _OF_TABLES,
        ),
        (
            r"\$\w+\[[^\]\n]*['\"\\]",
            "zsh computes a subscript, whatever quotes it",
        ),
        (
            r"\balias\s+(-\S+\s+)*-\w*s",
            "it has files run a program by how their names end",
        ),
    ),
    "fish": (
        (
            r"\bread\s[^;|&\n]*(?<!\S)(?:-\w*[pR]|--(?:right-)?prompt(?!-str))",
            "fish runs what its read is given for a prompt",
        ),
        (
            r"\bargparse\s(?:(?!\s--\s)[^;|&\n])*[$(]",
            "fish may run what its argparse is given, and that is not told",
        ),
        (
            rf"{_COMMAND}bind\b",
            "it binds a key, which runs without a question",
        ),
        (
            rf"{_COMMAND}set\s+(-\S+\s+)*[^\s;=-]*[($]",
            "it sets a variable whose name is not told",
        ),
        (
            rf"{_COMMAND}functions\s[^;\n|&]{{0,200}}[($*?{{~]",
            SWITCHES_OFF,
        ),
        (r"\bfunction\s+(--\s+)?[^\s;]*[($]|\balias\s+[^\s;='\"]*[($]", HIDES),
    ),
}

_PATTERNS = tuple((re.compile(pattern), why) for pattern, why in _ANY)
_PATTERNS_OF = {
    shell: tuple((re.compile(pattern), why) for pattern, why in patterns)
    for shell, patterns in _OF_SHELL.items()
}

_PERHAPS = re.compile(
    rf"[$`{{]|{_HOOKS}|shopt|setopt|emulate|zmodload|compl|compgen|compdef|compctl|zstyle|abbr|history|commandline"
    r"|PS\d|PROMPT|prompt|declare|typeset|local|export|readonly|getopts|mapfile|readarray|alias|eval"
    r"|_duetty|PS0|PROMPT_COMMAND|promptvars|trap|extdebug|preexec|precmd|zsh-hook|zle|sched|bind"
    rf"|fish_|function|\(\s*\)|enable|disable|hash|unset|armed|DUETTY_HOME|scratch|\bset\b|fc"
    r"|unfunction|autoload|pushln|\bblock\b|limit\b|\bwait\b|coproc|zregexparse|argparse|133;|options|widgets|modules|builtins|commands|keymaps"
    rf"|TRAP|stty|tset|reset|cmdhist|comments|\bprint\b|\bread\b|vared|push-line|{_EXEC.pattern}|\br\b"
)
"""One look that most lines do not survive."""

_QUOTES = str.maketrans("", "", "'\"\\")
"""A name in pieces is the same name: `_due''tty`."""

MAX_CHARS = 8_192
MAX_DEPTH = 4
"""Texts within texts that are looked into for an `exec`."""


def is_hook(name: str) -> bool:
    """Whether a shell's lines, its history or its prompt depend on a variable of this name."""
    return _IS_HOOK(name) is not None


def touched_hook(line: str, *, shell: str | None) -> str | None:
    """What in this line would change how its shell asks; None if nothing is seen."""
    if shell == "zsh" and "#" in line:  # which begins no comment at its prompt
        why = touched_hook(line.replace("#", "_"), shell=shell)
        if why is not None:
            return why
    why = _touched(line[:MAX_CHARS], shell, MAX_DEPTH)
    if why is None and len(line) > MAX_CHARS:
        return _changed_by(read(line), shell, MAX_DEPTH)  # not in what it hands to a program
    return why


def _touched(text: str, shell: str | None, depth: int) -> str | None:
    if shell == "fish":
        text = _FISH_ESCAPE.sub(_unescaped, text)
    plain = text.translate(_QUOTES)
    if _PERHAPS.search(text) is None and _PERHAPS.search(plain) is None:
        return None
    for pattern, why in (*_PATTERNS, *_PATTERNS_OF.get(shell or "", ())):
        if pattern.search(text) or (plain != text and pattern.search(plain)):
            return why
    if _SETS_IN_PASSING.search(text) or is_set_in_passing(text, shell):
        return _SETS
    if _UNTOLD_COUNT.search(text):
        return _UNTOLD
    if _replaces_shell(text, MAX_DEPTH):
        return "it puts another program in the shell's place"
    reading = read(text)
    if (why := hidden_by(reading, text, shell) or reached(reading, text, shell)) is not None:
        return why
    if shell != "fish" and counts_untold(reading, shell, _counts):
        return _SETS
    return _changed_by(reading, shell, depth)


def _counts(text: str) -> bool:
    return _COUNTS.search(text.translate(_QUOTES)) is not None


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
    if "too many words" in reading.unreadable:
        return "it has too many words to be looked through"
    for simple in reading.commands:
        if (why := _changed_by_one(simple, shell, depth)) is not None:
            return why
    return None


def _changed_by_one(simple: Simple, shell: str | None, depth: int) -> str | None:
    for word in simple.words if simple.words[:1] == [exact("repeat")] else ():
        name, assigns, value = word.text.partition("=")
        if assigns and _is_set(name, value, shell):
            return _SETS
    for words in _all_words_of(simple):
        if not words or words[0] in _SPECIAL:
            for name, value in simple.assignments:
                if _is_set(name, value, shell) or _COUNTS.search(value.text):
                    return _SETS
        if words and (why := _changed_by_words(words, simple.bodies, shell, depth)) is not None:
            return why
    return set_by(simple) or _run_again(simple, shell)


def _run_again(simple: Simple, shell: str | None) -> str | None:
    """A line of history in a text that is only expanded later: `test -v 'a[$(fc -s)]'`."""
    for text in (
        each.text for each in (*simple.words, *(value for _, value in simple.assignments))
    ):
        if "$(" in text or "`" in text:
            for words in (each for one in read(text).commands for each in _all_words_of(one)):
                if words and of_builtin(words[0], words[1:], shell) == RUNS_AGAIN:
                    return RUNS_AGAIN
    return None


def _changed_by_words(
    words: Sequence[str], bodies: Sequence[str], shell: str | None, depth: int
) -> str | None:
    name, given = words[0], words[1:]
    if (why := of_builtin(name, given, shell)) is not None:
        return why
    if name == "eval":
        return _of_texts([" ".join(given)], shell, depth)
    if (why := _of_texts(_code_among(name, given, bodies), shell, depth)) is not None:
        return why
    if name == "alias":
        return (
            changes_grammar(given, shell)
            or _of_aliases(given, shell)
            or _of_texts(given, shell, depth)
        )
    if UNKNOWN in name:
        return _of_untold(name, given)
    if shell == "fish" and name == "set":
        return _of_fish_set(given)
    if shell == "zsh" and (name in _SETTERS or name in TAKES_NAMES):
        named = (re.split(r"[\[=:]", word)[0] for word in given)
        if any(ZSH_TABLES.fullmatch(word) for word in named) and not (
            name in ("typeset", "declare") and given[:1] == ["-p"]
        ):
            return _OF_TABLES
    if name in TAKES_NAMES and any(_IS_HOOK(word) for word in given):
        return _SETS
    check = _BUILTINS.get(name)
    if check is not None:
        return check(given)
    if any(
        assigns_untold(text, joins=joins) or _counts(text)
        for text, joins in given_to_count(name, given, shell)
    ):
        return _UNTOLD
    if name in _SETTERS:
        return _of_setter(name, given, shell)
    return None


def _words_of(simple: Simple) -> list[str]:
    """The words of a command, without those behind which the same shell runs it."""
    words = [word.text for word in simple.words]
    if any(each.target.text == "!" for each in simple.redirects):
        del words[:1]  # zsh: `>! file command`
    while words:
        if words[0] == "command" and _LOOKS_UP(" ".join(words[1:2])):
            return []
        runs_with_jobs = words[0] == "jobs" and _RUNS_WITH_JOBS(" ".join(words[1:2]))
        if words[0] == "repeat" or runs_with_jobs:
            del words[:2]
        elif words[0] in _BEFORE or _PASSED_OVER.fullmatch(words[0]):
            del words[0]
        else:
            break
    return words


_LOOKS_UP = re.compile(r"-p?[vV]+p?").fullmatch
"""`command -v NAME` runs nothing."""

_RUNS_WITH_JOBS = re.compile(r"-\w*x").match
"""bash: `jobs -x COMMAND`."""


def _all_words_of(simple: Simple) -> Iterator[list[str]]:
    """The same, and again behind each `{`: `coproc NAME { …`, `function a b { …` are one command to the reader."""
    yield _words_of(simple)
    for at, word in enumerate(simple.words):
        if word.text == "{":
            yield _words_of(Simple(simple.words[at + 1 :]))


def _of_aliases(given: Sequence[str], shell: str | None) -> str | None:
    """An alias that leaves the rest to a builtin of these: what it is given later is not seen there."""
    for text in (word.partition("=")[2] for word in given) if shell != "fish" else given[-1:]:
        commands = read(text.removeprefix("=")).commands
        words = _words_of(commands[-1]) if commands else []
        if words and words[0] not in _OFTEN and _is_looked_at(words[0], shell):
            return "it gives another name to a builtin that may change how the shell asks"
    return None


_OFTEN = frozenset(["history", "print", "printf", "read", "wait", "alias", "stat"])
"""Of which aliases are made every day, and that do little harm unseen."""


def _is_looked_at(name: str, shell: str | None) -> bool:
    return name in _BUILTINS or name in _SETTERS or is_watched(name, shell)


def _of_untold(name: str, given: Sequence[str]) -> str | None:
    """A command whose name is told in part, or not at all."""
    if name.strip(UNKNOWN):
        could_be = re.compile(".*".join(map(re.escape, re.split(f"{UNKNOWN}+", name)))).fullmatch
        names = {*_BUILTINS, *_SETTERS, *USED}
        return "it runs a builtin whose name is not told" if any(map(could_be, names)) else None
    return _SETS if any(_IS_HOOK(word.partition("=")[0]) for word in given) else None


def _code_among(name: str, given: Sequence[str], bodies: Sequence[str]) -> Sequence[str]:
    """What a builtin runs as code, in the shell itself."""
    match name:
        case "trap":
            return given[:-1]
        case "mapfile" | "readarray":
            return _named_by(given, "C")
        case "source" | ".":
            return bodies
        case "argparse":  # fish: `name=!code`
            return [word.partition("!")[2] for word in given]
        case _:
            return ()


def _of_texts(texts: Sequence[str], shell: str | None, depth: int) -> str | None:
    """Of code that is given as words; an alias may stand before its own."""
    for text in texts:
        for each in {text, text.partition("=")[2]} - {""}:
            why = _touched(each, shell, depth - 1) if depth else "it is nested too deeply"
            if why is not None:
                return why
    return None


def _is_set(name: str, value: Word | str, shell: str | None) -> bool:
    is_array = name.endswith("[]")
    name = name.removesuffix("[]")
    return _IS_HOOK(name) is not None or (
        is_prompt(name, shell) and (is_array or not is_plain(value))
    )


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


def _of_setter(name: str, given: Sequence[str], shell: str | None) -> str | None:
    if name == "printf":
        given = given[1:2] if given[:1] == ["-v"] else [given[0][2:]] if _is_joined(given) else ()
    elif name == "getopts":
        given = given[1:2]
    elif name in ("print", "wait"):
        given = _named_by(given, "v" if name == "print" else "p")
    is_declared = name in ("declare", "typeset", "local")
    if name in _LITERALLY and is_appended_or_tied(given, shell):
        return _SETS
    for found, value, is_reference in _names(name, given):
        if UNKNOWN in found:
            return _UNTOLD
        if _is_set(found, value, shell) or (name not in _LITERALLY and is_prompt(found, shell)):
            return _SETS
        if is_declared and is_reference and (_IS_HOOK(value) or UNKNOWN in value):
            return _SETS
    return None


def _named_by(given: Sequence[str], letter: str) -> list[str]:
    """The variable that an option names, in this word or the next."""
    for at, word in enumerate(given):
        _, found, joined = word.partition(letter) if word[:1] == "-" else ("", "", "")
        if found:
            return [joined] if joined else list(given[at + 1 : at + 2])
    return []


def _is_joined(given: Sequence[str]) -> bool:
    return bool(given) and given[0][:2] == "-v"


def _of_fish_set(given: Sequence[str]) -> str | None:
    for word in given:
        if word[:1] != "-":
            return (
                _UNTOLD if UNKNOWN in word else _SETS if _IS_HOOK(word.partition("[")[0]) else None
            )
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
            return _of_setter("set", [next(words, "")], "zsh")
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


_LITERALLY = frozenset(["declare", "typeset", "local", "export", "readonly", "unset"])
"""Builtins that set a variable to what stands beside its name, or to nothing."""


def _of_compgen(given: Sequence[str]) -> str | None:
    return _of_complete(given) or lists_names(given)


def _of_complete(given: Sequence[str]) -> str | None:
    for word in given:
        is_coded = re.match(r"-\w*[CFn]|--condition", word) is not None
        if is_coded or re.search(rf"[(`${UNKNOWN}]", word):
            return _COMPLETES
    return None


def _of_history(given: Sequence[str]) -> str | None:
    """Of bash and fish; zsh's is told by its own letters."""
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
    "enable": _asks_with(r"-\w*[nfd]|[^-]", SWITCHES_OFF),
    "zmodload": _asks_with(r"-[Llei]*[^Llei-]", _LINES),
    "complete": _of_complete,
    "compgen": _of_compgen,
    "compdef": _asks(_COMPLETES),
    "compctl": _asks_with(r"-", _COMPLETES),
    "zstyle": _asks_with(r"-\w*e", _COMPLETES),
    "history": _of_history,
    "commandline": _asks_with(r"", NEXT_LINE),
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
        "print",
        "wait",
    ]
)


def _replaces_shell(text: str, depth: int) -> bool:
    """Whether a command of this text is an `exec` of the shell's own: not one that is handed to another shell."""
    if _EXEC.search(text) is None or not depth:
        return False
    reading = read(text)
    own = {*reading.functions, "eval"}
    for words in (each for simple in reading.commands for each in _all_words_of(simple)):
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
