"""Whatever several users of a hub do, in whatever order, nobody reaches another's session.

A model of who may reach what runs beside a real hub with a machine for each user: after each step
every user asks for every session, by every door, and gets an answer exactly where the model says so.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.hub.conftest import Servers
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

USERS = ("u1", "u11", "bob")
"""One name begins another."""

ROLES = ("watch", "drive", "moderate")
SECRET = "the-bridge-s-own-secret"
NOBODYS = "f" * 16
"""An id that no session has."""


def by_tool(person: httpx.Client, tool: str, **arguments: Any) -> str:
    """A model's call, in the era without a session of its own."""
    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    asked: dict[str, Any] = {"name": tool, "arguments": arguments, "_meta": meta}
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
    return person.post("/mcp", json=body, headers=headers).text


def by_room(person: httpx.Client, session: str) -> str:
    body: dict[str, Any] = {
        "commandId": session,
        "tool": "screen.get",
        "args": {},
        "secret": SECRET,
    }
    return person.post(f"/rooms/{session}", json=body).text


DOORS: tuple[Callable[[httpx.Client, str], str], ...] = (
    lambda person, session: person.get(f"/sessions/{session}").text,
    lambda person, session: person.get(f"/sessions/{session}/screen").text,
    lambda person, session: person.get(f"/sessions/{session}/events").text,
    lambda person, session: person.post(f"/sessions/{session}/run", json={"input": "x"}).text,
    lambda person, session: by_tool(person, "wsh_get_screen", session=session),
    by_room,
)
"""Ways to ask for a session; of one that is not theirs, they say what they say of one that is not there."""


@dataclass
class Hub:
    process: ServerProcess
    servers: Servers
    people: dict[str, httpx.Client] = field(default_factory=dict[str, httpx.Client])
    tokens: dict[str, str] = field(default_factory=dict[str, str])


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with ExitStack() as stack:
        servers = Servers(stack, BRIDGE_SECRET=SECRET)
        made = Hub(servers.hub, servers)
        for name in USERS:
            done = servers.hub.command("hub", "user", "add", name, "-L", "default")
            made.tokens[name] = done.stdout.strip()
            made.people[name] = servers.client(servers.hub, made.tokens[name])
            machine = servers.start("box")
            file = Path(servers.hub.home) / f"{name}.token"
            file.write_text(made.tokens[name])
            joined = machine.command("join", servers.hub.url(), "--token-file", str(file))
            assert joined.returncode == 0, joined.stderr
        yield made


class Several(RuleBasedStateMachine):
    """What users do, and who may then reach what."""

    hub: Hub
    names = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self.owner: dict[str, str] = {}
        self.ended: set[str] = set()
        self.shares: dict[str, tuple[str, str, str]] = {}

    def _opened(self, at: int) -> str | None:
        open_ = sorted(set(self.owner) - self.ended)
        return open_[at % len(open_)] if open_ else None

    @rule(user=st.sampled_from(USERS))
    def open(self, user: str) -> None:
        # A name that others have, too: a name is no way to another's session.
        body = {"name": f"s{next(self.names)}", "command": "cat"}
        answer = self.hub.people[user].post("/sessions", json=body)
        assert answer.status_code == 201, answer.text
        self.owner[answer.json()["id"]] = user

    @rule(user=st.sampled_from(USERS), at=st.integers(0, 9))
    def end(self, user: str, at: int) -> None:
        if (session := self._opened(at)) is None:
            return
        answer = self.hub.people[user].delete(f"/sessions/{session}")
        if self.owner[session] == user or (session, user, "moderate") in self.shares.values():
            assert answer.status_code in (200, 204), answer.text
            self.ended.add(session)
            self.shares = {id_: each for id_, each in self.shares.items() if each[0] != session}
        else:
            assert answer.status_code in (403, 404), answer.text

    @rule(
        giver=st.sampled_from(USERS),
        to=st.sampled_from(USERS),
        role=st.sampled_from(ROLES),
        at=st.integers(0, 9),
    )
    def share(self, giver: str, to: str, role: str, at: int) -> None:
        if (session := self._opened(at)) is None:
            return
        body = {"session": session, "user": to, "role": role}
        answer = self.hub.people[giver].post("/shares", json=body)
        if self.owner[session] == giver and to != giver:
            assert answer.status_code == 201, answer.text
            self.shares[answer.json()["id"]] = session, to, role
        else:
            assert answer.status_code in (400, 404), answer.text

    @rule(user=st.sampled_from(USERS), at=st.integers(0, 9))
    def revoke(self, user: str, at: int) -> None:
        if not self.shares:
            return
        id_ = sorted(self.shares)[at % len(self.shares)]
        answer = self.hub.people[user].delete(f"/shares/{id_}")
        if self.owner[self.shares[id_][0]] == user:
            assert answer.status_code == 204, answer.text
            del self.shares[id_]
        else:
            assert answer.status_code == 404, answer.text

    @invariant()
    def everybody_reaches_exactly_what_is_theirs(self) -> None:
        for user, person in self.hub.people.items():
            roles = {
                session: {
                    role for of, to, role in self.shares.values() if (of, to) == (session, user)
                }
                for session in self.owner
            }
            listed = {each["id"] for each in person.get("/sessions").json()}
            told = by_tool(person, "wsh_list_sessions")
            for session, owner in self.owner.items():
                is_open = session not in self.ended
                reaches = is_open and (owner == user or bool(roles[session]))
                types = is_open and (owner == user or bool(roles[session] - {"watch"}))
                seen = person.get(f"/sessions/{session}")
                typed = person.post(f"/sessions/{session}/input", content=b"x")
                assert (seen.status_code == 200) == reaches, (user, session, seen.text)
                assert (typed.status_code == 204) == types, (user, session, typed.text)
                assert (session in listed) == reaches
                assert (session in told) <= reaches
                if not reaches and is_open:
                    door = DOORS[next(self.names) % len(DOORS)]
                    assert door(person, session).replace(session, NOBODYS) == door(person, NOBODYS)

    def teardown(self) -> None:
        for session in set(self.owner) - self.ended:
            self.hub.people[self.owner[session]].delete(f"/sessions/{session}")


def test_no_sequence_of_steps_leads_to_anothers_session(hub: Hub) -> None:
    class OfHub(Several):
        pass

    OfHub.hub = hub
    run_state_machine_as_test(
        OfHub,
        settings=settings(
            max_examples=6,
            stateful_step_count=12,
            deadline=None,
        ),
    )


def test_no_token_is_in_logs_errors_or_the_environment_of_programs(hub: Hub) -> None:
    person = hub.people["u1"]
    token = hub.tokens["u1"]
    opened = person.post("/sessions", json={"name": "env", "command": "bash"})
    ran: Any = person.post("/sessions/env/run", json={"input": "env; cat /proc/$PPID/environ"})
    wrong = httpx.get(
        f"{hub.process.url()}/sessions/none", headers={"Authorization": f"Bearer {token}"}
    )
    refused = httpx.get(
        f"{hub.process.url()}/sessions?token={token}", headers={"Authorization": f"Bearer x{token}"}
    )
    person.delete("/sessions/env")
    logs = [
        path.read_bytes()
        for path in Path(hub.process.home).rglob("*")
        if path.is_file() and "log" in path.name and path.suffix != ".token"
    ]

    assert opened.status_code == 201
    assert ran.status_code == 200
    assert "PATH=" in ran.text
    assert logs
    for text in (ran.content, wrong.content, refused.content, *logs):
        assert not any(each.encode() in text for each in hub.tokens.values())
