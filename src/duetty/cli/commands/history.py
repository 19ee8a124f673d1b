"""`duetty history`."""

import argparse
from typing import Any

from duetty.cli.reach import add_instance, add_server, reach
from duetty.cli.show import as_json, as_table, duration, exit_style

EXAMPLES = (
    ("duetty history", "the last 50 commands of every session"),
    ("duetty history -s build -n 5", "the last 5 of one session"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("-s", "--session", help="only this session")
    parser.add_argument("-n", "--limit", type=int, default=50, help="how many (default 50)")
    parser.add_argument("--json", action="store_true", help="for scripts; newest first")


def run(arguments: argparse.Namespace) -> int:
    blocks = reach(arguments).get("/history", session=arguments.session, limit=arguments.limit)
    if arguments.json:
        as_json(blocks)
    elif not blocks:
        print("Nothing was run yet.")
    else:
        as_table(
            ("WHEN", "SESSION", "EXIT", "TOOK", "DIRECTORY", "COMMAND"),
            [block_row(block) for block in reversed(blocks)],
            styles={"WHEN": lambda _: "dim", "EXIT": exit_style},
            spare=("DIRECTORY", "TOOK", "WHEN"),
        )
    return 0


def block_row(block: dict[str, Any]) -> tuple[str, ...]:
    return (
        block["started_at"][:19].replace("T", " "),
        block["session"],
        "-" if block["exit_code"] is None else str(block["exit_code"]),
        duration(block["duration_ms"]),
        block["cwd"] or "-",
        block["command_line"] or "-",
    )
