"""`duetty upstreams`."""

import argparse
import json
import sys
from typing import Any

from duetty.cli.reach import add_instance, paths_of, reach
from duetty.cli.show import add_json, as_json, as_table, harmless, visible
from duetty.client import Client
from duetty.errors import BadArguments, NotFound, ServerUnreachable

EXAMPLES = (
    ("duetty upstreams", "the MCP servers behind this one, and how they are"),
    ("duetty upstreams tools github", "its tools, their risk, and which wait for you"),
    ("duetty upstreams add files -- npx -y @modelcontextprotocol/server-filesystem .", "a program"),
    ("duetty upstreams add search --url https://search.example/mcp --token-env KEY", "an address"),
    ("duetty upstreams trust files", "look at its tools, and accept them"),
    ("duetty upstreams off files --tool write_file", "this tool is not called any more"),
    ('duetty upstreams call files read_file \'{"path": "README.md"}\'', "call one yourself"),
    ("duetty upstreams remove files", "end it and forget it"),
)

START_WAIT_S = 90
CALL_WAIT_S = 86_400


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_json(parser)
    parser.set_defaults(act="list", upstream=None)
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    listing = _action(actions, "list", "all of them, and how they are")
    listing.set_defaults(upstream=None)
    tools = _action(actions, "tools", "tools of all, or of one")
    tools.add_argument("upstream", nargs="?", metavar="NAME")
    for word, meaning in (("on", "use it"), ("off", "use it no more; it ends")):
        turn = _action(actions, word, f"{meaning}; one tool with --tool")
        turn.add_argument("upstream", metavar="NAME")
        turn.add_argument("--tool", help="this tool only")
    restart = _action(actions, "restart", "end it, and start it as the settings file says now")
    restart.add_argument("upstream", metavar="NAME")
    trust = _action(actions, "trust", "accept its new and changed tools, after a look")
    trust.add_argument("upstream", metavar="NAME")
    trust.add_argument("--tool", action="append", help="these only; may be repeated")
    trust.add_argument("--yes", action="store_true", help="show them, and do not ask")
    call = _action(actions, "call", "call a tool and print what it answers")
    call.add_argument("upstream", metavar="NAME")
    call.add_argument("tool")
    call.add_argument("arguments", nargs="?", default="{}", help="JSON (default: %(default)s)")
    call.add_argument("--timeout", type=float, metavar="SECONDS", help="how long it may take")
    _add_add(actions)
    remove = _action(actions, "remove", "end it, and take its table out of the settings file")
    remove.add_argument("upstream", metavar="NAME")


def _add_add(actions: Any) -> None:
    add = _action(actions, "add", "write its table into the settings file, and start it")
    add.add_argument("upstream", metavar="NAME", help="lower-case letters, digits and '-'")
    add.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="COMMAND",
        help="program and arguments, after --",
    )
    _add_options(add)


def _add_options(add: argparse.ArgumentParser) -> None:
    add.add_argument("--url", help="address of one that runs elsewhere, in place of a command")
    add.add_argument(
        "--env", action="append", default=[], metavar="NAME=VALUE", help="for it alone"
    )
    add.add_argument("--cwd", help="directory to begin in")
    add.add_argument("--token-file", metavar="FILE", help="with --url: file that holds the token")
    add.add_argument("--token-env", metavar="NAME", help="with --url: variable that holds it")
    add.add_argument("--sandbox", choices=("none", "any", "landlock", "bubblewrap"))
    add.add_argument("--workspace", action="append", metavar="DIR", help="what it may write there")
    add.add_argument("--network", action="store_true", help="let it reach the network from there")
    add.add_argument("--timeout", type=float, metavar="SECONDS", help="for one call")


def _action(actions: Any, word: str, meaning: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(word, help=meaning)
    parser.set_defaults(act=word)
    # Left out here, it keeps what was said before the action.
    parser.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="for scripts"
    )
    return parser


def run(arguments: argparse.Namespace) -> int:
    return {
        "list": _list,
        "tools": _tools,
        "on": _turn,
        "off": _turn,
        "restart": _restart,
        "trust": _trust,
        "call": _call,
        "add": _add,
        "remove": _remove,
    }[arguments.act](arguments)


# --- looking ----------------------------------------------------------------------


def _list(arguments: argparse.Namespace) -> int:
    found = reach(arguments).get("/upstreams")["upstreams"]
    if arguments.json:
        as_json(found)
    elif not found:
        print("No upstreams. `duetty upstreams add NAME -- COMMAND …` adds one.")
    else:
        as_table(
            ("NAME", "STATE", "TOOLS", "WAITING", "SANDBOX", "COMMAND"),
            [_row(each) for each in found],
            styles={"STATE": _state_style},
        )
        for each in found:
            if each["error"] is not None:
                print(f"{each['name']}: {visible(each['error']['message'])}")
    return 0


