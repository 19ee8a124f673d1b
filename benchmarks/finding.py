"""What many tools of upstreams cost: tokens per finished task with all listed and with `find_tools`.

Tasks are scripted: labelled queries over real tools of npm servers, called through the
gateway. A model reads the list of tools again in each of its turns, so a task costs the list
times the turns, and what was said meanwhile. Every task is finished: a tool that is not among
the first that are found is looked for further down, page by page, and that counts.
"""

import json
from typing import Any

from mcp import Client
from mcp import types as t

from benchmarks.measure import Effort, temporary_home
from benchmarks.report import Line, Table
from duetty.config import Settings
from duetty.upstreams import Index
from duetty.upstreams.tools import Tool
from duetty.upstreams.upstream_settings import as_toml
from tests.edges.mcp.connect import connected
from tests.server_process import running_server
from tests.upstreams.real_tools import QUERIES, queries, real_tools
from tests.upstreams.running import plain
from tests.upstreams.test_gateway import trust

SIZES = (10, 15, 20, 30, 40, 60, 120, 234)
LIST_AT_MOST = Settings().mcp_list_at_most
CHARS_PER_TOKEN = 4
TASKS = 40
STEPS = (1, 5)
"""Tools that a task needs, each another one."""

Wanted = list[tuple[str, set[str]]]
"""A task: what is looked for, and the names of which one is enough."""


async def run(effort: Effort) -> list[Table]:
    costs: list[Line] = []
    for size in (20, 234) if effort.quick else SIZES:
        effort.say(f"{size} tools")
        listed_tokens, listed = await _tasks(size, finds=False)
        _, found = await _tasks(size, finds=True)
        for steps in STEPS:
            (all_, all_turns), (by_finding, turns) = _means(listed[steps]), _means(found[steps])
            decides = steps == max(STEPS)
            halves = by_finding <= all_ / 2
            costs.append(
                Line(
                    what=f"{size} tools ({listed_tokens:,.0f} tokens), {_calls(steps)}",
                    measured=f"{by_finding:,.0f} tokens in {turns:.1f} turns by finding",
                    beside=f"{all_:,.0f} in {all_turns:.0f} all listed",
                    ratio=by_finding / all_,
                    target="found if that halves it" if decides else "",
                    met=halves is (size > LIST_AT_MOST) if decides else None,
                )
            )
    return [
        Table(
            name="finding",
            title="Many tools: tokens of a finished task",
            lines=costs,
            notes=[
                f"{TASKS} tasks of one call and {TASKS // 5} of five, scripted, over real tools of npm servers; four characters are a token. "
                "Each turn of a model reads the list of tools and all messages before it.",
                "Every task is finished: a tool that is not in the first answer of `find_tools` is looked for in the next, and that counts.",
                f"Finding takes a turn or two more for each tool, so it is the default only where it halves the tokens of a task with "
                f"{max(STEPS)} calls: above {LIST_AT_MOST} tools (`mcp.list_at_most`).",
            ],
        ),
        Table(name="recall", title="Many tools: is the right one found", lines=_recall()),
    ]


def _calls(steps: int) -> str:
    return "1 call" if steps == 1 else f"{steps} calls"


def _means(talks: list["Talk"]) -> tuple[float, float]:
    """Tokens and turns of a task."""
    count = len(talks)
    return sum(each.total for each in talks) / count, sum(each.turns for each in talks) / count


# --- what a task costs ----------------------------------------------------------------


def tokens(value: object) -> float:
    return len(json.dumps(value, ensure_ascii=False)) / CHARS_PER_TOKEN


class Talk:
    """One task of a model: what it has read so far."""

    def __init__(self, client: Client, listed: float) -> None:
        self._client = client
        self._listed = listed
        self._said = 0.0
        self.total = 0.0
        self.turns = 0

    async def call(self, name: str, arguments: dict[str, Any]) -> t.CallToolResult:
        self.turn()
        answer = await self._client.call_tool(name, arguments)
        self._said += tokens({"name": name, "arguments": arguments})
        self._said += tokens([_wire(each) for each in answer.content])
        return answer

    def turn(self) -> None:
        self.turns += 1
        self.total += self._listed + self._said


