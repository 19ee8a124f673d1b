"""Arguments and results of conversations with the agent, as they cross the boundary."""

from typing import Any, Literal

from pydantic import Field

from duetty.wire.approval_shapes import ApprovalInfo
from duetty.wire.base import Params, Result, SystemText

MAX_MESSAGE_CHARS = 400_000
MAX_WAIT_MS = 300_000

AgentState = Literal["idle", "running", "awaiting_approval", "failed"]


class ConversationParams(Params):
    conversation: str = Field(
        min_length=1, max_length=64, description="id of the conversation, or its beginning"
    )


class SendParams(Params):
    text: str = Field(
        min_length=1,
        max_length=MAX_MESSAGE_CHARS,
        description="what to say; @PATH, @block:ID, @session and @mcp:SERVER/RESOURCE add what they name",
    )
    conversation: str | None = Field(
        None, max_length=64, description="go on with this one; a new one when left out"
    )
    session: str | None = Field(
        None, description="where a new one works; a session of its own when left out"
    )
    cwd: SystemText | None = Field(
        None, description="directory of that session of its own; the user's home when left out"
    )
    sandbox: Literal["any", "landlock", "bubblewrap"] | None = Field(
        None, description="all that a new one opens is confined, and it touches nothing else"
    )
    workspaces: list[SystemText] | None = Field(
        None, max_length=16, description="what it may write there; a person's to say"
    )
    attached: str | None = Field(
        None,
        max_length=MAX_MESSAGE_CHARS,
        description="text that the message is about, such as output of a command",
    )
    wait_ms: int = Field(
        0, ge=0, le=MAX_WAIT_MS, description="wait at most so long for the agent to have answered"
    )
    attends: bool = Field(
        False, description="the caller will ask for events at once, and show questions to a person"
    )


class ConversationsParams(Params):
    limit: int = Field(50, ge=1, le=1_000)


class EventsParams(ConversationParams):
    after: int = Field(0, ge=0, description="entries after this seq")
    text_after: int = Field(
        0, ge=0, description="of the answer that is being written, the text behind these characters"
    )
    wait_ms: int = Field(0, ge=0, le=MAX_WAIT_MS, description="wait at most so long for news")
    known_state: str | None = Field(
        None,
        max_length=500,
        description="the last `info.state_key` that you got: a change of it is news too",
    )
    attends: bool = Field(
        False, description="the caller shows questions to a person, who can answer them"
    )


class StopParams(ConversationParams):
    interrupt: bool = Field(
        False, description="also do what Ctrl-C does in its session; else what runs there goes on"
    )


class CompleteMentionParams(Params):
    text: str = Field(max_length=4_096, description="what stands behind the @, so far")
    session: str | None = Field(None, description="whose directory and workspace is meant")


class ConversationInfo(Result):
    id: str
    title: str = Field(description="the beginning of its first message")
    created_at: str
    session: str | None = Field(description="where it works")
    state: AgentState
    doing: str | None = Field(description="the step it is at; null while it does nothing")
    reason: str | None = Field(description="why it ended as it did")
    code: str | None = Field(description="error code of that, where it failed")
    approval: ApprovalInfo | None = Field(description="the question that it waits for")
    turns: int = Field(description="requests to the model since its last message")
    tokens_in: int
    tokens_out: int
    cost_usd: float | None = Field(description="null: the price is not known")
    seq: int = Field(description="of its last entry")
    state_key: str = Field(description="differs whenever state, step or question do")


class ConversationEntryInfo(Result):
    seq: int
    at: str
    kind: Literal[
        "message",
        "context",
        "answer",
        "call",
        "result",
        "told",
        "summary",
        "fault",
        "limit",
        "state",
    ]
    body: dict[str, Any] = Field(description="what there is to say, by kind; see docs/agent.md")


class ConversationEvents(Result):
    info: ConversationInfo
    entries: list[ConversationEntryInfo]
    partial: str = Field(description="the new text of an answer that is not complete yet")
    partial_chars: int = Field(description="how long that answer is by now")


class ConversationDetail(Result):
    info: ConversationInfo
    entries: list[ConversationEntryInfo]


class SentMessage(Result):
    info: ConversationInfo
    seq: int = Field(description="of the message; what follows answers it")
    answer: str | None = Field(description="the agent's answer, where the call waited for it")


class ConversationLog(Result):
    conversation: str
    markdown: str


class AgentStatusParams(Params):
    conversation: str | None = Field(
        None, max_length=64, description="the one that did something last when left out"
    )
    check: bool = Field(
        False,
        description="also ask the model's provider about address, key and name; costs nothing",
    )


class ModelCheck(Result):
    code: str | None = Field(description="null: nothing is wrong, as far as it could be asked")
    message: str
    hint: str = ""


class AgentStatus(Result):
    state: AgentState | Literal["not_configured"]
    model: str | None = Field(description="as set; null: none is")
    message: str = Field(description="what it is doing, or what to set")
    checked: ModelCheck | None = Field(description="what the provider says; with check only")
    conversation: ConversationInfo | None
    working: int = Field(description="conversations at work")


class Mentions(Result):
    values: list[str] = Field(description="what could stand behind the @")
