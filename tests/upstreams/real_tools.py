"""234 tools as real servers list them, and what somebody would look for them with.

`real_tools.json` holds what eleven npm servers answered to `tools/list` (their versions are in it).
"""

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

QUERIES = {
    "tool_queries.tsv": "by the author of the search",
    "tool_queries_2.tsv": "by another author, who had not read it",
    "tool_queries_3.tsv": "before it was given synonyms, by who gave it those",
    "tool_queries_4.tsv": "in everyday words, never tuned for",
}
"""Files of labelled queries, and who wrote them when."""


def real_tools() -> list[tuple[str, dict[str, Any]]]:
    """Upstream and tool, as it stood on the wire."""
    servers = json.loads((HERE / "real_tools.json").read_text(encoding="utf-8"))
    return [(name, tool) for name, server in servers.items() for tool in server["tools"]]


def queries(file: str) -> list[tuple[str, set[str]]]:
    """What is looked for, and the names of which one is enough."""
    lines = (HERE / file).read_text(encoding="utf-8").splitlines()
    found: list[tuple[str, set[str]]] = []
    for line in lines:
        if not line.startswith("#"):
            query, _, names = line.partition("\t")
            found.append((query, {"mcp__" + each.replace("/", "__") for each in names.split()}))
    return found