def _row(upstream: dict[str, Any]) -> tuple[str, ...]:
    return (
        upstream["name"],
        upstream["state"],
        str(len(upstream["tools"])),
        str(upstream["waiting"] or "-"),
        upstream["sandbox"] or "-",
        upstream["target"],
    )


def _state_style(state: str) -> str:
    return {"ready": "green", "starting": "cyan", "failed": "red", "off": "dim"}.get(
        state, "bold yellow"
    )


def _tools(arguments: argparse.Namespace) -> int:
    found = reach(arguments).get("/upstreams")["upstreams"]
    if arguments.upstream is not None:
        found = [_named(found, arguments.upstream)]
    tools = [(each["name"], tool) for each in found for tool in each["tools"]]
    if arguments.json:
        as_json([{"upstream": name, **tool} for name, tool in tools])
        return 0
    if not tools:
        print("No tools: nothing that runs has any.")
        return 0
    as_table(
        ("TOOL", "RISK", "PIN", "USE", "MEANING"),
        [
            (
                tool["id"] or f"{name}: {tool['name']}",
                tool["risk"],
                tool["pin"],
                "yes" if tool["usable"] else "on" if tool["on"] else "off",
                tool["description"].split("\n")[0],
            )
            for name, tool in tools
        ],
        styles={"PIN": _pin_style},
    )
    for _, tool in tools:
        for warning in tool["warnings"]:
            print(f"{visible(tool['name'])}: {visible(warning)}")
    return 0


def _pin_style(pin: str) -> str:
    return {"new": "yellow", "changed": "bold red"}.get(pin, "")


def _named(found: list[dict[str, Any]], name: str) -> dict[str, Any]:
    upstream = next((each for each in found if each["name"] == name), None)
    if upstream is None:
        raise NotFound(f"no upstream {name!r}", hint="`duetty upstreams` lists them")
    return upstream


# --- turning, starting, trusting --------------------------------------------------


def _turn(arguments: argparse.Namespace) -> int:
    body = {"on": arguments.act == "on", "tool": arguments.tool}
    path = f"/upstreams/{arguments.upstream}/turn"
    turned = reach(arguments).post(path, body, wait_s=START_WAIT_S)
    return _told(turned, arguments)


def _restart(arguments: argparse.Namespace) -> int:
    client = reach(arguments)
    client.post(f"/upstreams/{arguments.upstream}/restart", wait_s=START_WAIT_S)
    return _told(_settled(client, arguments.upstream), arguments)


def _told(upstream: dict[str, Any] | None, arguments: argparse.Namespace) -> int:
    if arguments.json:
        as_json(upstream)
    elif upstream is None:
        print(f"{arguments.upstream} is gone.")
    else:
        print(_sentence(upstream))
    return 1 if upstream is not None and upstream["state"] == "failed" else 0


def _sentence(upstream: dict[str, Any]) -> str:
    told = f"{upstream['name']} is {upstream['state']}"
    if upstream["error"] is not None:
        told += f": {visible(upstream['error']['message'])}"
    if upstream["waiting"]:
        told += f"; {upstream['waiting']} tools wait: `duetty upstreams trust {upstream['name']}`"
    return told


def _settled(client: Client, name: str) -> dict[str, Any] | None:
    """As it is once it has started, or has not."""
    found = client.get("/upstreams")
    while True:
        upstream = next((each for each in found["upstreams"] if each["name"] == name), None)
        if upstream is None or upstream["state"] != "starting":
            return upstream
        found = client.get(
            "/upstreams", after=found["seq"], wait_ms=START_WAIT_S * 1000, wait_s=120
        )


def _trust(arguments: argparse.Namespace) -> int:
    client = reach(arguments)
    upstream = _settled(client, arguments.upstream)
    if upstream is None:
        raise NotFound(f"no upstream {arguments.upstream!r}", hint="`duetty upstreams` lists them")
    waiting = [
        tool
        for tool in upstream["tools"]
        if tool["pin"] != "known" and (not arguments.tool or tool["name"] in arguments.tool)
    ]
    if not waiting:
        print(f"Nothing of {upstream['name']} waits.")
        return 0
    if not arguments.json:
        for tool in waiting:
            print("\n".join(_shown(tool)))
    if not arguments.yes and not _agreed(len(waiting), upstream["name"]):
        return 1
    trusted = client.post(
        f"/upstreams/{upstream['name']}/trust",
        {"fingerprint": upstream["fingerprint"], "tools": [tool["name"] for tool in waiting]},
    )
    return _told(trusted, arguments)


