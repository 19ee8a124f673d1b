"""`duetty status`."""

import argparse
from typing import Any

from duetty.cli.reach import add_instance, add_server, paths_of, reach_each
from duetty.cli.show import age, as_json, visible
from duetty.client import Client
from duetty.errors import ServerUnreachable

EXAMPLES = (
    ("duetty status", "address, processes, sessions, and what is degraded"),
    ("duetty status --json", "for scripts; exit code 3 when no server runs"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("--json", action="store_true", help="for scripts")


def run(arguments: argparse.Namespace) -> int:
    clients = reach_each(arguments)
    if len(clients) > 1:
        return _of_each(clients, arguments)
    [client] = clients.values()
    try:
        status = client.get("/server/info")
    except ServerUnreachable:
        if arguments.json:
            as_json({"running": False})
            return 3
        raise
    if arguments.json:
        as_json({"running": True, **status})
        return 0
    _show(client, status, arguments)
    return 0


def _of_each(clients: dict[str, Client], arguments: argparse.Namespace) -> int:
    """Of every machine of a hub."""
    found = {name: client.get("/server/info") for name, client in clients.items()}
    if arguments.json:
        as_json({"running": True, "machines": found})
        return 0
    for name, client in clients.items():
        print(f"{name}:")
        _show(client, found[name], arguments)
    return 0


def _show(client: Client, status: dict[str, Any], arguments: argparse.Namespace) -> None:
    print(f"Duetty {status['version']} runs at {status['address']} (instance {status['instance']})")
    print(f"  server   pid {status['pid']}, up {age(int(status['uptime_s'] * 1000))}")
    print(f"  keeper   pid {status['keeper_pid'] or '-'}")
    print(f"  sessions {status['sessions']} open, {status['exited_sessions']} exited")
    print(f"  safety   {_safety(status)}")
    if not arguments.hub and not arguments.server:
        print(f"  state    {paths_of(arguments).state}")
    if status["standing_approvals"]:
        print(f"  standing {status['standing_approvals']} approvals: duetty approvals standing")
        for each in client.get("/approvals/standing"):
            if each["expires_at"]:
                until = each["expires_at"][:16].replace("T", " ")
                print(f"  unasked  until {until}: {visible(each['rule']).removeprefix('allow ')}")
    for part, reason in status["degraded"].items():
        print(f"  degraded {part}: {reason}")


def _safety(status: dict[str, Any]) -> str:
    """Which of the two is on: what judges lines, and what holds."""
    sentence = f"guardrail: {status['guardrail']} · boundary: {status['boundary']}"
    if status["boundary"] == "none" and status["confined_sessions"]:
        return (
            f"{sentence} ({status['confined_sessions']} of {status['sessions']} sessions have one)"
        )
    return sentence
