"""A question of the policy reaches the person at the agent's own host, in both eras."""

import secrets
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp.types import ElicitResult

from tests.edges.mcp.connect import WAYS, connected
from tests.edges.mcp.host import MODERN, hosted
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty, pytest.mark.sampled(3)]
# Of the four ways in the first and the last: stdio and HTTP, the old era and the new.

RISKY = "git -C {} clean -ffdxq"
"""Throws away what is not committed: asked about wherever that is."""


def grown(tree: Path) -> Path:
    """A file in a repository, not committed."""
    subprocess.run(["git", "init", "-q", str(tree)], check=True)
    leaf = tree / "leaf"
    leaf.touch()
    return leaf


class Person:
    """Sits at the host and answers every question the same way."""

    def __init__(self, action: str, decision: str | None = None) -> None:
        self._said: Any = ElicitResult(
            action=action,  # type: ignore[arg-type]  # one of the three words
            content=None if decision is None else {"decision": decision},
        )
        self.asked: list[str] = []

    async def __call__(self, context: object, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        return self._said


async def risk_it(
    server: ServerProcess, way: str, person: Person | None, tree: Path
) -> dict[str, Any]:
    grown(tree)
    name = f"a{secrets.token_hex(4)}"
    options: dict[str, Any] = {} if person is None else {"elicitation_callback": person}
    async with connected(way, server, **options) as client:
        await client.call_tool("wsh_create_session", {"name": name, "command": "bash"})
        wanted = {"session": name, "input": RISKY.format(tree), "view": "output"}
        result = await client.call_tool("wsh_run_command", wanted)
        await client.call_tool("wsh_manage_session", {"session": name, "action": "kill"})
    content = result.structured_content
    assert isinstance(content, dict)
    return {"is_error": result.is_error, **content}


@pytest.mark.parametrize("way", WAYS)
async def test_what_the_person_allows_is_done(
    server: ServerProcess, way: str, tmp_path: Path
) -> None:
    person, tree = Person("accept", "allow once"), tmp_path / "tree"

    result = await risk_it(server, way, person, tree)

    assert not result["is_error"], result
    assert result["exit_code"] == 0
    assert not (tree / "leaf").exists()
    assert len(person.asked) == 1
    assert "clean -ffdxq" in person.asked[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("decision", "covers", "says"),
    [
        ("allow in this session", "session", "until this session ends"),
        ("allow for an hour", "hours", "asked about as git_rewrite"),
        ("always allow", "always", "always allow: allow command.run of "),
    ],
)
async def test_what_the_person_allows_for_longer_stands(
    server: ServerProcess, way: str, decision: str, covers: str, says: str
) -> None:
    person, name = Person("accept", decision), f"a{secrets.token_hex(4)}"
    async with connected(way, server, elicitation_callback=person) as client:
        await client.call_tool("wsh_create_session", {"name": name, "command": "bash"})
        wanted = {"session": name, "input": f"git push --force {name}", "view": "output"}
        first = await client.call_tool("wsh_run_command", wanted)
        again = await client.call_tool("wsh_run_command", wanted)
        [standing] = server.client.get("/approvals/standing")
        server.client.delete(f"/approvals/standing/{standing['id']}")
        await client.call_tool("wsh_manage_session", {"session": name, "action": "kill"})

    assert not first.is_error
    assert not again.is_error
    assert len(person.asked) == 1
    assert says in person.asked[0]
    assert (standing["covers"], standing["uses"], standing["via"]) == (covers, 1, "elicitation")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("person", [("accept", "reject"), ("decline", None)])
async def test_what_the_person_rejects_is_not_done(
    server: ServerProcess, way: str, person: tuple[str, str | None], tmp_path: Path
) -> None:
    asked, tree = Person(*person), tmp_path / "tree"

    result = await risk_it(server, way, asked, tree)

    assert result["is_error"]
    assert result["error"]["code"] == "approval_rejected"
    assert (tree / "leaf").exists()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("decision", [None, "maybe"])
async def test_a_form_that_says_nothing_is_not_a_persons_no_and_nothing_runs(
    server: ServerProcess, way: str, decision: str | None, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"

    result = await risk_it(server, way, Person("accept", decision), tree)

    assert result["error"]["code"] == "approval_rejected"
    assert "could not be used" in result["error"]["message"]
    assert (tree / "leaf").exists()


@pytest.mark.parametrize("way", WAYS)
async def test_a_question_that_is_put_away_is_a_refusal_where_nobody_else_is_there(
    server: ServerProcess, way: str, tmp_path: Path
) -> None:
    asked, tree = Person("cancel"), tmp_path / "tree"

    result = await risk_it(server, way, asked, tree)

    assert result["error"]["code"] == "approval_expired"
    assert "put the question away" in result["error"]["message"]
    assert "in time" not in result["error"]["message"]
    assert len(asked.asked) == 1
    assert (tree / "leaf").exists()


@pytest.mark.parametrize("way", WAYS)
async def test_where_nobody_can_be_asked_it_is_refused(
    server: ServerProcess, way: str, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"

    result = await risk_it(server, way, None, tree)

    assert result["error"]["code"] == "policy_denied"
    assert (tree / "leaf").exists()


def test_an_answer_is_bound_to_the_call_that_asked(server: ServerProcess, tmp_path: Path) -> None:
    form: dict[str, Any] = {"elicitation": {"form": {}}}
    can_ask: dict[str, Any] = {**MODERN, "io.modelcontextprotocol/clientCapabilities": form}
    tree = tmp_path / "tree"
    leaf = grown(tree)
    with hosted(server) as host:
        made: dict[str, Any] = {
            "name": "wsh_create_session",
            "arguments": {"command": "bash"},
            "_meta": can_ask,
        }
        session = host.ask("tools/call", made)["result"]["structuredContent"]["session"]

        def run(line: str, **more: object) -> dict[str, Any]:
            arguments = {"session": session, "input": line, "view": "output"}
            params: dict[str, Any] = {
                "name": "wsh_run_command",
                "arguments": arguments,
                "_meta": can_ask,
                **more,
            }
            return host.ask("tools/call", params)

        asked = run(RISKY.format(tree))["result"]
        (key,) = asked["inputRequests"]
        yes = {key: {"action": "accept", "content": {"decision": "allow once"}}}
        other = run(
            RISKY.format(tmp_path / "other"), inputResponses=yes, requestState=asked["requestState"]
        )
        forged = run(RISKY.format(tree), inputResponses=yes, requestState="0" * 32)
        still_there = leaf.exists()
        done = run(RISKY.format(tree), inputResponses=yes, requestState=asked["requestState"])[
            "result"
        ]
        again = run(RISKY.format(tree), inputResponses=yes, requestState=asked["requestState"])

    assert asked["resultType"] == "input_required"
    assert (other["error"]["code"], forged["error"]["code"]) == (-32602, -32602)
    assert still_there
    assert done["structuredContent"]["exit_code"] == 0
    assert not (tree / "leaf").exists()
    assert again["error"]["code"] == -32602
