"""`duetty upstreams`."""

import argparse
import difflib
import json
import os
import re
import sys
import time
import webbrowser
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from duetty.cli.reach import add_instance, add_server, paths_of, reach
from duetty.cli.show import add_json, as_json, as_table, harmless, visible
from duetty.client import Client
from duetty.errors import BadArguments, BadSetting, DuettyError, NotFound, ServerUnreachable

EXAMPLES = (
    ("duetty upstreams", "the MCP servers behind this one, and how they are"),
    ("duetty upstreams tools github", "its tools, their risk, and which wait for you"),
    ("duetty upstreams add files -- npx -y @modelcontextprotocol/server-filesystem .", "a program"),
    ("duetty upstreams add search --url https://search.example/mcp --token-env KEY", "an address"),
    ("duetty upstreams login search", "sign in to one that asks for it, in your browser"),
    ("duetty upstreams trust files", "look at its tools, and accept them"),
    ("duetty upstreams off files --tool write_file", "this tool is not called any more"),
    ('duetty upstreams call files read_file \'{"path": "README.md"}\'', "call one yourself"),
    ("duetty upstreams remove files", "end it and forget it"),
    ("duetty upstreams logs files", "what it logged, and printed on standard error"),
    ("duetty upstreams browse files", "what it offers to read, ask for and call"),
    ("duetty upstreams read @mcp:files/README.md", "print one of them"),
    ("duetty upstreams import cursor", "take over what another host has, after a look"),
    ("duetty upstreams offers", "servers that files of open projects name"),
    ("duetty upstreams accept .mcp.json", "look at that file, and start its servers"),
)

SOURCES = ("claude-desktop", "claude-code", "cursor", "vscode")
START_WAIT_S = 90
CALL_WAIT_S = 86_400
LOGIN_WAIT_S = 900
BROWSE_MS = 10_000
"""After its start, for a list that did not come yet."""


_PROMPT = re.compile(r"mcp__([a-z0-9-]+(?:_[a-z0-9-]+)*)__(.+)", re.DOTALL)
_RESOURCE = re.compile(r"@mcp:([^/]+)/(.+)", re.DOTALL)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
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
    login = _action(actions, "login", "sign in to one that asks for it, in a browser")
    login.add_argument("upstream", metavar="NAME")
    login.add_argument("--no-browser", action="store_true", help="print the page, and open nothing")
    login.add_argument(
        "--returned",
        metavar="ADDRESS",
        help="where a browser on another machine was sent after you signed in",
    )
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
    _action(actions, "offers", "servers that files of open projects name")
    accept = _action(actions, "accept", "start the servers of a project's file, after a look")
    accept.add_argument("file", metavar="FILE")
    accept.add_argument("--yes", action="store_true", help="show it, and do not ask")
    withdraw = _action(actions, "withdraw", "end the servers of a project's file")
    withdraw.add_argument("file", metavar="FILE")
    taking = _action(actions, "import", "take over what another host has, after a look")
    taking.add_argument("source", metavar="HOST|FILE", help=f"{', '.join(SOURCES)}, or a file")
    taking.add_argument("--yes", action="store_true", help="show the difference, and do not ask")
    test = _action(actions, "test", "start it anew, and say what it answers with")
    test.add_argument("upstream", metavar="NAME")
    browse = _action(actions, "browse", "resources, prompts and tools to read, try and attach")
    browse.add_argument("upstream", nargs="?", metavar="NAME")
    reading = _action(actions, "read", "print a resource, or a prompt filled in")
    reading.add_argument(
        "reference", help="as browse lists it: @mcp:NAME/RESOURCE, mcp__NAME__PROMPT"
    )
    reading.add_argument("arguments", nargs="?", default="{}", help="JSON, of a prompt")
    logs = _action(actions, "logs", "what it logged, and printed on standard error")
    logs.add_argument("upstream", metavar="NAME")
    logs.add_argument("-n", "--lines", type=int, default=100, help="the last (default 100)")
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
    add.add_argument(
        "--trust",
        choices=("trusted", "untrusted", "sandbox"),
        help="whether its accepted tools run unasked (default: untrusted, each call asks)",
    )