def _shown(tool: dict[str, Any]) -> list[str]:
    """A tool as a person has to see it before a yes: whole, and with nothing that hides."""
    lines = [f"{visible(tool['name'])}  {tool['pin']}, {tool['risk']} (by its own word)"]
    lines += [f"    ! {visible(warning)}" for warning in tool["warnings"]]
    if tool["pin"] == "changed":
        for each in tool["differences"]:
            lines.append(f"    {visible(each['part'])}")
            lines += [f"      - {visible(line)}" for line in (each["was"] or "").split("\n")]
            lines += [f"      + {visible(line)}" for line in (each["now"] or "").split("\n")]
        return lines
    lines += [f"    {visible(line)}" for line in tool["description"].split("\n")]
    schema = json.dumps(tool["input_schema"], ensure_ascii=True)
    lines.append(f"    takes {schema}")
    return lines


def _agreed(count: int, name: str) -> bool:
    if not sys.stdin.isatty():
        raise BadArguments("nobody is there to ask", hint="look at the tools, then add --yes")
    sys.stderr.write(f"Accept these {count} tools of {name} as they are? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


# --- calling ----------------------------------------------------------------------


def _call(arguments: argparse.Namespace) -> int:
    try:
        given = json.loads(arguments.arguments)
    except ValueError as error:
        raise BadArguments(f"the arguments are not JSON: {error}") from error
    if not isinstance(given, dict):
        raise BadArguments("the arguments must be a JSON object")
    body: dict[str, object] = {"tool": arguments.tool, "arguments": given}
    if arguments.timeout is not None:
        body["timeout_ms"] = max(1, round(arguments.timeout * 1000))
    path = f"/upstreams/{arguments.upstream}/call"
    answer = reach(arguments).post(path, body, wait_s=CALL_WAIT_S)
    if arguments.json:
        as_json(answer)
    else:
        for block in answer["content"]:
            print(_block(block))
    return 1 if answer["is_error"] else 0


def _block(block: dict[str, Any]) -> str:
    if block.get("type") == "text":
        return harmless(str(block.get("text")))
    size = len(block.get("data") or "")
    told = f", {size} characters of base64" if size else ""
    return f"[{visible(str(block.get('type')))} {visible(str(block.get('mimeType') or block.get('uri') or ''))}{told}]"


# --- the settings file ------------------------------------------------------------


def _add(arguments: argparse.Namespace) -> int:
    from duetty.upstreams.tables import add_table

    _take_options(arguments)
    add_table(paths_of(arguments).config_file, arguments.upstream, _table(arguments))
    try:
        client = reach(arguments)
        client.post(f"/upstreams/{arguments.upstream}/restart", wait_s=START_WAIT_S)
    except ServerUnreachable:
        print(f"{arguments.upstream} is added; it starts with the server.", file=sys.stderr)
        return 0
    return _told(_settled(client, arguments.upstream), arguments)


def _take_options(arguments: argparse.Namespace) -> None:
    """Options may stand behind the name; what follows `--` is the command and nothing else."""
    words: list[str] = arguments.command
    if "--" in words:
        at = words.index("--")
        options, arguments.command = words[:at], words[at + 1 :]
    elif words and words[0].startswith("-"):
        options, arguments.command = words, []
    else:
        return
    later = argparse.ArgumentParser(prog="duetty upstreams add NAME")
    _add_options(later)
    later.parse_args(options, namespace=arguments)


def _table(arguments: argparse.Namespace) -> dict[str, Any]:
    table: dict[str, Any] = {}
    if arguments.command:
        table["command"], *args = arguments.command
        if args:
            table["args"] = args
    if arguments.env:
        pairs = [each.partition("=") for each in arguments.env]
        if any(not sign for _, sign, _ in pairs):
            raise BadArguments("--env takes NAME=VALUE")
        table["env"] = {name: value for name, _, value in pairs}
    given = {
        "url": arguments.url,
        "cwd": arguments.cwd,
        "token_file": arguments.token_file,
        "token_env": arguments.token_env,
        "sandbox": arguments.sandbox,
        "workspaces": arguments.workspace,
        "network": True if arguments.network else None,
        "timeout": arguments.timeout,
    }
    return table | {key: value for key, value in given.items() if value is not None}


def _remove(arguments: argparse.Namespace) -> int:
    from duetty.upstreams.tables import remove_table

    remove_table(paths_of(arguments).config_file, arguments.upstream)
    try:
        reach(arguments).post(f"/upstreams/{arguments.upstream}/restart", wait_s=START_WAIT_S)
    except ServerUnreachable:
        return 0
    return 0
