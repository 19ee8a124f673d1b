"""`duetty watch`."""

import argparse
import select
import sys
import time
from typing import Any, cast
from urllib.parse import quote

from duetty.cli.reach import add_instance, hub_place, reach
from duetty.cli.show import duration, json_text, second, visible, wants_colour
from duetty.client import Client, HubClient, session_path
from duetty.client.hub_address import HubAddress
from duetty.client.view_protocol import Viewing
from duetty.errors import BadArguments, ServerUnreachable

MAX_STREAMS = 256
"""What the server takes on one connection; sessions beyond it are listed, not followed."""

EXAMPLES = (
    ("duetty watch", "every session: what it runs, how that ends, what it waits for"),
    ("duetty watch build", "one session"),
    ("duetty watch --server laptop", "those of a machine of a hub; laptop/build is one of them"),
    ("duetty watch --json | jq .", "one JSON object a line, for scripts"),
)

_QUIET = frozenset({"title", "bell", "viewers", "input", "mode", "focus"})
"""Events that a person did not ask for; scripts get them all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    parser.add_argument("--server", metavar="MACHINE", help="a machine of a hub")
    parser.add_argument("session", nargs="*", metavar="SESSION", help="every one when left out")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(arguments: argparse.Namespace) -> int:
    machine = arguments.server or next(
        (each.partition("/")[0] for each in arguments.session if "/" in each), ""
    )
    is_elsewhere = machine or arguments.hub
    # Either tells clearly when there is no server.
    place = hub_place(arguments, machine) if is_elsewhere else reach(arguments).place
    client = HubClient(place) if isinstance(place, HubAddress) else Client(place)
    if arguments.server:
        arguments.server = _shown_name(client, arguments.server)
        arguments.session = [
            each if "/" in each else f"{arguments.server}/{each}" for each in arguments.session
        ]
    for name in arguments.session:
        on, _, session = name.rpartition("/")
        client.get(
            session_path(session), server=on or None
        )  # and when there is nothing to watch for
    viewing = Viewing.connect(place)
    try:
        _Watch(viewing, arguments).run()
    except ServerUnreachable:
        print("duetty: the server has ended", file=sys.stderr)
        return 3
    finally:
        viewing.close()
    return 0


def _shown_name(client: Client, machine: str) -> str:
    """By which the hub names its sessions.

    Raises:
        BadArguments: if it did not join.
    """
    found = client.get(f"/servers/{quote(machine, safe='')}")
    if not found["address"].startswith("node:"):
        raise BadArguments(
            f"{machine!r} did not join this server by itself",
            hint="`duetty watch` there, or `duetty join` from there",
        )
    names = [each["hostname"] for each in client.get("/servers")]
    hostname = str(found["hostname"])
    return hostname if names.count(hostname) == 1 else str(found["server_id"])


class _Watch:
    def __init__(self, viewing: Viewing, arguments: argparse.Namespace) -> None:
        self._viewing = viewing
        self._is_json: bool = arguments.json
        self._only: list[str] = arguments.session
        self._prefix = f"{arguments.server}/" if arguments.server else ""
        self._listed: dict[str, str] = {}
        self._names: dict[int, str] = {}
        self._lines: dict[str, tuple[str | None, float]] = {}
        """By block: its command line and when it began."""
        self._colour = wants_colour()

    def run(self) -> None:
        self._viewing.send("watch", on=True)
        for name in self._only:
            self._follow(name)
        poll = select.poll()
        poll.register(self._viewing.fileno(), select.POLLIN)
        while True:
            poll.poll()
            for message in self._viewing.receive():
                if isinstance(message, dict):
                    self._take(message)

    def _follow(self, name: str) -> None:
        if name in self._names.values() or len(self._names) >= MAX_STREAMS:
            return
        stream = len(self._names) + 1
        self._names[stream] = name
        self._viewing.send("open", stream=stream, session=name, mode="none")

    def _take(self, message: dict[str, Any]) -> None:
        match message["type"]:
            case "sessions" if not self._only:
                for session in message["sessions"]:
                    self._list(session)
            case "session":
                self._changed(message)
            case "event":
                self._say({"session": self._names.get(message["stream"], "?"), **_without(message)})
            case "error":
                self._say({"event": "error", **cast("dict[str, Any]", message["error"])})
            case _:
                pass

    def _list(self, session: dict[str, Any]) -> None:
        """The list of a hub comes again when a machine came or left: only news is printed."""
        name, away_since = session["name"], session.get("away_since")
        if not name.startswith(self._prefix):
            return
        state = session["state"] if away_since is None else f"away since {second(away_since)}"
        if state != "exited" and away_since is None:
            self._follow(name)
        if self._listed.get(name) != state:
            self._listed[name] = state
            self._say({"session": name, "event": "listed", "state": state})

    def _changed(self, message: dict[str, Any]) -> None:
        name, old_name = message["name"], message.get("old_name")
        if self._only and not {name, old_name} & set(self._only):
            return
        if not name.startswith(self._prefix):
            return
        if message["change"] == "renamed":
            self._names = {
                stream: name if known == old_name else known
                for stream, known in self._names.items()
            }
            self._only = [name if each == old_name else each for each in self._only]
        if message["change"] == "created" and not self._only:
            self._follow(name)
        # Its own event was printed already, with the exit code.
        is_news = message["change"] not in ("updated", "exited")
        if is_news or self._is_json:
            self._say({"session": name, "event": message["change"], "old_name": old_name})

    def _say(self, event: dict[str, Any]) -> None:
        if self._is_json:
            print(json_text(event), flush=True)
            return
        if event["event"] in _QUIET or event.get("state") == "exited":
            return
        at_s = event["at_ms"] / 1000 if "at_ms" in event else time.time()
        when = time.strftime("%H:%M:%S", time.localtime(at_s))
        text, colour = self._sentence(event)
        name = visible(str(event.get("session", "")))
        if self._colour:
            print(
                f"\033[2m{when}\033[m \033[1m{name:<12}\033[m \033[{colour}m{text}\033[m",
                flush=True,
            )
        else:
            print(f"{when} {name:<12} {text}", flush=True)

    def _sentence(self, event: dict[str, Any]) -> tuple[str, str]:
        """What happened, and the colour of it."""
        match event["event"]:
            case "block" if event["change"] == "started":
                self._lines[event["block"]] = (event["command_line"], event["at_ms"])
                return f"$ {visible(event['command_line'] or '(unknown)')}", "36"
            case "block":
                line, began_ms = self._lines.pop(event["block"], (None, event["at_ms"]))
                code = event["exit_code"]
                took = duration(event["at_ms"] - began_ms)
                return f"exit {code} after {took}: {visible(line or '')}", "31" if code else "32"
            case "state":
                return f"is {event['state']}", "33" if "await" in event["state"] else "2"
            case "exit" | "exited":
                code = event.get("exit_code")
                return "exited" + (f" with {code}" if code is not None else ""), "35"
            case "listed":
                return f"is {event['state']}", "2"
            case "renamed":
                return f"was {visible(str(event['old_name']))}", "0"
            case "error":
                return f"{event.get('message')} [{event.get('code')}]", "31"
            case "degraded":
                return f"{event['part']}: {event['reason'] or 'mended'}", "31"
            case word:
                return str(word), "0"


def _without(message: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name not in ("type", "stream")}
