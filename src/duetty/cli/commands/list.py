"""`duetty list`."""

import argparse

from duetty.cli.reach import add_instance, reach
from duetty.cli.show import add_json, age, as_json, as_table, state_style

EXAMPLES = (
    ("duetty list", "what there is, and what each is doing"),
    ("duetty list --tag ci --json", "for scripts"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    parser.add_argument(
        "--tag", action="append", help="only sessions with this tag; may be repeated"
    )
    parser.add_argument("--names", action="store_true", help="only names, one a line")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    sessions = reach(arguments).get("/sessions", tag=arguments.tag)
    if arguments.json:
        as_json(sessions)
    elif arguments.names:
        print("\n".join(each["name"] for each in sessions), end="\n" if sessions else "")
    elif not sessions:
        print("No sessions. `duetty` alone opens one.")
    else:
        as_table(
            ("NAME", "STATE", "COMMAND", "DIRECTORY", "SIZE", "VIEWERS", "LAST ACTIVITY", "TAGS"),
            [
                (
                    each["name"],
                    each["state"]
                    + (f" ({each['exit_code']})" if each["exit_code"] is not None else ""),
                    each["command"],
                    each["cwd"],
                    f"{each['cols']}x{each['rows']}",
                    str(each["clients"]),
                    age(each["last_activity_ms"]),
                    ", ".join(each["tags"]),
                )
                for each in sessions
            ],
            styles={"NAME": lambda _: "bold", "STATE": state_style},
        )
    return 0
