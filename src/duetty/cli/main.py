"""`duetty`: finds the command and runs it. Imports little, so that it starts at once.

Exit codes: 0 done; 1 the operation failed; 2 the command line is wrong; 3 no
server answers. `duetty run` gives the command's own exit code, 124 when the time
was up, 125 when Duetty itself failed.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple, NoReturn, Protocol

from duetty import __version__


class CommandModule(Protocol):
    """What each module of `cli.commands` offers."""

    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


class Command(NamedTuple):
    summary: str
    module: str
    hidden: bool = False


COMMANDS: dict[str, Command] = {
    "server": Command("start the server", "server"),
    "mcp": Command("serve an agent's MCP host over stdin and stdout", "mcp"),
    "run": Command("run a command in a session and print its output", "run"),
    "list": Command("list the sessions", "list"),
    "history": Command("show what was run, newest last", "history"),
    "search": Command("search command lines and output of everything that was run", "search"),
    "status": Command("show whether the server runs, and how it is", "status"),
    "token": Command("print the token, or a new sign-in link for a browser", "token"),
    "stop": Command("end the server and its sessions", "stop"),
    "keeper": Command("hold the PTYs (started by the server)", "keeper", hidden=True),
}

EXIT_FAILED, EXIT_USAGE, EXIT_UNREACHABLE = 1, 2, 3


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] in (["--version"], ["-V"]):
        print(f"duetty {__version__}")
        return 0
    if not words or words[0] in ("-h", "--help", "help"):
        print(overview())
        return 0
    name = words.pop(0)
    command = COMMANDS.get(name)
    if command is None:
        return _unknown(name)
    module = _load(command)
    parser = _Parser(
        prog=f"duetty {name}", description=command.summary[0].upper() + command.summary[1:] + "."
    )
    module.add_arguments(parser)
    return _run(module, parser.parse_args(words))


def overview() -> str:
    lines = ["usage: duetty COMMAND [ARGUMENTS]", "", "One terminal, two drivers.", ""]
    width = max(len(name) for name in COMMANDS)
    lines += [
        f"  {name:<{width}}  {command.summary}"
        for name, command in COMMANDS.items()
        if not command.hidden
    ]
    return "\n".join(
        [*lines, "", "`duetty COMMAND --help` tells more. `duetty --version` prints the version."]
    )


def _load(command: Command) -> CommandModule:
    module: CommandModule = import_module(f"duetty.cli.commands.{command.module}")  # type: ignore[assignment]  # modules of this package keep the protocol; a test checks them
    return module


def _unknown(name: str) -> int:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1)
    print(
        f"duetty: no command {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
        file=sys.stderr,
    )
    return EXIT_USAGE


def _run(module: CommandModule, arguments: argparse.Namespace) -> int:
    from duetty.errors import DuettyError, ServerUnreachable

    try:
        return module.run(arguments)
    except ServerUnreachable as error:
        _complain(error)
        return EXIT_UNREACHABLE
    except DuettyError as error:
        _complain(error)
        return EXIT_FAILED
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # Whoever read our output has seen enough.
            sys.stderr.close()
            return 0
        print(f"duetty: {error} [internal_error]", file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        return 130


def _complain(error: "Exception") -> None:
    message = getattr(error, "message", str(error))
    code = getattr(error, "code", "error")
    print(f"duetty: {message} [{code}]", file=sys.stderr)
    if hint := getattr(error, "hint", None):
        print(f"  {hint}", file=sys.stderr)
