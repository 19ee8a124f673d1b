"""`duetty context`."""

import argparse
from typing import Any

from duetty.cli.reach import add_instance, add_server, reach
from duetty.cli.show import add_json, as_json, harmless, visible

EXAMPLES = (
    ("duetty context git", "branch and changes where something happened last"),
    ("duetty context cwd -s build", "the directory of one session"),
    ("duetty context log -s build > build.md", "what happened there, as Markdown"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("what", choices=("git", "cwd", "log"), help="what to show")
    parser.add_argument(
        "-s", "--session", help="this session (default: the one in which something happened last)"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    path = f"/context/{arguments.what}"
    found = reach(arguments).get(path, session=arguments.session)
    if arguments.json:
        as_json(found)
    elif arguments.what == "cwd":
        print(visible(found["cwd"]))
    elif arguments.what == "log":
        print(harmless(found["markdown"]), end="")
    else:
        print("\n".join(_git(found)))
    return 0


def _git(found: dict[str, Any]) -> list[str]:
    if found["root"] is None:
        return ["No repository."]
    head = visible(found["branch"] or f"detached at {(found['commit'] or '?')[:12]}")
    if found["upstream"] is not None:
        head += f" (of {visible(found['upstream'])}"
        if found["ahead"] is not None:
            head += f": {found['ahead']} ahead, {found['behind']} behind"
        head += ")"
    lines = [head]
    for word in ("staged", "modified"):
        lines += [f"{word:<9}  {each['change']} {visible(each['path'])}" for each in found[word]]
    lines += [f"untracked  {visible(path)}" for path in found["untracked"]]
    if len(lines) == 1:
        lines.append("Nothing is changed.")
    if found["truncated"]:
        lines.append("… and more")
    return lines
