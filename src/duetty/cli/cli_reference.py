"""The page about the command line (docs/cli.md), made from the commands' own parsers."""

import argparse
from collections.abc import Iterator
from typing import cast

from duetty.cli.main import COMMANDS, load, make_parser

HEAD = """\
# The command line

`duetty` alone, on a terminal, opens a session in this directory and shows it. Everything else is `duetty COMMAND`; `duetty COMMAND --help`
says what is here. Commands speak to the server of this user over its unix socket and need no token.

- **Which server.** `-L NAME` or `DUETTY_INSTANCE` name an instance (default `default`); `DUETTY_HOME` moves settings, state and sockets of
  all instances under one directory. Commands that need a server and find none say so and exit with 3; `duetty`, `new`, `run` and `mcp`
  start one that ends when its last session and its last client are gone; so does `join`, and that one stays. Sessions and commands have both variables where they are not the
  default, so that `duetty` inside finds the server that started it; inside a session no command starts another server. `stop` has nothing to do then, says so and exits with 0.
- **For scripts.** `--json` prints the API's own shapes. Output is plain, uncut and without colours when it is no terminal; `NO_COLOR` turns
  colours off on a terminal too. Errors go to standard error as `duetty: what was wrong [code]`, with what to do about it on the next
  line; the codes are permanent ([errors](errors.md)).
  `new -d` prints the session's name, or with `--json` the session. Commands that only do something (`send`, `keys`, `kill`, `rename`,
  `detach`) print nothing and tell by their exit code; `rename --json` prints the session. `record` writes the recording and `stop` says
  one sentence: the exit code is what to read.
- **Options** may stand before, between and after the words, except where the rest of the line is a command (`new`, `run`, `upstreams add`).
  After `--` nothing is an option: `duetty kill -- -x` ends the session named `-x`. `-L` and `--server` may stand before the command too:
  `duetty -L work status`.
- **What programs printed** is never passed to your terminal as it is: control characters become visible text, and `attach` and `replay` draw
  cells ([attach](attach.md)).
- **Completion.** `eval "$(duetty completion bash)"` (or `zsh`) in the shell's startup file; `duetty completion fish >
  ~/.config/fish/completions/duetty.fish`. Commands, options, choices and names of sessions are completed.

## Exit codes

| code | meaning |
|---|---|
| 0 | done; `attach`: detached, or the session ended; `stop`: nothing runs any more, or nothing ran |
| 1 | the operation failed; `search`: nothing found; `doctor`: something is broken |
| 2 | the command line is wrong |
| 3 | no server answers; `attach`: it went away and did not come back |
| 124 | `run` and `wait`: the time was up; the command goes on |
| 125 | `run`: Duetty itself failed, or the command waits for a person to type |
| 128 + N | ended by signal N |
| any | `run`: the exit code of the command |

Codes that only the command line has: `needs_terminal` (`attach` and `replay` draw on one), `nested_session` (inside a session already; `--nest`
allows it), `file_exists` (`record` replaces nothing unasked), `file_unwritable`, `bad_recording` (the file is no asciicast).
"""


def page() -> str:
    shown = [name for name, command in COMMANDS.items() if not command.hidden]
    lines = [HEAD, "## Commands", "", "| command | |", "|---|---|"]
    lines += [f"| [`{name}`](#duetty-{name}) | {COMMANDS[name].summary} |" for name in shown]
    for name in shown:
        lines += ["", *_command(name)]
    return "\n".join(lines) + "\n"


def _command(name: str) -> Iterator[str]:
    module = load(name)
    parser = make_parser(name, module)
    yield f"## duetty {name}"
    yield ""
    yield parser.description or ""
    yield ""
    yield from _options(parser)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage] - argparse shows them nowhere else
            choices = cast("dict[str, argparse.ArgumentParser]", action.choices)  # pyright: ignore[reportUnknownMemberType]
            for word, actions_parser in choices.items():
                rows = list(_options(actions_parser))
                if rows:
                    yield f"`duetty {name} {word}`:"
                    yield ""
                    yield from rows
    examples: tuple[tuple[str, str], ...] = getattr(module, "EXAMPLES", ())
    if examples:
        width = max(len(line) for line, _ in examples)
        yield "```sh"
        yield from (f"{line:<{width}}  # {what}" for line, what in examples)
        yield "```"


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    actions = [
        action
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        and not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)  # pyright: ignore[reportPrivateUsage]
        and "--instance" not in action.option_strings
    ]
    if not actions:
        return
    yield "| argument | |"
    yield "|---|---|"
    for action in actions:
        meaning = (action.help or "").replace("%(default)s", str(action.default))
        if action.choices and not any(str(choice) in meaning for choice in action.choices):
            meaning += f" ({', '.join(str(choice) for choice in action.choices)})"
        yield f"| {_name(action)} | {meaning.replace('|', chr(92) + '|')} |"
    yield ""


def _name(action: argparse.Action) -> str:
    if not action.option_strings:
        word = str(action.metavar or action.dest)
        return f"`{word}`" + (" …" if action.nargs in ("*", "+", argparse.REMAINDER) else "")
    value = ""
    if action.nargs != 0 and not action.choices:
        value = f" {action.metavar or action.dest.upper()}"
    return ", ".join(f"`{flag}{value}`" for flag in action.option_strings).replace(
        "|", chr(92) + "|"
    )
