"""Arguments and results of looking at, judging and changing rules."""

from typing import Annotated, Literal

from pydantic import Field

from duetty.wire.base import Params, Result, SystemText

MAX_TEXT = 400_000
MAX_LINE = 16_384
MAX_WORD = 200

Decide = Literal["deny", "ask", "allow"]
Source = Literal["shipped", "config", "project", "standing"]


class RulesParams(Params):
    cwd: SystemText | None = Field(
        None,
        max_length=4_096,
        description="whose project's rules to list too; without it, those of all open sessions",
    )


class RulesCheckParams(Params):
    text: str = Field(max_length=MAX_TEXT, description="[[policy.rules]] tables, as TOML")


class RulesSaveParams(RulesCheckParams):
    base: str = Field(max_length=64, description="`hash` of the text that this one was made from")


class PolicyWhyParams(Params):
    command: str | None = Field(None, max_length=MAX_LINE, description="a command line")
    tool: str | None = Field(
        None, max_length=MAX_WORD, description="or a tool of an upstream: mcp__SERVER__TOOL"
    )
    cwd: SystemText = Field("", max_length=4_096)
    mode: Literal["interactive", "headless"] = "interactive"
    profile: Literal["open", "guarded", "strict"] | None = Field(
        None, description="as if this were the profile; without it, the one in force"
    )
    actor: str = Field(
        "agent",
        max_length=MAX_WORD,
        description="who would call: agent, person or node, or KIND:NAME",
    )
    dialect: str = Field("", max_length=MAX_WORD)
    tags: list[Annotated[str, Field(max_length=64)]] = Field(
        default_factory=list[str], max_length=100, description="of the session"
    )
    text: str | None = Field(
        None, max_length=MAX_TEXT, description="as if these were the person's rules"
    )


class RuleInfo(Result):
    name: str
    decide: Decide
    source: Source = Field(
        description="shipped with Duetty, config.toml, a project's file, or a standing approval"
    )
    where: str = Field(description="file and line")
    why: str
    conditions: dict[str, list[str]] = Field(
        description="operation, actor, dialect, tag, mode, cwd, command, tool: all given ones must hold"
    )
    even_destructive: list[str] = Field(description="classes that it allows all the same")
    matches: list[str] = Field(description="examples, checked when the rules are loaded")
    not_matches: list[str]
    in_force: bool = Field(description="false for shipped rules in the profile `open`")
    change_with: Literal["rules.save", "approval.revoke"] | None = Field(
        description="the operation that changes it; null where only its file does"
    )
    standing: str | None = Field(description="id, for `approval.revoke`")
    session: str | None = Field(description="the only session it is for")


class ClassInfo(Result):
    """A class of destructive commands that Duetty ships."""

    name: str
    reason: str
    instead: str
    grave: bool = Field(description="no rule can allow it: a person answers each time")


class ProjectProblem(Result):
    file: str
    message: str


class RuleList(Result):
    profile: str
    digest: str = Field(description="of the rules in force, projects left out")
    file: str
    hash: str = Field(description="of the text of the person's rules in force")
    is_current: bool = Field(
        description="false when the file was changed since; saving or a restart puts it in force"
    )
    rules: list[RuleInfo]
    classes: list[ClassInfo]
    problems: list[ProjectProblem] = Field(description="projects whose rules cannot be read")


class RulesText(Result):
    file: str
    text: str = Field(description="the [[policy.rules]] tables of it")
    hash: str
    exists: bool
    changeable: bool
    problem: str | None = Field(description="why it cannot be changed from here")


class RulesProblem(Result):
    line: int
    column: int
    message: str
    hint: str | None
    rule: str | None


class RuleChange(Result):
    name: str
    change: Literal["added", "removed", "changed"]
    before: RuleInfo | None
    after: RuleInfo | None


class LineChange(Result):
    command_line: str
    cwd: str
    before: Decide
    after: Decide
    rule: str = Field(description="that decides then")


class RulesChecked(Result):
    good: bool
    problems: list[RulesProblem]
    rules: list[RuleInfo] = Field(description="of the text, where it is good")
    hash: str = Field(description="of this text")
    base: str = Field(description="of the text in the file now: give it to `rules.save`")
    changes: list[RuleChange] = Field(description="against the rules in force")
    diff: str = Field(description="of the texts, unified")
    lines: list[LineChange] | None = Field(
        description="lines of the trail that would be decided otherwise; null without the scope admin"
    )


class RulesSaved(Result):
    hash: str
    digest: str
    changes: list[RuleChange]


class FoundInfo(Result):
    name: str = Field(description="of the class")
    what: str
    reason: str
    instead: str
    grave: bool


class RuleMatch(Result):
    name: str
    decide: Decide
    where: str
    why: str
    is_meant: bool = Field(
        description="false for one whose other conditions hold, but not its command"
    )


class PolicyWhy(Result):
    decision: Decide
    reason: str
    rule: str
    profile: str
    classes: list[str]
    detail: str | None
    suggestion: str | None
    question: str | None = Field(description="what a person would be asked")
    can_ask: bool = Field(description="whether a person is there who could be asked")
    shown: str | None = Field(description="the line with everything that hides made visible")
    words: list[list[str]] | None = Field(
        description="its commands, word by word, where it is literal"
    )
    not_literal: str | None = Field(description="why it is not, and at which character")
    not_proven: str | None = Field(description="why it is not known to only read")
    runs_as: str | None = Field(description="headless: what would run in its place")
    commands: list[list[str]] = Field(description="what it may run, as far as can be seen")
    found: list[FoundInfo] = Field(description="what is destructive in it")
    unreadable: list[str] = Field(description="parts that cannot be read")
    rules: list[RuleMatch] = Field(description="rules that apply to such a call")
