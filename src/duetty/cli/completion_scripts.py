"""Completion scripts, made from the commands' own parsers: each option is defined once.

A script holds everything but the sessions' names and what an @ can name, which it asks for when it needs them.
"""

import argparse
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from duetty.cli.main import COMMANDS, load, make_parser

NAMES = "duetty list --names 2>/dev/null"
MENTIONS = "duetty agent complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    flags: tuple[str, ...]
    meaning: str
    takes_value: bool
    choices: tuple[str, ...]
    is_session: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What can follow a command."""

    name: str
    summary: str
    options: tuple[Option, ...]
    words: tuple[str, ...]
    """Fixed words at its places: actions, or the choices of an argument."""

    has_session: bool
    has_file: bool
    has_message: bool
    """A message to the agent, in which an @ names something."""


def shapes() -> list[Shape]:
    return [
        _shape(name, command.summary) for name, command in COMMANDS.items() if not command.hidden
    ]


def _shape(name: str, summary: str) -> Shape:
    parser = make_parser(name, load(name))
    actions = parser._actions
    words: list[str] = []
    for action in actions:
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
            words += list(action.choices)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        elif not action.option_strings and action.choices:
            words += [str(choice) for choice in action.choices]
    places = [action for action in actions if not action.option_strings]
    return Shape(
        name=name,
        summary=summary,
        options=tuple(_option(action) for action in actions if action.option_strings),
        words=tuple(words),
        has_session=any("SESSION" in str(action.metavar or "") for action in places),
        has_file=any("FILE" in str(action.metavar or "") for action in places),
        has_message=any(action.metavar == "MESSAGE" for action in places),
    )


def _option(action: argparse.Action) -> Option:
    return Option(
        flags=tuple(action.option_strings),
        meaning=(action.help or "").replace("%(default)s", str(action.default)),
        takes_value=action.nargs != 0,
        choices=tuple(str(choice) for choice in action.choices or ()),
        is_session=action.dest == "session",
    )


BASH_MENTIONS = rf"""_duetty_mentions() {{
    # Where a word begins for bash depends on quotes, @ and :, so the whole of it is taken from the line.
    local line="${{COMP_LINE:0:COMP_POINT}}" current="${{1#[\"\']}}" found
    local begun="${{line##*[[:space:]\"\']}}"
    [ "${{begun#@}}" != "$begun" ] || return 1
    local ahead="${{current%"$begun"}}" behind="${{begun%"$current"}}"
    [ "${{#current}}" -ge "${{#begun}}" ] && behind= || ahead=
    compopt -o nospace
    while IFS= read -r found; do COMPREPLY+=("$ahead${{found#"$behind"}}")
    done < <({MENTIONS} "$begun" "${{COMP_WORDS[@]}}" 2>/dev/null)
}}"""


def bash() -> str:
    """For bash and, with its own emulation, nothing else."""
    cases: list[str] = []
    for shape in shapes():
        flags = " ".join(flag for option in shape.options for flag in option.flags)
        values = [
            f"            {'|'.join(option.flags)}) {_bash_values(option)}; return ;;"
            for option in shape.options
            if option.takes_value
        ]
        words = " ".join(shape.words)
        names = f"$({NAMES})" if shape.has_session else ""
        cases.append(
            "\n".join(
                [
                    f"    {shape.name})",
                    '        case "$before" in',
                    *(values or ["            '') ;;"]),
                    "        esac",
                    *(['        _duetty_mentions "$2" && return'] if shape.has_message else []),
                    f'        flags="{flags}"; words="{words} {names}"; files={int(shape.has_file)} ;;',
                ]
            )
        )
    commands = " ".join(shape.name for shape in shapes())
    return "\n".join(
        [
            BASH_MENTIONS,
            "_duetty() {",
            '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command=',
            "    local flags= words= files=0",
            "    COMPREPLY=()",
            '    if [ "$COMP_CWORD" -eq 1 ]; then',
            f'        COMPREPLY=($(compgen -W "{commands} --help --version" -- "$word")); return',
            "    fi",
            '    case "${COMP_WORDS[1]}" in',
            *cases,
            "    *) return ;;",
            "    esac",
            '    if [ "${word#-}" != "$word" ]; then COMPREPLY=($(compgen -W "$flags" -- "$word"))',
            '    else COMPREPLY=($(compgen -W "$words" -- "$word"))',
            '        if [ "$files" = 1 ]; then COMPREPLY+=($(compgen -f -- "$word")); fi',
            "    fi",
            "}",
            "complete -F _duetty duetty",
        ]
    )


def _bash_values(option: Option) -> str:
    if option.choices:
        return f'COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$word"))'
    if option.is_session:
        return f'COMPREPLY=($(compgen -W "$({NAMES})" -- "$word"))'
    return 'COMPREPLY=($(compgen -f -- "$word"))' if "--output" in option.flags else ":"


def zsh() -> str:
    functions: list[str] = []
    cases: list[str] = []
    for shape in shapes():
        specs = [spec for option in shape.options for spec in _zsh_option(option)]
        if shape.has_session:
            specs.append(
                "'*:session:_duetty_sessions'"
                if not shape.has_file
                else "'*:recording:_duetty_recordings'"
            )
        elif shape.words:
            specs.append(f"'1:action:({' '.join(shape.words)})'")
        elif shape.has_file:
            specs.append("'*:file:_files'")
        elif shape.has_message:
            specs.append("'*:message:_duetty_mentions'")
        cases.append(f"        {shape.name}) _arguments -s {' '.join(specs)} ;;")
    commands = [
        f"        {shlex.quote(shape.name + ':' + shape.summary.replace(':', ' '))}"
        for shape in shapes()
    ]
    functions += [
        "#compdef duetty",
        "_duetty_sessions() {",
        "    local -a names",
        f'    names=("${{(@f)$({NAMES})}}")',
        "    compadd -a names",
        "}",
        "_duetty_mentions() {",
        "    local -a found",
        "    compset -P '*[[:space:]]'",
        "    [[ $PREFIX == @* ]] || return 1",
        f'    found=("${{(@f)$({MENTIONS} "$PREFIX" $words 2>/dev/null)}}")',
        "    compadd -S '' -a found",
        "}",
        "_duetty_recordings() { _duetty_sessions; _files -g '*.cast' }",
        "_duetty() {",
        "    local -a commands",
        "    commands=(",
        *commands,
        "    )",
        "    if (( CURRENT == 2 )); then _describe command commands; return; fi",
        "    shift words; (( CURRENT-- ))",
        '    case "$words[1]" in',
        *cases,
        "    esac",
        "}",
        "compdef _duetty duetty",
    ]
    return "\n".join(functions)


def _zsh_option(option: Option) -> list[str]:
    meaning = option.meaning.replace("[", "(").replace("]", ")").replace("'", "").replace(":", " ")
    value = ""
    if option.takes_value:
        kind = f"({' '.join(option.choices)})" if option.choices else ""
        kind = "_duetty_sessions" if option.is_session else kind
        value = f":value:{kind or ('_files' if '--output' in option.flags else '')}"
    return [f"'{flag}[{meaning}]{value}'" for flag in option.flags]


FISH_MENTIONS = rf"""function __duetty_mentions
    set -l typed (string replace -r '^["\']' '' -- (commandline -ct))
    set -l begun (string match -r '@[^\s]*$' -- $typed); or return
    set -l ahead (string sub -l (math (string length -- $typed) - (string length -- $begun)) -- $typed)
    for found in ({MENTIONS} $begun (commandline -opc) 2>/dev/null)
        echo -- $ahead$found
    end
