"""`duetty`: finds the command and runs it. Imports little, so that it starts at once.

Exit codes: 0 done; 1 the operation failed; 2 the command line is wrong; 3 no
server answers. `duetty run` gives the command's own exit code, 124 when the time
was up, 125 when Duetty itself failed. docs/cli.md has them all.
"""

import argparse
import gc
import sys
from collections import deque
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple, NoReturn, Protocol

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
    "new": Command("open a session here and attach to it; `duetty` alone does the same", "new"),
    "ask": Command("have the agent do something in a session, and watch it", "ask"),
    "agent": Command("show, stop and resume conversations with the agent", "agent"),
    "attach": Command("show a session in this terminal and type into it", "attach"),
    "list": Command("list the sessions", "list"),
    "run": Command("run a command in a session and print its output", "run"),
    "send": Command("type text into a session", "send"),
    "keys": Command("press named keys in a session", "keys"),
    "screen": Command("print what a session shows", "screen"),
    "scrollback": Command("print rows of a session's scrollback", "scrollback"),
    "wait": Command("wait for a text, an end, a state or silence", "wait"),
    "watch": Command("follow sessions and their events as they happen", "watch"),
    "history": Command("show what was run, newest last", "history"),
    "search": Command("search command lines and output of everything that was run", "search"),
    "context": Command("show a session's directory, repository or log", "context"),
    "record": Command("save a session's past as an asciicast", "record"),
    "replay": Command("play a recording, or a session's past, in this terminal", "replay"),
    "rename": Command("give a session another name", "rename"),
    "workspace": Command("show or set where agents change files unasked", "workspace"),
    "tag": Command("show, add and remove a session's tags", "tag"),
    "detach": Command("send every attached terminal of a session away", "detach"),
    "kill": Command("end a session and its programs", "kill"),
    "status": Command("show whether the server runs, and how it is", "status"),
    "server": Command("start the server", "server"),
    "stop": Command("end the server and its sessions", "stop"),
    "servers": Command("show, add and remove the servers that this one speaks for", "servers"),
    "hub": Command("serve a hub: every machine's terminals behind one address", "hub"),
    "join": Command("join a hub, so that this machine is reached through it", "join"),
    "login": Command("log in to a hub, and use its machines from here", "login"),
    "share": Command("share a session with another user of a hub, for a time", "share"),
    "persist": Command("show or set whether the server stays when it is idle", "persist"),
    "approvals": Command("show what waits for a person's answer", "approvals"),
    "approve": Command("say yes to a question", "approve"),
    "decline": Command("say no to a question", "decline"),
    "audit": Command("show, verify and export the record of what was called", "audit"),
    "policy": Command("judge command lines, or show how one is judged", "policy"),
    "upstreams": Command("show, add, trust and call the MCP servers behind this one", "upstreams"),
    "token": Command("print the token; create, list and revoke tokens; sign a browser in", "token"),
    "mcp": Command("serve an agent's MCP host over stdin and stdout", "mcp"),
    "config": Command("show settings and where each came from", "config"),
    "doctor": Command("find what is wrong, and say how to mend it", "doctor"),
    "repair": Command("list, restore or discard what was found damaged", "repair"),
    "completion": Command("print a completion script for bash, zsh or fish", "completion"),
    "keeper": Command("hold the PTYs (started by the server)", "keeper", hidden=True),
}

WHICH_SERVER = ("-L", "--instance", "--server")
_WITH_VALUE = ("-L", "--instance=", "--server=")

EXIT_FAILED, EXIT_USAGE, EXIT_UNREACHABLE = 1, 2, 3
USUAL_CODES = "0 done, 1 failed, 2 wrong command line, 3 no server answers"


