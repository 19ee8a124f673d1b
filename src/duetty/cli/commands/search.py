"""`duetty search`."""

import argparse
import sys
from typing import Any

from duetty.cli.reach import add_instance, add_server, reach
from duetty.cli.show import as_json, harmless, visible

EXAMPLES = (
    ("duetty search 'connection refused'", "every command that printed it"),
    ("duetty search --failed make", "failed commands that have to do with make"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("query", nargs="+", help='words, "quoted phrases", prefix*')
    parser.add_argument("-s", "--session", help="only this session")
    parser.add_argument(
        "--failed", action="store_true", default=None, help="only commands that failed"
    )
    parser.add_argument("-n", "--limit", type=int, default=20, help="how many (default 20)")
    parser.add_argument("--json", action="store_true", help="for scripts")


def run(arguments: argparse.Namespace) -> int:
    hits = reach(arguments).get(
        "/search",
        query=" ".join(arguments.query),
        session=arguments.session,
        failed=arguments.failed,
        limit=arguments.limit,
    )
    if arguments.json:
        as_json(hits)
        return 0 if hits else 1
    if not hits:
        print("Nothing found.", file=sys.stderr)
        return 1
    _show(hits)
    return 0


def _show(hits: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for hit in hits:
        block = hit["block"]
        head = Text(
            f"{block['started_at'][:19].replace('T', ' ')}  {block['session']}  ", style="dim"
        )
        head.append(visible(block["command_line"] or "(command line unknown)"), style="bold")
        if block["exit_code"]:
            head.append(f"  exit {block['exit_code']}", style="red")
        console.print(head)
        snippet = Text(harmless(hit["snippet"]))
        for start, end in hit["matches"]:
            snippet.stylize("bold yellow", start, end)
        for line in snippet.split("\n"):
            console.print(Text("    ").append_text(line))
