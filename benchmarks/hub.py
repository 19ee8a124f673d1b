"""Calls through a hub beside calls without one, and beside a raw relay of the same shape.

Every program is a process of its own: hub, replicas, machine, tool host, relay, NATS. What is compared is
measured in turns.
"""

import asyncio
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread
from websockets.sync.client import connect

from benchmarks.measure import Effort, median, percentile, temporary_home
from benchmarks.report import Line, Table, ms
from duetty.client import RemoteError
from tests.hub.nats_server import nats_server
from tests.server_process import ServerProcess

CALLS, KEYS, LOAD_S, IDLE = 400, 300, 3.0, 5_000
CONNECTIONS, HOSTS = 16, 4
ADDED_S, ADDED_NATS_S, SHARE, ECHO_P95_S, NODE_KB = 0.003, 0.005, 0.5, 0.010, 40


async def run(effort: Effort) -> list[Table]:
    return await anyio.to_thread.run_sync(_run, effort)


def _run(effort: Effort) -> list[Table]:
    with ExitStack() as stack:
        engine = stack.enter_context(nats_server())
        token = os.urandom(24).hex()

        def started(name: str, **env: str) -> ServerProcess:
            server = ServerProcess(
                stack.enter_context(temporary_home()), DUETTY_POLICY_PROFILE="open", **env
            )
            server.paths.state.mkdir(parents=True, mode=0o700)
            server.paths.token_file.write_text(token)
            server.paths.token_file.chmod(0o600)
            server.start("--hostname", name)
            stack.callback(server.end)
            return server

        hub = started("hub")
        replicas = [started(name, DUETTY_HUB_ENGINE=engine.url) for name in ("one", "two")]
        machine, other_machine = started("machine"), started("other")
        _join(machine, hub, token)
        _join(other_machine, replicas[0], token)
        lines = [
            *_routed(effort, token, hub, replicas[1], machine, other_machine),
            *_echo(effort, token, hub, machine),
            *_throughput(effort, hub, replicas, stack),
            *_idle(effort, token, hub, machine),
        ]
    return [
        Table(
            name="hub",
            title="Through a hub",
            lines=lines,
            notes=[
                "A routed call is `GET /sessions/{id}`, asked of the machine itself and through the hub in "
                "turns, over one kept connection; “added” is the difference of the medians. Over NATS the "
                "machine is connected to one replica and the other is asked.",
                f"Calls a second: {CONNECTIONS} connections call `echo` of {HOSTS} tool hosts; at the hub each has "
                "a credential of its own, since one may send 2,000 messages a second. The raw relay "
                "(`benchmarks/raw_relay.py`) checks one token and the arguments too, and has no users, deadlines, limits, policy, trail or metrics.",
                "Where the hub's time for such a call goes, about (samples of its processor time on a busy machine, where it was three times the relay's): "
                "HTTP and WebSocket, as the relay has them, 35 %; two lines of the trail with their hashes 15 %; "
                "whose it is, limits, their shares of the loop 13 %; reading, checking and finding the call 12 %; "
                "the log line 6 %; decision, time limit, revocation, metrics and the steps between 19 %.",
                "An idle node has joined with its own key and announced one session. "
                "The figure is the growth of the hub's resident memory.",
            ],
        )
    ]


def _join(machine: ServerProcess, hub: ServerProcess, token: str) -> None:
    file = machine.home / "hub-token"
    file.write_text(token)
    done = machine.command("join", hub.url(), "--token-file", str(file))
    assert done.returncode == 0, done.stderr


# --- one call ---------------------------------------------------------------------


class Asker:
    """One kept connection."""

    def __init__(self, server: ServerProcess, token: str) -> None:
        self._connection = http.client.HTTPConnection(server.url()[7:])
        self._headers = {"Authorization": f"Bearer {token}"}

    def get(self, path: str) -> tuple[int, bytes]:
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def took_s(self, path: str) -> float:
        began_s = time.perf_counter()
        status, body = self.get(path)
        took_s = time.perf_counter() - began_s
        assert status == 200, body
        return took_s


