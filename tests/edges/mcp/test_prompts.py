"""The nine documents, as a client gets them."""

import re

import pytest
from mcp import MCPError
from mcp.types import INVALID_PARAMS, TextContent

from duetty.edges.mcp.dialect import Prompt
from duetty.edges.mcp.dialects.wsh import TOOLS
from duetty.edges.mcp.prompts import PROMPTS
from tests.edges.mcp.connect import WAYS, connected
from tests.server_process import ServerProcess

NAMES = [
    "wsh:core",
    "wsh:drive-process",
    "wsh:tui",
    "wsh:multi-session",
    "wsh:agent-orchestration",
    "wsh:monitor",
    "wsh:visual-feedback",
    "wsh:input-capture",
    "wsh:generative-ui",
]


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.parametrize("way", WAYS)
async def test_every_prompt_is_listed_and_gives_its_document(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server) as client:
        listed = (await client.list_prompts()).prompts
        texts: list[str] = []
        for prompt in listed:
            (message,) = (await client.get_prompt(prompt.name)).messages
            assert isinstance(message.content, TextContent)
            texts.append(message.content.text)
        with pytest.raises(MCPError) as unknown:
            await client.get_prompt("wsh:nothing")

    assert [prompt.name for prompt in listed] == NAMES
    assert all(prompt.title and prompt.description for prompt in listed)
    assert texts == [prompt.text for prompt in PROMPTS]
    assert unknown.value.error.code == INVALID_PARAMS


def test_the_core_prompt_speaks_of_tools_and_not_of_http() -> None:
    core = PROMPTS[0].text

    assert "wsh_run_command" in core
    assert "curl" not in core


@pytest.mark.parametrize("prompt", PROMPTS, ids=[prompt.name for prompt in PROMPTS])
def test_a_prompt_names_only_tools_arguments_and_prompts_that_exist(prompt: Prompt) -> None:
    text = prompt.text
    tools = {tool.name: set(tool.parameters) for tool in TOOLS}

    called = re.findall(r"\b(wsh_\w+)(?:\(([^()]*)\))?", text)

    assert called or "wsh:" in text
    for name, arguments in called:
        assert name in tools
        given = set(re.findall(r"\b(\w+)=", re.sub(r"\"[^\"]*\"", '""', arguments)))
        assert given <= tools[name], (name, given)
    assert set(re.findall(r"wsh:[a-z-]+", text)) <= set(NAMES)


@pytest.mark.parametrize("prompt", PROMPTS, ids=[prompt.name for prompt in PROMPTS])
def test_a_prompt_is_short_enough_to_be_read(prompt: Prompt) -> None:
    assert 1_500 < len(prompt.text) < 8_000
