"""Both doors say the same to the same request, whatever it is; and what each adds of its own."""

from functools import partial
from typing import Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.types import ElicitResult

from duetty.ops.contract.compat import ALIASES
from duetty.ops.contract.failures import ACTIONS
from tests.contract.doors import DOORS, opened
from tests.contract.people import looking
from tests.edges.mcp.connect import connected
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

Json = dict[str, Any]

values = st.none() | st.booleans() | st.integers(-10, 10) | st.text("ab \u00e9", max_size=5)
requests = st.fixed_dictionaries(
    {},
    optional={
        "action": st.sampled_from([*ACTIONS, *ALIASES, "exec"]) | values,
        "invocation": st.fixed_dictionaries(
            {}, optional={"mode": st.sampled_from(["interactive", "headless", "loud"]) | values}
        )
        | values,
        "execution": st.fixed_dictionaries(
            {},
            optional={
                "command": st.sampled_from(["true", "echo hello", "rm -rf /nowhere", "make x"])
                | values,
                "args": st.lists(st.text("ab$ ", max_size=3), max_size=2) | values,
                "intent": st.sampled_from(["open_only", "execute_command"]) | values,
                "env": st.just({"LANG": "C"}) | st.just({"PATH": "/x"}) | values,
                "stdin": values,
                "timeout": st.just(5_000) | values,
            },
        )
        | values,
        "target": st.dictionaries(st.just("session"), st.just("nowhere")) | values,
        "runtime": st.just({"cols": 90}) | st.just({"background": True}) | values,
        "command": values,
        "session_id": values,
        "compat": st.just({"shape": "flat"}) | values,
    },
)


def test_both_doors_say_the_same_to_the_same_request(server: ServerProcess) -> None:
    with start_blocking_portal() as portal:
        doors = [portal.wrap_async_context_manager(opened(door, server)) for door in DOORS]
        with doors[0] as by_http, doors[1] as by_mcp:

            @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
            @given(request=requests)
            def say_the_same(request: Json) -> None:
                first = portal.call(partial(by_http, **request))
                second = portal.call(partial(by_mcp, **request))

                assert first.code == second.code
                if first.error is None:
                    assert first.result.keys() == second.result.keys()
                    return
                assert second.error is not None
                for part in ("message", "hint"):
                    assert first.error[part] == second.error[part]
                assert _lasting(first.details) == _lasting(second.details)

            say_the_same()


def _lasting(details: Json) -> Json:
    """Without what is new with every call."""
    metadata = {**details["metadata"], "trace_id": None}
    return {**details, "trace_id": None, "target": None, "metadata": metadata}


@pytest.mark.anyio
async def test_there_is_one_tool_and_its_schema_has_every_part(server: ServerProcess) -> None:
    async with connected("http-2026", server, dialect="terminal") as client:
        [tool] = (await client.list_tools()).tools

    schema = tool.input_schema
    assert tool.name == "terminal"
    assert schema["required"] == ["action"]
    assert list(schema["properties"]) == [
        "action",
        "invocation",
        "runtime",
        "execution",
        "target",
        "compat",
    ]
    fields = set(schema["properties"]["execution"]["properties"])
    assert {"command", "args", "cwd", "env", "stdin", "timeout", "intent"} <= fields
    assert schema["properties"]["invocation"]["properties"]["mode"]["default"] == "interactive"


@pytest.mark.anyio
@pytest.mark.parametrize("door", DOORS)
async def test_a_failing_command_is_an_answer_with_its_exit_code(
    server: ServerProcess, door: str
) -> None:
    with looking(server):
        async with opened(door, server) as ask:
            seen = await ask(action="execute", execution={"command": "sh -c 'echo out; exit 7'"})
            unseen = await ask(
                action="execute",
                invocation={"mode": "headless"},
                execution={"command": "cat nowhere"},
            )

    assert (seen.result["exit_code"], seen.result["output"]) == (7, "out")
    assert unseen.result["exit_code"] == 1
    assert "nowhere" in unseen.result["stderr"]
    assert unseen.result["stdout"] == ""


@pytest.mark.anyio
@pytest.mark.parametrize("door", DOORS)
async def test_what_goes_on_is_read_until_its_end(server: ServerProcess, door: str) -> None:
    with looking(server):
        async with opened(door, server) as ask:
            slow = await ask(
                action="execute",
                execution={"command": "sleep 1; echo late", "timeout": 100},
                runtime={"name": f"slow-{door}"},
            )
            target = slow.details["target"]
            read = await ask(
                action="read_output",
                target={"session": target["session"]},
                execution={"timeout": 20_000},
            )

    assert slow.code == "PM_TERM_TIMEOUT"
    assert slow.details["still_running"] is True
    assert (read.result["output"], read.result["exit_code"]) == ("late", 0)


def test_what_is_no_json_object_is_told_so_and_a_stranger_learns_nothing(
    server: ServerProcess,
) -> None:
    headers = {"Authorization": f"Bearer {server.token()}", "Content-Type": "application/json"}

    bad = httpx.post(f"{server.url()}/terminal", content=b"[1]", headers=headers)
    stranger = httpx.post(f"{server.url()}/terminal", json={"action": "list"})

    assert (bad.status_code, bad.json()["error"]["code"]) == (400, "PM_TERM_INVALID_PAYLOAD")
    assert (stranger.status_code, stranger.json()["error"]["code"]) == (401, "auth_required")


@pytest.mark.anyio
@pytest.mark.parametrize("way", ["stdio-2025", "http-2026"])
@pytest.mark.parametrize("word", ["allow once", "reject"])
async def test_the_person_at_the_agents_host_answers_for_a_headless_command(
    server: ServerProcess, way: str, word: str
) -> None:
    asked: list[str] = []

    async def person(context: object, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"decision": word})

    made = server.home / f"{way}-{word.split()[0]}"
    request = {
        "action": "execute",
        "invocation": {"mode": "headless"},
        "execution": {"command": "touch", "args": [str(made)]},
    }
    async with connected(way, server, dialect="terminal", elicitation_callback=person) as client:
        result = await client.call_tool("terminal", request)

    content: Json = result.structured_content or {}
    assert len(asked) == 1
    assert made.exists() is (word == "allow once")
    assert content.get("error", {}).get("code") == (
        None if word == "allow once" else "PM_TERM_DECLINED"
    )
