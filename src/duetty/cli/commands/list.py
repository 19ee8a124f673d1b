"""`duetty list`."""

import argparse

from duetty.cli.reach import add_instance, reach
from duetty.cli.show import age, as_json, as_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    parser.add_argument(
        "--tag", action="append", help="only sessions with this tag; may be repeated"
    )
    parser.add_argument("--json", action="store_true", help="for scripts")


def run(arguments: argparse.Namespace) -> int:
    sessions = reach(arguments).get("/sessions", tag=arguments.tag)
    if arguments.json:
        as_json(sessions)
    elif not sessions:
        print("No sessions. `duetty run -- COMMAND` opens one for a command.")
    else:
        as_table(
            ("NAME", "STATE", "COMMAND", "DIRECTORY", "SIZE", "LAST ACTIVITY", "TAGS"),
            [
                (
                    each["name"],
                    each["state"]
                    + (f" ({each['exit_code']})" if each["exit_code"] is not None else ""),
                    each["command"],
                    each["cwd"],
                    f"{each['cols']}x{each['rows']}",
                    age(each["last_activity_ms"]),
                    ", ".join(each["tags"]),
                )
                for each in sessions
            ],
        )
    return 0
