"""A server that ends by SIGKILL at a chosen moment of the agent's work."""

import os
import signal
from typing import Any

from duetty.agent import agents
from duetty.agent.agents import Agents
from duetty.agent.conversation import Conversation


def die(*_: Any, **__: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


async def die_later(*_: Any, **__: Any) -> Any:
    die()


def at(moment: str) -> None:
    """For a process that becomes a server."""
    module: Any = agents
    worker: Any = Agents
    match moment:
        case "in the stream":
            Conversation.say = die
        case "before the call is written":
            module._append_answer = die
        case "before the call begins":
            worker._do = die_later
        case "when the call is written":
            step = worker._step

            async def named(self: Agents, conversation: Conversation, text: str) -> None:
                if text.startswith("run"):
                    die()
                await step(self, conversation, text)

            worker._step = named
        case "before the result is written":
            module._record = die
        case _:
            raise AssertionError(moment)