def _action(actions: Any, word: str, meaning: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(word, help=meaning)
    parser.set_defaults(act=word)
    # Left out here, it keeps the value given before the action.
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
        "login": _login,
        "trust": _trust,
        "call": _call,
        "add": _add,
        "remove": _remove,
        "test": _test,
        "logs": _logs,
        "browse": _browse,
        "read": _read,
        "offers": _offers,
        "accept": _accept,
        "withdraw": _withdraw,
        "import": _import,
    }[arguments.act](arguments)


# --- looking ----------------------------------------------------------------------


def _list(arguments: argparse.Namespace) -> int:
    found = reach(arguments).get("/upstreams")["upstreams"]
    unknown = _not_read_yet(arguments, {each["name"] for each in found})
    if arguments.json:
        as_json(found)
    elif not found and not unknown:
        print("No upstreams. `duetty upstreams add NAME -- COMMAND …` adds one.")
    else:
        as_table(
            ("NAME", "STATE", "TRUST", "TOOLS", "WAITING", "SANDBOX", "COMMAND"),
            [_row(each) for each in found],
            styles={"STATE": _state_style},
        )
        for each in found:
            if each["error"] is not None:
                print(_sentence(each))
        for name in unknown:
            print(f"{name} is new in the settings: `duetty upstreams restart {name}` starts it.")
    return 0


def _not_read_yet(arguments: argparse.Namespace, known: set[str]) -> list[str]:
    """Tables that were written by hand since the server read its settings."""
    from duetty.upstreams.upstream_settings import load_upstreams

    with suppress(BadSetting, OSError):
        return sorted(load_upstreams(paths_of(arguments).config_file).keys() - known)
    return []


