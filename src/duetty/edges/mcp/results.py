"""What a tool answered, as the protocol tells it."""

import mcp_types as t
from mcp_types.methods import serialize_server_result
from pydantic_core import to_json

from duetty.edges.mcp.dialect import Answer, Content, Json, Picture, Prompt, Resource, Tool


def tool_result(answer: Answer) -> t.CallToolResult:
    if answer.passed_on is not None:
        return t.CallToolResult.model_validate(answer.passed_on, by_name=False)
    if answer.blocks is not None:
        content = [_block(block) for block in answer.blocks]
    else:
        content = [_block(json_text(answer.content if answer.text is None else answer.text))]
    if answer.failure is not None:
        content.insert(0, t.TextContent(text=answer.failure))
    return t.CallToolResult(
        content=content,
        structured_content=answer.content,
        is_error=answer.failure is not None,
    )


def passed_on(result: Json, version: str) -> Json:
    """Another server's result as a client of this revision gets it: without what that does not know."""
    whole = t.CallToolResult.model_validate(result, by_name=False)
    dumped = whole.model_dump(by_alias=True, mode="json", exclude_none=True)
    return serialize_server_result("tools/call", version, dumped)


def _block(block: str | Picture) -> t.ContentBlock:
    if isinstance(block, Picture):
        return t.ImageContent(data=block.base64, mime_type=block.media_type)
    return t.TextContent(text=block)


def json_text(value: object) -> str:
    return to_json(value, inf_nan_mode="null").decode()


def listed_tool(tool: Tool) -> t.Tool:
    return t.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema(),
        output_schema=tool.result,
        annotations=t.ToolAnnotations(
            read_only_hint=tool.is_read_only,
            destructive_hint=tool.is_destructive,
            idempotent_hint=tool.is_idempotent or tool.is_read_only,
            open_world_hint=not tool.is_read_only,
        ),
        execution=t.ToolExecution(task_support="optional") if tool.may_be_task else None,
    )


def listed_resource(resource: Resource, session: str | None) -> t.Resource:
    return t.Resource(
        uri=resource.begin if session is None else resource.of(session),
        name=resource.name if session is None else f"{session} {resource.name}",
        title=resource.title if session is None else f"{resource.title}: {session}",
        description=resource.description,
        mime_type=resource.media_type,
        annotations=_annotations(resource),
    )


def listed_template(resource: Resource) -> t.ResourceTemplate:
    return t.ResourceTemplate(
        uri_template=resource.uri,
        name=resource.name,
        title=resource.title,
        description=resource.description,
        mime_type=resource.media_type,
        annotations=_annotations(resource),
    )


def _annotations(resource: Resource) -> t.Annotations | None:
    if not resource.audience and resource.priority is None:
        return None
    return t.Annotations(audience=list(resource.audience) or None, priority=resource.priority)


def contents_of(
    uri: str, resource: Resource, found: object
) -> t.TextResourceContents | t.BlobResourceContents:
    if not isinstance(found, Content):
        return t.TextResourceContents(uri=uri, text=json_text(found), mime_type=resource.media_type)
    kind = found.media_type or resource.media_type
    if found.base64 is not None:
        return t.BlobResourceContents(uri=uri, blob=found.base64, mime_type=kind)
    return t.TextResourceContents(uri=uri, text=found.text or "", mime_type=kind)


def listed_prompt(prompt: Prompt) -> t.Prompt:
    arguments = [
        t.PromptArgument(name=each.name, description=each.description, required=each.is_required)
        for each in prompt.arguments
    ]
    return t.Prompt(
        name=prompt.name,
        title=prompt.title,
        description=prompt.description,
        arguments=arguments or None,
    )
