"""`duetty send`."""

import argparse
import sys

from duetty.cli.reach import add_instance, add_server, reach
from duetty.client import session_path
from duetty.errors import BadArguments

EXAMPLES = (
    ("duetty send build 'make test' --enter", "type a line and press Enter"),
    ("duetty send build --paste < notes.txt", "paste a file, bracketed if the program asked"),
    ("printf '\\003' | duetty send build", "bytes as they are"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument("text", nargs="*", help="what to type; standard input when left out")
    parser.add_argument("-e", "--enter", action="store_true", help="press Enter after it")
    parser.add_argument("-p", "--paste", action="store_true", help="as a paste, not as keys")


def run(arguments: argparse.Namespace) -> int:
    words: list[str] = arguments.text
    if not words and sys.stdin.isatty():
        if not arguments.enter:
            raise BadArguments("there is nothing to send", hint="give a text, or pipe one in")
        text = b""
    else:
        text = (
            " ".join(words).encode(errors="surrogateescape") if words else sys.stdin.buffer.read()
        )
    client = reach(arguments)
    path = session_path(arguments.session, "/paste" if arguments.paste else "/input")
    if arguments.paste and text:
        client.post(path, {"text": text.decode("utf-8", "replace")})
    elif text:
        client.write(path, text)
    if arguments.enter:
        client.post(session_path(arguments.session, "/keys"), {"keys": ["Enter"]})
    return 0
