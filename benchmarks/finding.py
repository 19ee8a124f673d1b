"""What many tools of upstreams cost: tokens per finished task with and without `find_tools`, and the time to list them.

Tasks are scripted: queries of all three sets of `tests/upstreams` over real tools of npm
servers, called through the gateway. A model reads the list of tools again in each of its
turns, so a task costs the list times the turns, and what was said meanwhile. A task of which a
tool is not found is done again with all tools listed: it costs both.
"""

import json
import sys
from typing import Any

import anyio
from mcp import Client
from mcp import types as t

from benchmarks.measure import temporary_home
from duetty.upstreams.upstream_settings import as_toml
from tests.edges.mcp.connect import connected
from tests.server_process import running_server
from tests.upstreams.real_tools import queries, real_tools
from tests.upstreams.running import plain
from tests.upstreams.test_gateway import trust

SIZES = (10, 20, 30, 40, 60, 120, 234)
CHARS_PER_TOKEN = 4
TASKS = 40


def tokens(value: object) -> float:
    return len(json.dumps(value, ensure_ascii=False)) / CHARS_PER_TOKEN


def wire(tool: t.Tool) -> Any:
    return tool.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"meta"})


async def cost(client: Client, listed: list[Any], steps: list[tuple[str, dict[str, Any]]]) -> float:
    """Of a task whose model makes these calls, one in a turn, and says a last word."""
    said, total = 0.0, 0.0
    for name, arguments in steps:
        total += tokens(listed) + said
        answer = await client.call_tool(name, arguments)
        said += tokens({"name": name, "arguments": arguments})
        said += tokens([each.model_dump(mode="json", exclude_none=True) for each in answer.content])
    return total + tokens(listed) + said


STEPS = (1, 5)
"""Tools that a task needs, each another one."""


async def task(
    client: Client,
    listed: list[Any],
    wanted: list[tuple[str, set[str]]],
    *,
    otherwise: float | None,
) -> tuple[float, bool]:
    """Tokens until it is finished, and whether finding was enough. `otherwise`: what it costs with
    all tools listed, which is what is left to do where one is not found; None: they are listed.
    """
    steps: list[tuple[str, dict[str, Any]]] = []
    for query, names in wanted:
        if otherwise is None:
            steps.append((sorted(names)[0], {}))
            continue
        steps.append(("find_tools", {"query": query}))
        found = await client.call_tool("find_tools", {"query": query})
        assert found.structured_content is not None
        offered = [each["name"] for each in found.structured_content["tools"]]
        meant = next((each for each in offered if each in names), None)
        if meant is None:
            return await cost(client, listed, steps) + otherwise, False
        steps += [
            ("describe_tool", {"name": meant}),
            ("call_tool", {"name": meant, "arguments": {}}),
        ]
    return await cost(client, listed, steps), True


Costs = dict[int, list[tuple[float, bool]]]
"""By the number of steps, of each task what it cost, and whether finding was enough."""


async def measured(size: int, listed_costs: Costs | None) -> tuple[Costs, int]:
    """What tasks cost by finding, or (None) with all listed; and the tokens of the list."""
    tools = real_tools()
    chosen = queries() + queries("tool_queries_2.tsv") + queries("tool_queries_3.tsv")
    # Evenly out of all servers, those that a query asks for among them.
    step = len(tools) / size
    some = {int(place * step) for place in range(size)}
    kept = [each for place, each in enumerate(tools) if place in some]
    ids = {f"mcp__{upstream}__{wire['name']}" for upstream, wire in kept}
    asked = [(query, names & ids) for query, names in chosen if names & ids]
    asked = asked[:: max(1, len(asked) // TASKS)][:TASKS]
    tables: dict[str, Any] = {}
    for upstream, each in kept:
        # Nothing stands behind them: they take what they are given.
        free: dict[str, Any] = {**each, "inputSchema": {**each["inputSchema"], "required": []}}
        free.pop("outputSchema", None)
        free.pop("execution", None)
        tables.setdefault(upstream, []).append(free)
    at_most = 10_000 if listed_costs is None else 0
    with temporary_home() as home:
        config: list[str] = []
        for upstream, listed in tables.items():
            file = home / f"{upstream}.json"
            file.write_text(json.dumps(listed), encoding="utf-8")
            config.append(as_toml(upstream, plain(tools_file=str(file))))
        text = f"[mcp]\nlist_at_most = {at_most}\n" + "\n".join(config)
        (home / "config.toml").write_text(text, encoding="utf-8")
        with running_server(home) as server:
            for upstream in tables:
                trust(server, upstream)
            async with connected("http-2026", server, dialect="gateway") as client:
                listed_tools = [wire(each) for each in (await client.list_tools()).tools]
                costs: Costs = {}
                for steps in STEPS:
                    groups = [asked[at : at + steps] for at in range(0, len(asked), steps)]
                    whole = [each for each in groups if len(each) == steps]
                    costs[steps] = [
                        await task(
                            client,
                            listed_tools,
                            each,
                            otherwise=None if listed_costs is None else listed_costs[steps][at][0],
                        )
                        for at, each in enumerate(whole)
                    ]
    return costs, int(tokens(listed_tools))


def mean(costs: list[tuple[float, bool]]) -> float:
    return sum(each for each, _ in costs) / max(1, len(costs))


async def main() -> None:
    say(
        "| tools | list | 1 call, all listed | 1 call, find_tools | 5 calls, all listed | 5 calls, find_tools | finished by finding, 1 and 5 |"
    )
    for size in SIZES:
        all_, listed = await measured(size, None)
        found, _ = await measured(size, all_)
        row = [each for steps in STEPS for each in (mean(all_[steps]), mean(found[steps]))]
        cells = " | ".join(f"{each:,.0f}" for each in row)
        shares = [mean([(done, done) for _, done in found[steps]]) for steps in STEPS]
        say(f"| {size} | {listed:,} | {cells} | {shares[0]:.0%}, {shares[1]:.0%} |")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    anyio.run(main)
