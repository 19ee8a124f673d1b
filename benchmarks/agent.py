"""What Duetty adds to a turn of the agent, beside a bare loop of the same library with the same model
server; and how soon a word that the model says stands in the person's terminal.
"""

import json
import subprocess
import sys
import threading
import time

import anyio
import anyio.to_thread
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks.measure import Effort, median, percentile, temporary_home
from benchmarks.report import Line, Table, ms
from duetty.calls import Actor
from duetty.config import Settings
from tests.agent.model_server import ModelServer, call, say
from tests.engine import running_engine
from tests.server_process import running_server

TURNS = 20
ROUNDS = 7
WORDS = 15
BYTES_A_TOKEN = 4
"""A rule of thumb for English and JSON; no tokenizer is asked."""

SHOWN_S = 0.020
PERSON = Actor(kind="person", name="bench")


async def run(effort: Effort) -> list[Table]:
    bare: list[float] = []
    ours: list[float] = []
    bare_bytes = our_bytes = 0
    for turn in range(1 + effort.times(ROUNDS, quick=1)):
        effort.say(f"round {turn}")
        bare_s, bare_bytes = await _bare()
        ours_s, our_bytes = await _ours()
        if turn:  # the first loads everything
            bare.append(bare_s)
            ours.append(ours_s)
    shown = await anyio.to_thread.run_sync(_shown, effort)
    added_s = median(ours) - median(bare)
    added_bytes = our_bytes - bare_bytes
    return [
        Table(
            name="agent",
            title="The agent",
            lines=[
                Line(
                    what="a turn: request, answer, one call of a tool that reads",
                    measured=ms(median(ours)),
                    beside=f"{ms(median(bare))} bare pydantic-ai, a tool that does nothing",
                    ratio=median(ours) / median(bare),
                ),
                Line(what="time that Duetty adds to a turn", measured=ms(added_s)),
                Line(
                    what="instructions and tools in each request",
                    measured=f"{our_bytes} bytes, about {our_bytes // BYTES_A_TOKEN} tokens",
                    beside=f"{bare_bytes} bytes bare",
                ),
                Line(
                    what="tokens that Duetty adds to a turn",
                    measured=f"about {added_bytes // BYTES_A_TOKEN}",
                ),
                Line(
                    what="first word of the model, from its server's socket to `duetty ask`'s output",
                    measured=f"{ms(median(shown))}, slowest {ms(percentile(shown, 100))}",
                    target="at most 20 ms",
                    met=median(shown) <= SHOWN_S,
                ),
            ],
            notes=[
                f"Turns: {TURNS} in one conversation, {len(ours)} rounds in turns, medians; the model is a script on loopback."
                " Ours writes the answer and the call to disk before the call is made, judges and records it.",
                f"Tokens: bytes of the request's system message and tools, divided by {BYTES_A_TOKEN}."
                " Providers that cache prompts charge a repeated beginning at a fraction.",
            ],
        )
    ]


async def _bare() -> tuple[float, int]:
    script = [call("look", {}) for _ in range(TURNS)]
    with ModelServer(*script, say("done")) as server:
        provider = OpenAIProvider(base_url=server.url, api_key="none")
        agent = Agent(OpenAIChatModel("scripted", provider=provider), instructions="Help.")

        @agent.tool_plain
        def look() -> str:
            """Look."""
            return "nothing"

        begun_s = time.perf_counter()
        async with agent.iter("go") as going:
            async for node in going:
                if Agent.is_model_request_node(node):
                    async with node.stream(going.ctx) as stream:
                        async for _ in stream:
                            pass
        taken_s = time.perf_counter() - begun_s
        return taken_s / (TURNS + 1), _fixed_bytes(server)


async def _ours() -> tuple[float, int]:
    script = [call("list_sessions", {}) for _ in range(TURNS)]
    with temporary_home() as home, ModelServer(*script, say("done")) as server:
        settings = Settings(
            agent_model="scripted", agent_base_url=server.url, agent_max_turns=TURNS + 2
        )
        async with running_engine(home, settings=settings) as engine:
            sent = await engine.dispatcher.call(PERSON, "agent.send", {"text": "warm", "cwd": "/"})
            # The first message opens a session and reads where it is; the turns are what is measured.
            begun_s = time.perf_counter()
            with anyio.fail_after(60):
                while not sent.answer:
                    events = await engine.dispatcher.call(
                        PERSON,
                        "agent.events",
                        {
                            "conversation": sent.info.id,
                            "after": 10**9,
                            "text_after": 10**9,
                            "wait_ms": 100,
                        },
                    )
                    assert events.info.state != "failed", events.info.reason
                    if events.info.state == "idle":
                        break
            taken_s = time.perf_counter() - begun_s
        return taken_s / (TURNS + 1), _fixed_bytes(server)


def _fixed_bytes(server: ModelServer) -> int:
    request = server.requests[-1]
    system = [each for each in request["messages"] if each["role"] == "system"]
    return len(json.dumps([system, request.get("tools", [])]).encode())


def _shown(effort: Effort) -> list[float]:
    found: list[float] = []
    with (
        temporary_home() as home,
        ModelServer() as model,
        running_server(home, **model.settings) as server,
    ):
        for _ in range(effort.times(WORDS, quick=2)):
            go = threading.Event()
            model.script = [say("Hello there, person.", before=go)]
            model.sent_at.clear()
            asking = subprocess.Popen(
                [sys.executable, "-m", "duetty", "ask", "-q", "hi"],
                env=server.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
            )
            assert asking.stdout is not None
            requests = len(model.requests)
            while len(model.requests) == requests:
                time.sleep(0.01)
            time.sleep(0.3)  # the command line follows by now
            go.set()
            asking.stdout.read(1)
            found.append(time.monotonic() - model.sent_at[0])
            asking.communicate()
    return found
