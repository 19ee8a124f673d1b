r"""Prompts: variables whose text a shell expands each time it draws one, which no line is asked about.

A literal that runs nothing may be set, as `PS1='\u@\h:\w\$ '` is. What comes from elsewhere, or is
put together, may not: bash reads `\044` in a prompt as a dollar sign, and runs what it makes of it.
"""

import re
from collections.abc import Sequence

from duetty.policy.scanning.reading import UNKNOWN, Word

_OF_BASH = "PS1|PS3|PS4"
_OF_ZSH = rf"{_OF_BASH}|PROMPT[234]?|RPROMPT2?|RPS[12]|SPROMPT|PSVAR|prompt"  # PROMPT is anybody's in bash
_NAMES = {"bash": _OF_BASH, "zsh": _OF_ZSH, None: _OF_ZSH}

_SUBSCRIPT = r"(?:\[[^]]{0,100}\])?"


def _passing(names: str) -> re.Pattern[str]:
    return re.compile(
        rf"\b(?:for|foreach|select|coproc)\s{{1,20}}(?:{names})\b"
        rf"|\$\{{(?:{names}){_SUBSCRIPT}:{{0,2}}="
        rf"|\{{(?:{names}){_SUBSCRIPT}\}}[<>]"
        rf"|(?:^|[\s;&|({{])(?:{names}){_SUBSCRIPT}(?:\+=|=\()"
    )


_IS_PROMPT = {shell: re.compile(names).fullmatch for shell, names in _NAMES.items()}
_PASSING = {shell: _passing(names).search for shell, names in _NAMES.items()}

_RUNS = re.compile(rf"[`{UNKNOWN}]|\$(?:[({{\[\\]|\w{{1,100}}\[)")
_OCTAL = re.compile(r"\\([0-7]{1,3})")
_DATE = re.compile(r"\\D\{(?![\w %:/.,+-]{0,100}\})")


def is_prompt(name: str, shell: str | None) -> bool:
    """Whether this shell expands a variable of this name when it draws a prompt."""
    of_shell = _IS_PROMPT.get(shell)
    return of_shell is not None and of_shell(name) is not None


def is_plain(value: Word | str) -> bool:
    """Whether a prompt of this text runs nothing, whatever the shell makes of its escapes."""
    if isinstance(value, Word):
        if not value.known:
            return False
        value = value.text
    if _RUNS.search(value) or _DATE.search(value):
        return False
    return not any(0x20 <= int(found, 8) % 256 < 0x7F for found in _OCTAL.findall(value))


def is_appended_or_tied(given: Sequence[str], shell: str | None) -> bool:
    """Whether what `declare` is given adds to a prompt, or ties one to another variable (zsh)."""
    ties = any(word[:1] == "-" and "T" in word.partition("=")[0] for word in given)
    return any(
        is_prompt(word.partition("+=")[0] if "+=" in word else word.partition("=")[0], shell)
        and (ties or "+=" in word)
        for word in given
    )


def is_set_in_passing(text: str, shell: str | None) -> bool:
    """Whether a loop, an expansion, a redirection or what is appended sets a prompt."""
    of_shell = _PASSING.get(shell)
    return of_shell is not None and of_shell(text) is not None
