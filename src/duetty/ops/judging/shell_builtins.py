"""Builtins of a shell that take away what asks, or hide, show or bypass it: which of their uses ask.

By words, as policy reads them. Everyday uses pass: `functions f`, `declare -p NAME`, `ulimit -a`.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from duetty.policy.scanning.reading import UNKNOWN, Reading

USED = frozenset(
    [
        "abbr",
        "bind",
        "builtin",
        "command",
        "commandline",
        "contains",
        "count",
        "declare",
        "echo",
        "emulate",
        "eval",
        "exec",
        "exit",
        "export",
        "fc",
        "functions",
        "history",
        "kill",
        "local",
        "math",
        "print",
        "printf",
        "random",
        "read",
        "readonly",
        "return",
        "sched",
        "set",
        "shopt",
        "source",
        "status",
        "string",
        "test",
        "trap",
        "typeset",
        "unfunction",
        "unset",
    ]
)
"""Commands that the integrations use: another thing of that name would stand in for them."""

HIDES = "it puts something else in the place of a command that the integration uses"
SWITCHES_OFF = "it switches commands off that the integration may use"
SHOWS = "it shows the secret by which the shell is known"
NEXT_LINE = "it puts text on the next line"
LIMITS = "it limits what the shell needs to ask"
REFERS = "it makes one name stand for another variable"
EVENTS = "it makes fish run code by itself"
RUNS_AGAIN = "it runs a line of history, which is not told"
READS_LINES = "it changes how the shell reads lines, or keeps them"
RENAMES = "it gives a program another name, by which policy does not know it"
PARSES = "it runs code that is part of a pattern"

_Check = Callable[[Sequence[str], str | None], str | None]


def of_builtin(name: str, given: Sequence[str], shell: str | None) -> str | None:
    """What this use of a builtin would change; None if nothing is seen, or it is none of these."""
    return _CHECKS[name](given, shell) if is_watched(name, shell) else None


def is_watched(name: str, shell: str | None) -> bool:
    return name in _CHECKS and shell in _ONLY_IN.get(name, (shell,))


def hidden_by(reading: Reading, text: str, shell: str | None) -> str | None:
    """Whether a function is made here in the place of a command that the integration uses."""
    names = set(reading.functions)
    if names and shell not in ("bash", "fish"):  # zsh: `function a b { …; }`
        for found in _FUNCTION.finditer(text):
            names.update(re.split(r"[\s'\"\\]+", found[1]))
    if reading.unreadable and _NO_PARAMETERS.search(text):  # zsh: `a b () { …; }`
        names.update(word.text for simple in reading.commands for word in simple.words[1:])
    if any(is_used(name) for name in names):
        return HIDES
    if shell == "fish" and _FISH_EVENT.search(text):
        return EVENTS
    return None


_FUNCTION = re.compile(
    r"(?:^|[;&|({\n]|\b(?:do|then|else|begin|and|or)\b)\s*function\s+([^{;\n(]{0,300})"
)
_NO_PARAMETERS = re.compile(r"\(\s*\)")
_FISH_EVENT = re.compile(r"\bfunction\s[^;\n]{0,300}\s(?:--on-|-[evspj]\s?\w)")


def is_used(name: str) -> bool:
    return name in USED or UNKNOWN in name or "$" in name or "`" in name


def is_untold(word: str) -> bool:
    return UNKNOWN in word or any(sign in word for sign in "*?[")


def _flags(given: Sequence[str]) -> str:
    """The letters of the options; `?` for one that is not told."""
    letters = ""
    for word in given:
        if word == "--":
            break
        if word[:1] == UNKNOWN:
            letters += "?"
        elif word[:1] in ("-", "+") and word[:2] != "--":
            letters += word[1:]
    return letters


def _names(given: Sequence[str]) -> list[str]:
    return [word for word in given if word[:1] not in ("-", "+") or len(word) < 2]


def _has(letters: str, wanted: Iterable[str]) -> bool:
    return not {*letters}.isdisjoint(wanted)


def _asks(why: str) -> _Check:
    return lambda given, shell: why


def _asks_of_any(why: str) -> _Check:
    return lambda given, shell: why if given else None


def _of_functions(given: Sequence[str], shell: str | None) -> str | None:
    flags, names = _flags(given), _names(given)
    if shell != "fish":
        return SWITCHES_OFF if flags else None
    if not (_has(flags, "ec?") or {"--erase", "--copy"} & {*given}):
        return None
    # What is substituted is no word of its own to the reader: no name is as bad as an untold one.
    if not names or any(is_untold(name) or is_used(name) for name in names):
        return SWITCHES_OFF
    return None


def _of_autoload(given: Sequence[str], shell: str | None) -> str | None:
    if _has(_flags(given), "m?") or any(is_untold(name) or is_used(name) for name in _names(given)):
        return SWITCHES_OFF
    return None


def _of_declared(given: Sequence[str], shell: str | None) -> str | None:
    """`declare` and its like: where they refer, take functions away or show every variable."""
    flags, names = _flags(given), _names(given)
    if "n" in flags and names:
        return REFERS
    if "f" in flags and _has(flags, "uUtTkzcm?") and shell == "zsh":
        return SWITCHES_OFF
    if shell == "zsh" and _has(flags, "m"):
        return SHOWS
    if not names and not _has(flags, "fFx"):
        return SHOWS
    return None


def _of_readonly(given: Sequence[str], shell: str | None) -> str | None:
    return None if _names(given) or _has(_flags(given), "f") else SHOWS


def _of_set(given: Sequence[str], shell: str | None) -> str | None:
    if shell != "fish":
        return None if given else SHOWS
    named = _names(given) or _has(_flags(given), "nqeh")
    return None if named or {"--names", "--query", "--erase", "--help"} & {*given} else SHOWS


def _of_unset(given: Sequence[str], shell: str | None) -> str | None:
    return SWITCHES_OFF if _has(_flags(given), "fm") else None


_OTHER_LIMITS = frozenset("ct")
_OTHER_LONG_LIMITS = frozenset(["--core-size", "--cpu-time"])


def _of_ulimit(given: Sequence[str], shell: str | None) -> str | None:
    flags = _flags(given)
    letters = {each for each in flags if not each.isdigit()} - {"H", "S"}
    long = {word.partition("=")[0] for word in given if word[:2] == "--"} - {"--hard", "--soft"}
    sets = (
        _names(given) or any(each.isdigit() for each in flags) or any("=" in word for word in given)
    )
    if not sets or "a" in letters or "--all" in long:
        return None
    is_other = (letters or long) and letters <= _OTHER_LIMITS and long <= _OTHER_LONG_LIMITS
    return None if is_other else LIMITS


def _of_limit(given: Sequence[str], shell: str | None) -> str | None:
    names = _names(given)
    harmless = ("coredumpsize", "cputime")
    return LIMITS if len(names) > 1 and names[0] not in harmless else None


def _of_print(given: Sequence[str], shell: str | None) -> str | None:
    """Of zsh: its options may be told by a variable, and one of them writes the next line."""
    if shell != "zsh":
        return None
    takes = False
    for word in given:
        if takes:
            takes = False
            continue
        if word in ("-", "--") or word[:1] not in ("-", UNKNOWN, "*", "?", "["):
            return None
        if is_untold(word) or "z" in word:
            return NEXT_LINE
        takes = word[-1] in "CufvxX"
    return None


def _of_abbr(given: Sequence[str], shell: str | None) -> str | None:
    """An abbreviation is expanded where it is typed, or when the line is about to run."""
    shown = re.compile(r"-[slqeh]|--(?:show|list|query|erase|help)").match
    return None if not given or shown(given[0]) else "it makes fish run another line than was typed"


def _of_alias(given: Sequence[str], shell: str | None) -> str | None:
    for word in given:
        if word[:1] == "-":
            continue
        if is_used(word.partition("=")[0]) and ("=" in word or shell == "fish" or UNKNOWN in word):
            return HIDES
        if shell == "fish":
            return None  # what follows is its text
    return None


_FC_LISTS = re.compile(r"-[lnrdfEiDLIm]+")


def _of_fc(given: Sequence[str], shell: str | None) -> str | None:
    """Only what surely lists passes: the letters are those of a list, up to the first word that is no option."""
    lists, words = False, iter(given)
    for word in words:
        if not word.startswith(("-", UNKNOWN, "*", "?", "[")) or re.fullmatch(r"-\d*", word):
            break
        if word == "--":
            break
        option, takes, value = word.partition("t")  # zsh: how times are shown
        if takes and not value:
            next(words, None)
        if not _FC_LISTS.fullmatch(option) and not (takes and option == "-"):
            return RUNS_AGAIN
        lists = lists or "l" in option
    return None if lists else RUNS_AGAIN


def _of_history(given: Sequence[str], shell: str | None) -> str | None:
    """Of zsh it is `fc -l`, and has two options that bring another history."""
    return READS_LINES if shell == "zsh" and _has(_flags(given), "pP") else None


def _of_hash(given: Sequence[str], shell: str | None) -> str | None:
    """A directory's name (`-d`) is no command's."""
    flags = _flags(given)
    if shell == "bash":
        return RENAMES if _has(flags, "p?") else None
    names = any("=" in word or UNKNOWN in word for word in _names(given))
    return RENAMES if names and "d" not in flags else None


def _of_block(given: Sequence[str], shell: str | None) -> str | None:
    return SWITCHES_OFF if shell == "fish" else None


_CHECKS: dict[str, _Check] = {
    "unfunction": _asks_of_any(SWITCHES_OFF),
    "disable": _asks_of_any(SWITCHES_OFF),
    "unhash": _asks_of_any(SWITCHES_OFF),
    "functions": _of_functions,
    "autoload": _of_autoload,
    "declare": _of_declared,
    "typeset": _of_declared,
    "local": _of_declared,
    "readonly": _of_readonly,
    "set": _of_set,
    "unset": _of_unset,
    "ulimit": _of_ulimit,
    "limit": _of_limit,
    "print": _of_print,
    "pushln": _asks(NEXT_LINE),
    "vared": _asks(NEXT_LINE),
    "abbr": _of_abbr,
    "alias": _of_alias,
    "block": _of_block,
    "fc": _of_fc,
    "r": _asks(RUNS_AGAIN),
    "history": _of_history,
    "hash": _of_hash,
    "zregexparse": _asks(PARSES),
}
_ONLY_IN: dict[str, tuple[str | None, ...]] = {
    "fc": ("bash", "zsh", None),
    "r": ("zsh",),
    "hash": ("bash", "zsh", None),
    "zregexparse": ("zsh",),
}
"""Names that mean nothing to other shells."""

TAKES_NAMES = frozenset(
    [
        "getln",
        "pcre_match",
        "strftime",
        "stat",
        "sysread",
        "zformat",
        "zparseopts",
        "zselect",
        "zstat",
        "zstyle",
    ]
)
"""Builtins of zsh that set variables whose names they are given."""

ZSH_TABLES = re.compile(
    r"(?:dis_)?(?:functions|functions_source|builtins|reswords|patchars|[gs]?aliases)"
    r"|options|commands|widgets|keymaps|modules|parameters"
)
"""Variables of zsh by which it is changed itself."""
