"""`duetty list`."""

import argparse

from duetty.cli.reach import add_instance, add_server, reach
from duetty.cli.show import add_json, age, as_json, as_table, state_style

EXAMPLES = (
    ("duetty list", "what there is, and what each is doing"),
    ("duetty list --server build1", "those of another server"),
    ("duetty list --tag ci --json", "for scripts"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument(
        "--tag", action="append", help="only sessions with this tag; may be repeated"
    )
    parser.add_argument("--names", action="store_true", help="only names, one a line")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    # Names alone are for completion, which is about sessions that can be named alone.
    only = "local" if arguments.names and arguments.server is None else None
    sessions = reach(arguments).get("/sessions", tag=arguments.tag, server=only)
    if arguments.json:
        as_json(sessions)
    elif arguments.names:
        print("\n".join(each["name"] for each in sessions), end="\n" if sessions else "")
    elif not sessions:
        print("No sessions. `duetty` alone opens one.")
    else:
        several = len({each["server"] for each in sessions}) > 1
        # One of another server may be older than this word.
        levels = [each.get("sandbox", "none") for each in sessions]
        confined = any(level != "none" for level in levels)
        as_table(
            (
                "NAME",
                *(("SERVER",) if several else ()),
                "STATE",
                *(("SANDBOX",) if confined else ()),
                "COMMAND",
                "DIRECTORY",
                "SIZE",
                "VIEWERS",
                "LAST ACTIVITY",
                "TAGS",
            ),
            [
                (
                    each["name"],
                    *((each["server"],) if several else ()),
                    each["state"]
                    + (f" ({each['exit_code']})" if each["exit_code"] is not None else ""),
                    *((level if level != "none" else "",) if confined else ()),
                    each["command"],
                    each["cwd"],
                    f"{each['cols']}x{each['rows']}",
                    str(each["clients"]),
                    age(each["last_activity_ms"]),
                    ", ".join(each["tags"]),
                )
                for each, level in zip(sessions, levels, strict=True)
            ],
            styles={"NAME": lambda _: "bold", "STATE": state_style},
        )
    return 0