class _Parser(argparse.ArgumentParser):
    """Says examples after the options, and what is wrong in one line."""

    def __init__(
        self,
        *,
        examples: Sequence[tuple[str, str]] = (),
        exit_codes: str = USUAL_CODES,
        **options: Any,
    ) -> None:
        super().__init__(
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=_epilog(examples, exit_codes),
            **options,
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - of its overloads, all
        """Options first: argparse takes words in one piece, and knows them by their place."""
        words = list(sys.argv[1:] if args is None else args)
        return super().parse_known_args(_options_first(self._actions, words), namespace)

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


def _options_first(actions: Sequence[argparse.Action], words: list[str]) -> list[str]:
    """The same words, options before all others; what follows `--` is no option.

    Commands that take the rest of the line as it is, or have commands of their own, keep it.
    """
    if any(action.nargs in (argparse.REMAINDER, argparse.PARSER) for action in actions):
        return words
    options: list[str] = []
    others: list[str] = []
    left = deque(words)
    while left:
        word = left.popleft()
        if word == "--":
            return [*options, *others, word, *left]
        if _is_plain(actions, word):
            others.append(word)
        elif (choice := _choice(actions, word)) is not None:
            # What stands behind it now may not be its value.
            value = left.popleft() if left and left[0] in (choice.choices or ()) else choice.const
            options.append(f"{word}={value}")
        else:
            options.append(word)
            if left and _takes_next(actions, word):
                options.append(left.popleft())
    return [*options, *others]


def _choice(actions: Sequence[argparse.Action], word: str) -> argparse.Action | None:
    """The option, if it takes one of a few words, or none."""
    if "=" in word or len(named := _options_meant(actions, word)) != 1 or named[0].choices is None:
        return None
    return named[0] if named[0].nargs == "?" else None


def _is_plain(actions: Sequence[argparse.Action], word: str) -> bool:
    """Whether argparse takes it for no option: a number, or a text that merely begins so."""
    if not word.startswith("-") or word == "-":
        return True
    if word[1:].replace(".", "", 1).isdecimal():
        return True
    return " " in word and not _options_meant(actions, word)


def _takes_next(actions: Sequence[argparse.Action], word: str) -> bool:
    """Whether the word after this option is its value."""
    if "=" in word or (not word.startswith("--") and len(word) > 2):
        return False  # -sTERM has it already
    return any(action.nargs is None for action in _options_meant(actions, word))


def _options_meant(actions: Sequence[argparse.Action], word: str) -> list[argparse.Action]:
    """The options that a word means: by name, or by the beginning of a long one."""
    name = word.partition("=")[0] if word.startswith("--") else word[:2]
    exact = [action for action in actions if name in action.option_strings]
    return exact or [
        action
        for action in actions
        if name.startswith("--") and any(each.startswith(name) for each in action.option_strings)
    ]


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] in (["--version"], ["-V"]):
        print(f"duetty {__version__}")
        return 0
    if words[:1] == ["help"] and len(words) > 1:
        words = [*words[1:], "--help"]
    if words[:1] in (["-h"], ["--help"], ["help"]) or (not words and not _is_terminal()):
        print(overview())
        return 0
    words = _command_first(words)
    if not words or (words[0].startswith("-") and words[0] != "--"):
        # `duetty`, or `duetty --name build`: a session here.
        words = ["new", *words]
    name = words.pop(0)
    command = COMMANDS.get(name)
    if command is None:
        return _unknown(name)
    module = _load(command)
    parser = make_parser(name, module)
    return _run(module, parser.parse_args(words))


def _command_first(words: list[str]) -> list[str]:
    """The option for another server may stand before the command: `duetty -L work status`."""
    end = 0
    while end < len(words):
        if words[end] in WHICH_SERVER:
            end += 2
        elif words[end].startswith(_WITH_VALUE):
            end += 1
        else:
            break
    if end < len(words) and words[end] in COMMANDS:
        return [words[end], *words[:end], *words[end + 1 :]]
    return words


def make_parser(name: str, module: CommandModule) -> argparse.ArgumentParser:
    summary = COMMANDS[name].summary
    parser = _Parser(
        prog=f"duetty {name}",
        description=summary[0].upper() + summary[1:] + ".",
        examples=getattr(module, "EXAMPLES", ()),
        exit_codes=getattr(module, "EXIT_CODES", USUAL_CODES),
    )
    module.add_arguments(parser)
    return parser


def load(name: str) -> CommandModule:
    return _load(COMMANDS[name])


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _epilog(examples: Sequence[tuple[str, str]], exit_codes: str) -> str:
    codes = f"exit codes: {exit_codes} (docs/cli.md)"
    if not examples:
        return codes
    width = max(len(line) for line, _ in examples)
    lines = [f"  {line:<{width}}  {what}".rstrip() for line, what in examples]
    return "\n".join(["examples:", *lines, "", codes])


def overview() -> str:
    lines = [
        "usage: duetty [COMMAND] [ARGUMENTS]",
        "",
        "One terminal, two drivers. Without a command: a session here, in this terminal.",
        "",
    ]
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
    gc.disable()  # nothing that loading makes is garbage, and looking for it takes a sixth of a start
    try:
        module: CommandModule = import_module(f"duetty.cli.commands.{command.module}")  # type: ignore[assignment]  # modules of this package keep the protocol; a test checks them
    finally:
        gc.freeze()  # nor is it looked at by the first collection after, a twentieth of a second
        gc.enable()
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
        complain(error)
        return EXIT_UNREACHABLE
    except DuettyError as error:
        complain(error)
        return EXIT_FAILED
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The reader of our output (`head`) has enough.
            sys.stderr.close()
            return 0
        print(f"duetty: {error} [internal_error]", file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        return 130


def complain(error: "Exception") -> None:
    message = getattr(error, "message", str(error))
    code = getattr(error, "code", "error")
    print(f"duetty: {message} [{code}]", file=sys.stderr)
    if hint := getattr(error, "hint", None):
        print(f"  {hint}", file=sys.stderr)
