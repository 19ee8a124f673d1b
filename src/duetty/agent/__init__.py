"""An agent of the server's own: conversations with a model that uses the operations as tools.

Knows no edge and no session. It is given its hands (`Hands`) by `ops`: every tool call is a
call of an operation, by an actor of its own. Nothing of the model's library is imported before
the first message.
"""

from duetty.agent.agents import Agents, open_agents
from duetty.agent.conversation import Conversation, Doing
from duetty.agent.hands import Hands, Tool, ToolCall, ToolOutcome, shortened, step_text
from duetty.agent.host_model import HostModel
from duetty.agent.limits import Limits, Reached, Used, used
from duetty.agent.markdown import as_markdown, entry_lines
from duetty.agent.model import Answered, Model, ModelSource
from duetty.agent.models import (
    key_in,
    model_problem,
    open_model,
    without_key,
)

__all__ = [
    "Agents",
    "Answered",
    "Conversation",
    "Doing",
    "Hands",
    "HostModel",
    "Limits",
    "Model",
    "ModelSource",
    "Reached",
    "Tool",
    "ToolCall",
    "ToolOutcome",
    "Used",
    "as_markdown",
    "entry_lines",
    "key_in",
    "model_problem",
    "open_agents",
    "open_model",
    "shortened",
    "step_text",
    "used",
    "without_key",
]