end"""


def fish() -> str:
    lines = [
        "complete -c duetty -f",
        "function __duetty_sessions; " + NAMES + "; end",
        FISH_MENTIONS,
    ]
    for shape in shapes():
        lines.append(
            f"complete -c duetty -n __fish_use_subcommand -a {shape.name} -d {_fish_quote(shape.summary)}"
        )
        seen = f"-n '__fish_seen_subcommand_from {shape.name}'"
        if shape.has_session:
            lines.append(f"complete -c duetty {seen} -a '(__duetty_sessions)'")
        if shape.words:
            lines.append(f"complete -c duetty {seen} -a {_fish_quote(' '.join(shape.words))}")
        if shape.has_file:
            lines.append(f"complete -c duetty {seen} -F")
        if shape.has_message:
            lines.append(f"complete -c duetty {seen} -a '(__duetty_mentions)'")
        lines += [f"complete -c duetty {seen} {_fish_option(option)}" for option in shape.options]
    return "\n".join(lines)


def _fish_option(option: Option) -> str:
    parts = [
        f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags
    ]
    if option.takes_value:
        parts.append("-r")
        if option.choices:
            parts.append(f"-a {_fish_quote(' '.join(option.choices))}")
        elif option.is_session:
            parts.append("-a '(__duetty_sessions)'")
        elif "--output" in option.flags:
            parts.append("-F")
    return " ".join([*parts, f"-d {_fish_quote(option.meaning)}"])


def _fish_quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS: dict[str, Callable[[], str]] = {"bash": bash, "fish": fish, "zsh": zsh}