async def _listed_task(talk: Talk, wanted: Wanted) -> None:
    for _, names in wanted:
        await talk.call(min(names), {})


async def _found_task(talk: Talk, wanted: Wanted) -> None:
    for query, names in wanted:
        found, offset = None, 0
        while found is None:
            more = {"offset": offset} if offset else {}
            answer = await talk.call("find_tools", {"query": query, **more})
            content = answer.structured_content
            assert content is not None
            found = next((each for each in content["tools"] if each["name"] in names), None)
            offset = content.get("next", 0)
        if "inputSchema" not in found:
            await talk.call("describe_tool", {"name": found["name"]})
        await talk.call("call_tool", {"name": found["name"], "arguments": {}})


async def _tasks(size: int, *, finds: bool) -> tuple[float, dict[int, list[Talk]]]:
    """Tokens of the list, and all tasks by the number of their calls."""
    tools = real_tools()
    # Evenly out of all servers.
    some = {int(place * len(tools) / size) for place in range(size)}
    kept = [each for place, each in enumerate(tools) if place in some]
    ids = {f"mcp__{upstream}__{wire['name']}" for upstream, wire in kept}
    asked = [(query, names & ids) for file in QUERIES for query, names in queries(file)]
    asked = [(query, names) for query, names in asked if names]
    asked = asked[:: max(1, len(asked) // TASKS)][:TASKS]
    tables: dict[str, Any] = {}
    for upstream, each in kept:
        # Nothing stands behind them: they take what they are given.
        free: dict[str, Any] = {**each, "inputSchema": {**each["inputSchema"], "required": []}}
        free.pop("outputSchema", None)
        free.pop("execution", None)
        tables.setdefault(upstream, []).append(free)
    with temporary_home() as home:
        config = [f"[mcp]\nlist_at_most = {0 if finds else 10_000}\n"]
        for upstream, listed in tables.items():
            file = home / f"{upstream}.json"
            file.write_text(json.dumps(listed), encoding="utf-8")
            config.append(as_toml(upstream, plain(tools_file=str(file))))
        (home / "config.toml").write_text("\n".join(config), encoding="utf-8")
        with running_server(home) as server:
            for upstream in tables:
                trust(server, upstream)
            async with connected("http-2026", server, dialect="gateway") as client:
                read = tokens([_wire(each) for each in (await client.list_tools()).tools])
                talks: dict[int, list[Talk]] = {}
                for steps in STEPS:
                    talks[steps] = []
                    for at in range(0, len(asked) - steps + 1, steps):
                        talk = Talk(client, read)
                        task = _found_task if finds else _listed_task
                        await task(talk, asked[at : at + steps])
                        talk.turn()  # its last word
                        talks[steps].append(talk)
    return read, talks


def _wire(value: Any) -> Any:
    return value.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"meta"})


# --- recall ---------------------------------------------------------------------------


def _recall() -> list[Line]:
    tools = [Tool(upstream=upstream, wire=wire) for upstream, wire in real_tools()]
    index = Index(tools)
    lines: list[Line] = []
    for file, about in QUERIES.items():
        ranks = [
            next((at for at, tool in enumerate(index.find(query)) if tool.id in names), len(tools))
            for query, names in queries(file)
        ]
        shares = {most: sum(rank < most for rank in ranks) / len(ranks) for most in (1, 3, 5, 15)}
        lines.append(
            Line(
                what=f"{len(ranks)} queries over {len(tools)} tools, {about}",
                measured=f"recall@3 {shares[3]:.0%}",
                beside=f"@1 {shares[1]:.0%}, @5 {shares[5]:.0%}, @15 {shares[15]:.0%}",
            )
        )
    return lines