def _row(upstream: dict[str, Any]) -> tuple[str, ...]:
    return (
        upstream["name"],
        upstream["state"],
        upstream["trust"],
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
        found = [_find(found, arguments.upstream)]
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


def _find(found: list[dict[str, Any]], name: str) -> dict[str, Any]:
    upstream = next((each for each in found if each["name"] == name), None)
    if upstream is None:
        raise NotFound(f"no upstream {name!r}", hint="`duetty upstreams` lists them")
    return upstream


# --- turning, starting, trusting --------------------------------------------------


def _turn(arguments: argparse.Namespace) -> int:
    body = {"on": arguments.act == "on", "tool": arguments.tool}
    path = f"/upstreams/{arguments.upstream}/turn"
    turned = reach(arguments).post(path, body, wait_s=START_WAIT_S)
    return _print_result(turned, arguments)


def _restart(arguments: argparse.Namespace) -> int:
    client = reach(arguments)
    client.post(f"/upstreams/{arguments.upstream}/restart", wait_s=START_WAIT_S)
    return _print_result(_settled(client, arguments.upstream), arguments)


def _login(arguments: argparse.Namespace) -> int:
    client, name = reach(arguments), arguments.upstream
    before = _find(client.get("/upstreams")["upstreams"], name)
    path = f"/upstreams/{name}/login"
    if arguments.returned is not None:
        client.post(path, {"returned": arguments.returned}, wait_s=START_WAIT_S)
    else:
        url = client.post(path, {}, wait_s=START_WAIT_S)["url"]
        # To standard error: the result is what is printed.
        print(f"Sign in on this page:\n\n  {visible(url)}\n", file=sys.stderr)
        if arguments.no_browser or not _opened(url):
            print(
                "If your browser is on another machine, it ends at an address that does not open there:\n"
                f"  duetty upstreams login {name} --returned 'ADDRESS'",
                file=sys.stderr,
            )
    found = client.get("/upstreams")
    deadline_s = time.monotonic() + LOGIN_WAIT_S
    while time.monotonic() < deadline_s:
        now = _find(found["upstreams"], name)
        if (now["since"], now["error"]) != (before["since"], before["error"]):
            settled = _settled(client, name)
            code = _print_result(settled, arguments)
            return 1 if settled is None or settled["state"] == "needs_login" else code
        found = client.get("/upstreams", after=found["seq"], wait_ms=30_000, wait_s=60)
    raise ServerUnreachable("no person signed in")


def _opened(url: str) -> bool:
    """In the browser of this desktop; one that runs in a terminal is not started."""
    if not (
        sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        return False
    return url.startswith(("https://", "http://")) and webbrowser.open(url)


def _print_result(upstream: dict[str, Any] | None, arguments: argparse.Namespace) -> int:
    if arguments.json:
        as_json(upstream)
    elif upstream is None:
        print(f"{arguments.upstream} is gone.")
    else:
        print(_sentence(upstream))
    return 1 if upstream is not None and upstream["state"] == "failed" else 0


def _sentence(upstream: dict[str, Any]) -> str:
    sentence = f"{upstream['name']} is {upstream['state']}"
    if upstream["error"] is not None:
        sentence += f": {visible(upstream['error']['message'])}"
        if upstream["error"]["hint"]:
            sentence += f" ({visible(upstream['error']['hint'])})"
    if upstream["waiting"]:
        sentence += (
            f"; {_tools_wait(upstream['waiting'])}: `duetty upstreams trust {upstream['name']}`"
        )
    return sentence


def _tools_wait(count: int) -> str:
    return "1 tool waits" if count == 1 else f"{count} tools wait"


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
            print("\n".join(_tool_lines(tool)))
    these = "this tool" if len(waiting) == 1 else f"these {len(waiting)} tools"
    asked = f"Accept {these} of {upstream['name']} as shown?"
    if not arguments.yes and not _agreed(asked):
        return 1
    trusted = client.post(
        f"/upstreams/{upstream['name']}/trust",
        {"fingerprint": upstream["fingerprint"], "tools": [tool["name"] for tool in waiting]},
    )
    return _print_result(trusted, arguments)


def _tool_lines(tool: dict[str, Any]) -> list[str]:
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
    lines += [f"    {visible(line)}" for line in _parameter_lines(tool["input_schema"])]
    return lines


def _parameter_lines(schema: dict[str, Any]) -> list[str]:
    """What it takes, one in a line; everything else of the schema too, since words can hide anywhere in it."""
    fields: dict[str, Any] = schema.get("properties") or {}
    required: list[str] = schema.get("required") or []
    lines = ["takes nothing"] if not fields else ["takes"]
    for name, each in fields.items():
        known = cast("dict[str, Any]", each) if isinstance(each, dict) else {"is": each}
        about = {key: value for key, value in known.items() if key not in ("type", "description")}
        parts = [
            f"  {name}{'' if name in required else '?'}",
            json.dumps(known["type"]).strip('"') if "type" in known else "",
            json.dumps(known["description"], ensure_ascii=False).strip('"')
            if "description" in known
            else "",
            json.dumps(about) if about else "",
        ]
        lines.append("  ".join(part for part in parts if part))
    rest = {
        key: value
        for key, value in schema.items()
        if key not in ("properties", "required", "type", "$schema")
    }
    return [*lines, *([f"  and {json.dumps(rest)}"] if rest else [])]


def _agreed(asked: str) -> bool:
    if not sys.stdin.isatty():
        raise BadArguments("no terminal to ask on", hint="look at what is shown, then add --yes")
    sys.stderr.write(f"{asked} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


# --- calling ----------------------------------------------------------------------


def _read(arguments: argparse.Namespace) -> int:
    client = reach(arguments)
    reference: str = arguments.reference
    if (prompt := _PROMPT.fullmatch(reference)) is not None:
        body = {"prompt": prompt[2], "arguments": _given(arguments)}
        answer = client.post(f"/upstreams/{prompt[1]}/prompt", body, wait_s=CALL_WAIT_S)
        blocks = [message["content"] for message in answer["messages"]]
    elif (resource := _RESOURCE.fullmatch(reference)) is not None:
        listed = client.get(f"/upstreams/{resource[1]}/resources")["resources"]
        named = (each["uri"] for each in listed if each.get("name") == resource[2])
        body = {"uri": next(named, resource[2])}
        answer = client.post(f"/upstreams/{resource[1]}/read", body, wait_s=CALL_WAIT_S)
        blocks = [
            {"type": "text" if "text" in each else "data", **each} for each in answer["contents"]
        ]
    else:
        raise BadArguments(
            f"{reference!r} names nothing to read", hint="`duetty upstreams browse` lists what does"
        )
    if arguments.json:
        as_json(answer)
    else:
        for block in blocks:
            print(_block(block))
    return 0


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    try:
        given = json.loads(arguments.arguments)
    except ValueError as error:
        raise BadArguments(f"the arguments are not JSON: {error}") from error
    if not isinstance(given, dict):
        raise BadArguments("the arguments must be a JSON object")
    return cast("dict[str, Any]", given)


def _call(arguments: argparse.Namespace) -> int:
    body: dict[str, object] = {"tool": arguments.tool, "arguments": _given(arguments)}
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
    size_text = f", {size} characters of base64" if size else ""
    return f"[{visible(str(block.get('type')))} {visible(str(block.get('mimeType') or block.get('uri') or ''))}{size_text}]"


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
    return _print_result(_settled(client, arguments.upstream), arguments)


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
    if arguments.trust is not None:
        table["permissions"] = {"trust_level": arguments.trust}
    return table | {key: value for key, value in given.items() if value is not None}


def _remove(arguments: argparse.Namespace) -> int:
    from duetty.upstreams.tables import remove_table

    remove_table(paths_of(arguments).config_file, arguments.upstream)
    try:
        reach(arguments).post(f"/upstreams/{arguments.upstream}/restart", wait_s=START_WAIT_S)
    except ServerUnreachable:
        return 0
    return 0


def _test(arguments: argparse.Namespace) -> int:
    client = reach(arguments)
    began_s = time.monotonic()
    client.post(f"/upstreams/{arguments.upstream}/restart", wait_s=START_WAIT_S)
    upstream = _settled(client, arguments.upstream)
    took_ms = (time.monotonic() - began_s) * 1000
    if upstream is None or arguments.json or upstream["state"] in ("failed", "off"):
        return _print_result(upstream, arguments)
    print(_sentence(upstream))
    known = [upstream["implementation"], upstream["protocol"], f"{took_ms:.0f} ms"]
    print(f"    {visible(', '.join(each for each in known if each))}")
    print(f"    {len(upstream['tools'])} tools, trust {upstream['trust']}")
    return 0


def _logs(arguments: argparse.Namespace) -> int:
    lines = max(arguments.lines, 1)
    messages, printed = _logged(arguments)
    if not messages and not printed:
        raise NotFound(f"{arguments.upstream!r} has logged and printed nothing")
    if arguments.json:
        as_json({"messages": messages[-lines:], "stderr": printed[-lines:]})
        return 0
    for each in messages[-lines:]:
        logger = f" {each['logger']}" if each["logger"] else ""
        print(visible(f"{each['at']} {each['level']}{logger}: {each['text']}"))
    for line in printed[-lines:]:
        print(harmless(line))
    return 0


def _logged(arguments: argparse.Namespace) -> tuple[list[dict[str, Any]], list[str]]:
    """Its messages and its output; without a server, the lines in its log file."""
    try:
        found = reach(arguments).get("/upstreams/logs", upstream=arguments.upstream)
    except ServerUnreachable:
        file = paths_of(arguments).state / "upstreams" / f"{arguments.upstream}.log"
        text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
        return [], text.splitlines()
    return found["messages"], found["stderr"].splitlines()


def _browse(arguments: argparse.Namespace) -> int:
    client = reach(arguments)
    found = client.get("/upstreams")["upstreams"]
    if arguments.upstream is not None:
        found = [_find(found, arguments.upstream)]
    offered = [each for upstream in found for each in _offered_by(client, upstream)]
    if arguments.json:
        as_json(offered)
    elif not offered:
        print("Nothing to read, ask for or call: nothing that runs offers any.")
    else:
        as_table(
            ("KIND", "USE IT AS", "MEANING"),
            [(each["kind"], each["use"], each["meaning"].split("\n")[0]) for each in offered],
        )
    return 0


def _offered_by(client: Client, upstream: dict[str, Any]) -> list[dict[str, str]]:
    """Resources by what attaches them to a message to the agent, prompts and tools by their names."""
    name = upstream["name"]
    if upstream["state"] not in ("ready", "idle"):
        return []
    lists: tuple[dict[str, Any], dict[str, Any]]
    try:
        lists = (
            client.get(f"/upstreams/{name}/resources", late_ms=BROWSE_MS),
            client.get(f"/upstreams/{name}/prompts", late_ms=BROWSE_MS),
        )
    except DuettyError as error:  # one that does not answer hides none of the others
        print(f"{name}: {visible(error.message)}", file=sys.stderr)
        lists = {"resources": [], "templates": []}, {"prompts": []}
    resources = [
        ("resource", f"@mcp:{name}/{each.get('name') or each.get('uri')}", each)
        for each in lists[0]["resources"]
    ]
    resources += [
        ("template", str(each.get("uriTemplate")), each) for each in lists[0]["templates"]
    ]
    prompts = [("prompt", f"mcp__{name}__{each.get('name')}", each) for each in lists[1]["prompts"]]
    tools = [("tool", each["id"], each) for each in upstream["tools"] if each["usable"]]
    return [
        {"upstream": name, "kind": kind, "use": use, "meaning": str(each.get("description") or "")}
        for kind, use, each in (*resources, *prompts, *tools)
    ]


# --- files of projects, and of other hosts ------------------------------------------


def _offers(arguments: argparse.Namespace) -> int:
    found = reach(arguments).get("/upstreams")["offers"]
    if arguments.json:
        as_json(found)
        return 0
    if not found:
        print("No file of an open project names servers.")
    for offer in found:
        print(f"{visible(offer['file'])}: {offer['state']}")
        for server in offer["servers"]:
            given = f" (given {', '.join(server['variables'])})" if server["variables"] else ""
            print(f"    {server['name']}: {visible(server['target'])}{given}")
        for problem in offer["problems"]:
            print(f"    ! {visible(problem)}")
    return 0


def _accept(arguments: argparse.Namespace) -> int:
    """A person accepts exactly these bytes."""
    path = Path(arguments.file).absolute()
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise NotFound(f"cannot read {path}: {error.strerror}") from error
    if not arguments.json:
        for line in raw.decode("utf-8", "replace").splitlines():
            print(f"    {visible(line)}")
    if not arguments.yes and not _agreed(f"Start what {path} names?"):
        return 1
    body = {"file": str(path), "fingerprint": sha256(raw).hexdigest()}
    client = reach(arguments)
    started = client.post("/upstreams/offers/accept", body, wait_s=START_WAIT_S)
    settled = [_settled(client, each["name"]) for each in started]
    if arguments.json:
        as_json(settled)
    else:
        for each in settled:
            if each is not None:
                print(_sentence(each))
    return 1 if any(each is not None and each["state"] == "failed" for each in settled) else 0


def _withdraw(arguments: argparse.Namespace) -> int:
    body = {"file": str(Path(arguments.file).absolute())}
    reach(arguments).post("/upstreams/offers/withdraw", body, wait_s=START_WAIT_S)
    return 0


def _import(arguments: argparse.Namespace) -> int:
    from duetty.cli.commands.upstreams_import import found_servers, settings_with

    file = paths_of(arguments).config_file
    tables, problems = found_servers(arguments.source)
    before, after, names, taken = settings_with(file, tables)
    for problem in [*problems, *taken]:
        print(f"left out: {visible(problem)}", file=sys.stderr)
    if not names:
        print("Nothing to import.")
        return 0
    shown = difflib.unified_diff(
        before.splitlines(), after.splitlines(), str(file), str(file), lineterm=""
    )
    for line in shown:
        print(visible(line))
    if not arguments.yes and not _agreed(f"Write these {len(names)} upstreams?"):
        return 1
    from duetty.upstreams.tables import add_table

    for name in names:
        add_table(file, name, tables[name])
    try:
        client = reach(arguments)
        for name in names:
            client.post(f"/upstreams/{name}/restart", wait_s=START_WAIT_S)
            if (upstream := _settled(client, name)) is not None:
                print(_sentence(upstream))
    except ServerUnreachable:
        print("They start with the server.", file=sys.stderr)
    return 0
