"""What many tools of upstreams cost: tokens per finished task with and without `find_tools`, and the time to list them.

Tasks are scripted: the queries of `tests/upstreams/tool_queries.tsv` over real tools of npm
servers, called through the gateway. A model reads the list of tools again in each of its
turns, so a task costs the list times the turns, and what was said meanwhile.
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
TASKS = 30


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
    client: Client, listed: list[Any], wanted: list[tuple[str, set[str]]], *, finds: bool
) -> float | None:
    """Tokens until it is finished; None where a tool is not found."""
    steps: list[tuple[str, dict[str, Any]]] = []
    for query, names in wanted:
        if not finds:
            steps.append((sorted(names)[0], {}))
            continue
        found = await client.call_tool("find_tools", {"query": query})
        assert found.structured_content is not None
        offered = [each["name"] for each in found.structured_content["tools"]]
        meant = next((each for each in offered if each in names), None)
        if meant is None:
            return None
        steps += [
            ("find_tools", {"query": query}),
            ("describe_tool", {"name": meant}),
            ("call_tool", {"name": meant, "arguments": {}}),
        ]
    return await cost(client, listed, steps)


async def measured(size: int, at_most: int) -> tuple[list[float], list[float], int]:
    """For each number of steps tokens per finished task and the share that was finished; the list's tokens."""
    tools = real_tools()
    chosen = queries()
    # Evenly out of all servers, those that a query asks for among them.
    step = len(tools) / size
    some = {int(place * step) for place in range(size)}
    kept = [each for place, each in enumerate(tools) if place in some]
    ids = {f"mcp__{upstream}__{wire['name']}" for upstream, wire in kept}
    asked = [(query, names & ids) for query, names in chosen if names & ids][:TASKS]
    tables: dict[str, Any] = {}
    for upstream, each in kept:
        # Nothing stands behind them: they take what they are given.
        free: dict[str, Any] = {**each, "inputSchema": {**each["inputSchema"], "required": []}}
        free.pop("outputSchema", None)
        free.pop("execution", None)
        tables.setdefault(upstream, []).append(free)
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
                means, shares = list[float](), list[float]()
                for steps in STEPS:
                    groups = [asked[at : at + steps] for at in range(0, len(asked), steps)]
                    costs = [
                        await task(client, listed_tools, each, finds=at_most == 0)
                        for each in groups
                        if len(each) == steps
                    ]
                    done = [each for each in costs if each is not None]
                    means.append(sum(done) / max(1, len(done)))
                    shares.append(len(done) / max(1, len(costs)))
    return means, shares, int(tokens(listed_tools))


async def main() -> None:
    say(
        "| tools | list | 1 call, all listed | 1 call, find_tools | 5 calls, all listed | 5 calls, find_tools | finished by finding, 1 and 5 |"
    )
    for size in SIZES:
        all_, _, listed = await measured(size, 10_000)
        found, shares, _ = await measured(size, 0)
        row = [all_[0], found[0], all_[1], found[1]]
        cells = " | ".join(f"{each:,.0f}" for each in row)
        say(f"| {size} | {listed:,} | {cells} | {shares[0]:.0%}, {shares[1]:.0%} |")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    anyio.run(main)
