"""An agent of the server's own: conversations with a model that uses the operations as tools.

Knows no edge and no session. It is given its hands (`Hands`) by `ops`: every tool call is a
call of an operation, by an actor of its own. Nothing of the model's library is imported before
the first message.
"""

from duetty.agent.agents import Agents
from duetty.agent.conversation import Conversation, Doing
from duetty.agent.hands import Hands, Tool, ToolCall, ToolOutcome
from duetty.agent.limits import Limits, Reached
from duetty.agent.markdown import as_markdown
from duetty.agent.models import Answered, Model, ModelSource, key_variable, open_model

__all__ = [
    "Agents",
    "Answered",
    "Conversation",
    "Doing",
    "Hands",
    "Limits",
    "Model",
    "ModelSource",
    "Reached",
    "Tool",
    "ToolCall",
    "ToolOutcome",
    "as_markdown",
    "key_variable",
    "open_model",
]