def _routed(
    effort: Effort,
    token: str,
    hub: ServerProcess,
    replica: ServerProcess,
    machine: ServerProcess,
    other: ServerProcess,
) -> list[Line]:
    calls = effort.times(CALLS, quick=40)
    lines: list[Line] = []
    for what, node, through, target_s in (
        ("embedded", machine, hub, ADDED_S),
        ("over NATS, through the other replica", other, replica, ADDED_NATS_S),
    ):
        effort.say(f"routed calls, {what}")
        session = node.client.post("/sessions", {"command": "cat"})["id"]
        path = f"/sessions/{session}"
        asked, own = Asker(through, token), Asker(node, token)
        end_s = time.monotonic() + 20
        while asked.get(path)[0] != 200:
            assert time.monotonic() < end_s
            time.sleep(0.05)
        routed: list[float] = []
        direct: list[float] = []
        for _ in range(calls):
            routed.append(asked.took_s(path))
            direct.append(own.took_s(path))
        added_s = median(routed) - median(direct)
        lines.append(
            Line(
                what=f"a routed call, {what}: added, median",
                measured=ms(added_s),
                beside=f"{ms(median(direct))} direct",
                target=f"≤ {ms(target_s)}",
                met=added_s <= target_s,
            )
        )
        lines.append(
            Line(
                what=f"a routed call, {what}: p99",
                measured=ms(percentile(routed, 99)),
                beside=f"{ms(percentile(direct, 99))} direct",
            )
        )
    return lines


# --- a key --------------------------------------------------------------------------


def _echo(effort: Effort, token: str, hub: ServerProcess, machine: ServerProcess) -> list[Line]:
    effort.say("echo of a key through the hub")
    session = machine.client.post("/sessions", {"command": "cat"})["id"]
    headers = {"Authorization": f"Bearer {token}"}
    asker = Asker(hub, token)
    while asker.get(f"/sessions/{session}")[0] != 200:
        time.sleep(0.05)
    taken: list[list[float]] = [[], []]
    with ExitStack() as stack:
        sockets = [
            stack.enter_context(
                connect(
                    f"ws{server.url()[4:]}/sessions/{session}/ws/raw",
                    additional_headers=headers,
                    compression=None,
                )
            )
            for server in (hub, machine)
        ]
        for at in range(effort.times(KEYS, quick=40) + 10):
            for socket_, samples in zip(sockets, taken, strict=True):
                key = bytes([ord("a") + at % 26])
                for each in sockets:
                    with suppress(TimeoutError):
                        while True:
                            each.recv(timeout=0.005)
                began_s = time.perf_counter()
                socket_.send(b"\r" if at % 60 == 59 else key)
                received = b""
                while (b"\n" if at % 60 == 59 else key) not in received:
                    message = socket_.recv(timeout=10)
                    received += message if isinstance(message, bytes) else message.encode()
                if at >= 10 and at % 60 != 59:
                    samples.append(time.perf_counter() - began_s)
    through, direct = taken
    return [
        Line(
            what="echo of a key over the session's WebSocket, through the hub: p95",
            measured=ms(percentile(through, 95)),
            beside=f"{ms(percentile(direct, 95))} direct",
            ratio=percentile(through, 95) / percentile(direct, 95),
            target=f"≤ {ms(ECHO_P95_S)}",
            met=percentile(through, 95) <= ECHO_P95_S,
        )
    ]


# --- many calls -----------------------------------------------------------------------


@contextmanager
def raw_relay() -> Generator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.raw_relay", str(port)])
    try:
        end_s = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert time.monotonic() < end_s
                time.sleep(0.02)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _host(address: str, token: str, stack: ExitStack) -> str:
    """The echo host of the examples; the id of its room."""
    example = Path(__file__).parent.parent / "examples" / "echo_host.py"
    process = subprocess.Popen(
        [sys.executable, str(example), f"ws://{address}/ws/room"],
        env={**os.environ, "DUETTY_TOKEN": token},
        stdout=subprocess.PIPE,
    )

    def end() -> None:
        process.kill()
        process.communicate()

    stack.callback(end)
    assert process.stdout is not None
    found = re.fullmatch(rb"room (\w+)\n", process.stdout.readline())
    assert found
    return found[1].decode()


