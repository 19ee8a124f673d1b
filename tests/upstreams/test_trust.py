"""Trust → rules → person → error, as the published design's section 8.2 draws it; deny wins always."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import types as t

from duetty.calls import Actor, Effect
from duetty.edges.mcp.dialects.gateway import DECIDED_BY, OWN_WORD
from duetty.policy import Allow, Ask, Deny, Judged, Profile, RuleSet, decide, load_rules
from duetty.upstreams.upstream_settings import as_toml
from tests.edges.mcp.connect import connected
from tests.server_process import ServerProcess, running_server
from tests.upstreams.running import WAIT_S, named, plain
from tests.upstreams.test_gateway import trust

DENYING = load_rules(
    {"rules": [{"name": "no", "decide": "deny", "tool": "mcp__*__delete_*"}]}, "test"
)
ALLOWING = load_rules(
    {"rules": [{"name": "yes", "decide": "allow", "tool": "mcp__it__delete_*"}]}, "test"
)
ASKING = load_rules({"rules": [{"name": "hm", "decide": "ask", "tool": "mcp__it__*"}]}, "test")


def judged(level: str, *, destroys: bool = False, kind: str = "agent") -> Judged:
    return Judged(
        operation="upstreams.call",
        effect=Effect.CONTROL,
        actor=Actor(kind=kind, name="a"),  # type: ignore[arg-type]  # one of the words
        tool=("it", "delete_all"),
        is_destructive=destroys,
        trust=level,
    )


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize("destroys", [False, True])
@pytest.mark.parametrize("level", ["trusted", "untrusted", "sandbox"])
def test_each_step_of_the_flow(level: str, destroys: bool, profile: Profile) -> None:
    call = judged(level, destroys=destroys)
    runs = level == "trusted" and not (destroys and profile is Profile.STRICT)

    plainly = decide(call, RuleSet(), profile, can_ask=True)
    alone = decide(call, RuleSet(), profile, can_ask=False)

    assert isinstance(plainly, Allow if runs else Ask)
    assert plainly.rule == f"trust:{level}"
    assert isinstance(alone, Allow if runs else Deny)
    assert decide(call, ALLOWING, profile, can_ask=True).rule == (
        f"trust:{level}" if runs else "rule:yes"
    )
    assert isinstance(decide(call, ALLOWING, profile, can_ask=False), Allow)
    assert isinstance(decide(call, ASKING + ALLOWING, profile, can_ask=True), Ask)
    assert decide(call, DENYING + ALLOWING, profile, can_ask=True).rule == "rule:no"
    assert isinstance(decide(judged(level, kind="person"), RuleSet(), profile, can_ask=True), Allow)


def test_a_decision_can_be_made_again_from_what_the_trail_keeps() -> None:
    call = judged("untrusted")

    assert Judged.from_json(call.to_json()) == call


# --- a real server --------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as place:
        home = Path(place)
        lies = [{"name": "harmless", "annotations": {"readOnlyHint": True}}]
        tables = {
            "strange": plain(
                trust="untrusted", tools=[*named("echo", "allowed", "delete_all"), *lies]
            ),
            "known": plain(tools=named("echo", "delete_all")),
        }
        text = "\n".join(as_toml(name, table) for name, table in tables.items())
        permissions = (
            '[permissions]\nallow = ["mcp__strange__allowed"]\ndeny = ["mcp__*__delete_*"]\n'
        )
        (home / "config.toml").write_text(f"{text}\n{permissions}", encoding="utf-8")
        with running_server(home) as server:
            for name in tables:
                trust(server, name)
            yield server


class Person:
    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def __call__(self, context: Any, params: Any) -> t.ElicitResult:
        self.asked.append(params.message)
        return t.ElicitResult(action="accept", content={"decision": self.answer})


async def called(server: ServerProcess, tool: str, person: Person | None) -> tuple[str, str]:
    """The step that decided, and the error's code where the call did not pass."""
    options: dict[str, Any] = {} if person is None else {"elicitation_callback": person}
    async with connected("http-2026", server, dialect="gateway", **options) as client:
        with anyio.fail_after(WAIT_S):
            result = await client.call_tool(tool, {})
    content: Any = result.structured_content or {}
    if result.is_error:
        return content["decided_by"], content["error"]["code"]
    return str((result.meta or {}).get(DECIDED_BY, "")), ""


@pytest.mark.anyio
@pytest.mark.pty
async def test_the_word_of_a_server_that_is_not_trusted_is_labelled_as_its_own(
    server: ServerProcess,
) -> None:
    async with connected("http-2026", server, dialect="gateway") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}

    harmless = tools["mcp__strange__harmless"]
    assert harmless.annotations is not None
    assert harmless.annotations.read_only_hint is False  # it is not ours to promise
    assert (harmless.meta or {})[OWN_WORD] == {"readOnlyHint": True}


@pytest.mark.anyio
@pytest.mark.pty
async def test_the_answer_says_which_step_decided(server: ServerProcess) -> None:
    yes, no = Person("allow once"), Person("reject")

    assert await called(server, "mcp__known__echo", None) == ("trust:trusted", "")
    assert await called(server, "mcp__strange__allowed", None) == ("rule:permissions.allow", "")
    assert await called(server, "mcp__strange__echo", yes) == ("person", "")
    assert await called(server, "mcp__strange__echo", no) == ("person", "approval_rejected")
    unasked = ("trust:untrusted", "policy_denied")
    assert await called(server, "mcp__strange__echo", None) == unasked
    assert await called(server, "mcp__strange__harmless", None) == unasked
    for server_name in ("known", "strange"):
        tool = f"mcp__{server_name}__delete_all"
        assert await called(server, tool, yes) == ("rule:permissions.deny", "policy_denied")
    assert len(yes.asked) == 1
    records = server.client.get("/audit", operation="upstreams.call", kind="call", limit=100)
    assert {each["decision"]["rule"] for each in records} == {
        "trust:trusted",
        "trust:untrusted",
        "rule:permissions.allow",
        "rule:permissions.deny",
    }


@pytest.mark.anyio
@pytest.mark.pty
async def test_a_tool_with_an_alias_is_called_by_it_and_judged_by_its_own_name() -> None:
    long, denied = "look" * 50, "delete_" + "x" * 100
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as place:
        table = plain(tools=named(long, denied, "say it"))
        rules = '[permissions]\ndeny = ["mcp__*__delete_*xx"]\n'
        (Path(place) / "config.toml").write_text(as_toml("it", table) + rules, encoding="utf-8")
        with running_server(Path(place)) as server:
            trust(server, "it")
            async with connected("http-2026", server, dialect="gateway") as client:
                with anyio.fail_after(WAIT_S):
                    names = [tool.name for tool in (await client.list_tools()).tools]
                    answers = [await client.call_tool(name, {"a": 1}) for name in names]
            records = server.client.get("/audit", operation="upstreams.call", kind="call")

    assert len(names) == 2  # what is denied by its own name is not listed by another
    assert all(len(name) <= 64 for name in names)
    assert [answer.structured_content for answer in answers] == [{"a": 1}] * 2
    assert {each["judged"]["tool"][1] for each in records} == {long, "say it"}