@dataclass
class _Load:
    """Calls of tools, as many as go in a while, over connections that are kept; each has a credential
    of its own, and every fourth the same tool host."""

    address: str
    rooms: list[str]
    tokens: list[str]

    def rate(self, seconds: float) -> float:
        return asyncio.run(self._rate(seconds))

    async def _rate(self, seconds: float) -> float:
        end_s = time.perf_counter() + seconds
        counts = await asyncio.gather(*(self._calls(each, end_s) for each in range(CONNECTIONS)))
        return sum(counts) / seconds

    async def _calls(self, number: int, end_s: float) -> int:
        host, port = self.address.split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        room, token = self.rooms[number % HOSTS], self.tokens[number]
        done = 0
        while time.perf_counter() < end_s:
            body = json.dumps(
                {
                    "command_id": f"{os.getpid()}-{number}-{time.perf_counter_ns()}",
                    "tool": "echo",
                    "args": {"text": "x" * 900},
                }
            ).encode()
            writer.write(
                f"POST /rooms/{room}/call HTTP/1.1\r\nHost: {self.address}\r\n"
                f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            assert length
            await reader.readexactly(int(length[1]))
            done += 1
        writer.close()
        return done


def _tokens(server: ServerProcess) -> list[str]:
    with suppress(RemoteError):  # another replica may know the user already
        server.client.post("/users", {"name": "bench"})
    asked = {"scopes": ["read", "input", "join"]}
    made = [server.client.post("/users/bench/tokens", asked) for _ in range(CONNECTIONS)]
    return [each["token"] for each in made]


def hub_load(called: ServerProcess, joined: ServerProcess, stack: ExitStack) -> _Load:
    """Tool hosts at one replica, calls at the other, or all at one."""
    address = joined.url()[7:]
    rooms = [_host(address, token, stack) for token in _tokens(joined)[:HOSTS]]
    return _Load(called.url()[7:], rooms, _tokens(called))


def raw_load(address: str, stack: ExitStack) -> _Load:
    rooms = [_host(address, "-", stack) for _ in range(HOSTS)]
    return _Load(address, rooms, ["-"] * CONNECTIONS)


def _throughput(
    effort: Effort, hub: ServerProcess, replicas: list[ServerProcess], stack: ExitStack
) -> list[Line]:
    effort.say("calls a second")
    seconds = 0.5 if effort.quick else LOAD_S
    loads = {
        "raw": raw_load(stack.enter_context(raw_relay()), stack),
        "hub": hub_load(hub, hub, stack),
        "nats": hub_load(replicas[1], replicas[0], stack),
    }
    rates: dict[str, list[float]] = {name: [] for name in loads}
    for _round in range(effort.times(3, quick=1)):
        for name, load in loads.items():
            rates[name].append(load.rate(seconds))
    raw = median(rates["raw"])
    return [
        Line(
            what=f"calls a second, {what}",
            measured=f"{median(rates[name]):,.0f}",
            beside=f"{raw:,.0f} raw relay",
            ratio=median(rates[name]) / raw,
            target=f"≥ {SHARE:g}" if name == "hub" else "",
            met=median(rates[name]) / raw >= SHARE if name == "hub" else None,
        )
        for name, what in (("hub", "embedded"), ("nats", "over NATS, through the other replica"))
    ]


# --- many nodes -------------------------------------------------------------------------


def _rss_kb(pid: int) -> int:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1])


def _idle(effort: Effort, token: str, hub: ServerProcess, machine: ServerProcess) -> list[Line]:
    count = effort.times(IDLE, quick=200)
    effort.say(f"{count} idle nodes")
    assert hub.process is not None
    pid = hub.process.pid
    session = machine.client.post("/sessions", {"command": "cat"})["id"]
    asker = Asker(hub, token)
    while asker.get(f"/sessions/{session}")[0] != 200:
        time.sleep(0.05)
    before_kb = _rss_kb(pid)
    held = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.idle_nodes", hub.url(), str(count)],
        env={**os.environ, "DUETTY_TOKEN": " ".join(_tokens(hub))},
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
    )
    try:
        assert held.stdout is not None
        told = held.stdout.readline()
        joined, took_s = int(told.split()[0]), float(told.split()[1])
        after_kb = _rss_kb(pid)
        asker = Asker(hub, token)  # the kept one was closed meanwhile
        took = [asker.took_s(f"/sessions/{session}") for _ in range(effort.times(300, quick=40))]
    finally:
        held.kill()
        held.communicate()
    each_kb = (after_kb - before_kb) / max(1, joined)
    return [
        Line(
            what="memory of an idle node in the hub",
            measured=f"{each_kb:.1f} KB",
            target=f"≤ {NODE_KB} KB",
            met=each_kb <= NODE_KB,
        ),
        Line(
            what="idle nodes held",
            measured=f"{joined:,} in {took_s:.1f} s ({joined / took_s:,.0f} joins a second)",
            target=f"{IDLE:,}",
            met=joined >= count,
        ),
        Line(
            what="a routed call beside them, median / p99",
            measured=f"{ms(median(took))} / {ms(percentile(took, 99))}",
        ),
    ]
