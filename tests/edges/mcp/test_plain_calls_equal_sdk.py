"""The short way of a plain call and the SDK's own: nobody can tell them apart."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duetty.edges.mcp.transports import Transports
from tests.edges.mcp.two_ways import Headers, Pipe, Told, line, post, settled, way

EXAMPLES = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT = "io.modelcontextprotocol/clientInfo"
MODERN: dict[str, Any] = {
    VERSION: "2026-07-28",
    CAPABILITIES: {},
    CLIENT: {"name": "test", "version": "1"},
}
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


def said(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def call(id_: Any, name: Any, arguments: Any = None, **params: Any) -> bytes:
    given: dict[str, Any] = {"name": name, "arguments": arguments or {}, **params}
    return said(id=id_, method="tools/call", params=given)


# --- what a client might send ---------------------------------------------------------

anything: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
LEFT_OUT = object()
tools = st.sampled_from(
    ["echo", "look", "list", "late", "lost", "crash", "broken", "routed", "nope"]
)
ids = st.integers(-(2**70), 2**70) | st.text(max_size=6) | anything
arguments: st.SearchStrategy[Any] = st.one_of(
    st.just(LEFT_OUT),
    st.just({}),
    st.fixed_dictionaries(
        {}, optional={"text": st.text(max_size=5) | anything, "number": anything}
    ),
    st.dictionaries(st.text(max_size=4), anything, max_size=2),
    anything,
)
meta_rest: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "progressToken": st.integers() | st.text(max_size=4) | anything,
        "traceparent": st.text(max_size=4) | anything,
        "host/thing": anything,
        "io.modelcontextprotocol/logLevel": st.sampled_from(["info", "loud"]),
        "io.modelcontextprotocol/related-task": anything,
    },
)
meta_modern: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        VERSION: st.sampled_from(["2026-07-28", "2025-06-18", "2099-01-01", 7]),
        CAPABILITIES: st.sampled_from(
            [{}, {"elicitation": {}}, {"roots": 3}, [], {"extensions": {"x/y": {}}}]
        ),
        CLIENT: st.sampled_from([{"name": "test", "version": "1"}, {"name": 1}, None]),
    },
)


@st.composite
def calls(draw: st.DrawFn, *, modern: bool) -> bytes:
    params: dict[str, Any] = {"name": draw(tools | anything)}
    if (given := draw(arguments)) is not LEFT_OUT:
        params["arguments"] = given
    meta: dict[str, Any] = {}
    if modern:
        meta = dict(MODERN)
        if draw(st.integers(0, 3)) == 0:
            meta = draw(meta_modern)
    if draw(st.booleans()):
        meta |= draw(meta_rest)
    if draw(st.integers(0, 8)) == 0 and not modern:
        meta |= draw(meta_modern)
    if meta or draw(st.booleans()):
        params["_meta"] = meta
    if draw(st.integers(0, 9)) == 0:
        params["_meta"] = draw(anything)
    if draw(st.integers(0, 9)) == 0:
        params |= draw(
            st.fixed_dictionaries(
                {}, optional={"task": anything, "requestState": anything, "extra": anything}
            )
        )
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": "tools/call", "params": params}
    if draw(st.integers(0, 9)):
        message["id"] = draw(ids)
    match draw(st.integers(0, 19)):
        case 0:
            message["jsonrpc"] = draw(anything)
        case 1:
            message["params"] = draw(anything)
        case 2:
            message["extra"] = draw(anything)
        case 3:
            del message["params"]
        case 4:
            message["method"] = draw(
                st.sampled_from(["tools/list", "ping", "nothing", "tools/call "])
            )
        case _:
            pass
    raw = json.dumps(message, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 19)) == 0:
        raw = draw(
            st.sampled_from(
                [raw[:-1], raw + b"x", b"\xef\xbb\xbf" + raw, raw.replace(b"2.0", b"\xff")]
            )
        )
    if draw(st.integers(0, 19)) == 0:
        raw = raw.replace(b'{"jsonrpc"', b'{"id":5,"method":"ping","jsonrpc"', 1)
    return raw


# --- lines ----------------------------------------------------------------------------


def on_lines(script: Callable[[Pipe], Awaitable[object]]) -> tuple[object, object, int]:
    """What the script heard on the short way and on the long one, and how many calls were plain."""

    async def run(*, short: bool) -> tuple[object, int]:
        with anyio.fail_after(60):
            async with way(short=short) as (transports, core), line(transports) as pipe:
                return await script(pipe), getattr(core, "plain", 0)

    heard, plain = anyio.run(lambda: run(short=True))
    return heard, anyio.run(lambda: run(short=False))[0], plain


async def shaken(pipe: Pipe, version: str = "2025-06-18", **capabilities: Any) -> None:
    wanted = INITIALIZE | {"protocolVersion": version, "capabilities": capabilities}
    await pipe.say(said(id="hi", method="initialize", params=wanted))
    await pipe.say(INITIALIZED)


async def met(pipe: Pipe) -> None:
    await pipe.say(call("hi", "list", _meta=MODERN))


@EXAMPLES
@given(st.lists(calls(modern=False), min_size=1, max_size=4))
def test_lines_of_the_handshake_era_are_answered_the_same(messages: list[bytes]) -> None:
    async def script(pipe: Pipe) -> object:
        await shaken(pipe)
        return await pipe.say(*messages)

    short, long, _ = on_lines(script)

    assert short == long


@EXAMPLES
@given(st.lists(calls(modern=True), min_size=1, max_size=4))
def test_lines_of_the_modern_era_are_answered_the_same(messages: list[bytes]) -> None:
    async def script(pipe: Pipe) -> object:
        await met(pipe)
        return await pipe.say(*messages)

    short, long, _ = on_lines(script)

    assert short == long


ODD: list[dict[str, Any]] = [
    {"requestState": "none"},
    {"requestState": "none", "inputResponses": {}},
    {"inputResponses": {"a": {"action": "accept"}}},
    {"task": {"ttl": 1000}},
    {"task": None},
    {"task": 5},
    {"extra": {"a": 1}},
    {"arguments": None},
    {"arguments": []},
    {"name": None},
]


@pytest.mark.parametrize("odd", ODD, ids=str)
@pytest.mark.parametrize("version", ["2025-11-25", "2024-11-05", "2026-07-28"])
def test_what_a_plain_call_does_not_have_is_left_to_the_sdk(
    version: str, odd: dict[str, Any]
) -> None:
    modern = version == "2026-07-28"
    params = {"name": "echo", "arguments": {}, **odd, **({"_meta": MODERN} if modern else {})}

    async def script(pipe: Pipe) -> object:
        await (met(pipe) if modern else shaken(pipe, version=version))
        answers = await pipe.say(said(id=3, method="tools/call", params=params))
        return [answer.get("error") or sorted(answer["result"]) for answer in answers]

    short, long, plain = on_lines(script)

    assert short == long
    assert plain == 0


@pytest.mark.parametrize(
    "name", ["echo", "look", "list", "late", "lost", "crash", "broken", "passed"]
)
@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_every_kind_of_answer_is_the_same_on_a_line(era: str, name: str) -> None:
    extra = {} if era == "handshake" else {"_meta": MODERN}

    async def script(pipe: Pipe) -> object:
        await (shaken(pipe) if era == "handshake" else met(pipe))
        return await pipe.say(call(7, name, **extra), call("seven", name, {"text": None}, **extra))

    short, long, plain = on_lines(script)

    assert short == long
    assert plain == 2


def test_before_the_handshake_is_over_the_sdk_alone_answers() -> None:
    async def script(pipe: Pipe) -> object:
        before = await pipe.say(call(1, "echo"))
        begun = await pipe.say(said(id=2, method="initialize", params=INITIALIZE), call(3, "echo"))
        await pipe.say(INITIALIZED)
        await pipe.say(said(id=4, method="initialize", params=INITIALIZE))
        return before, begun, await pipe.say(call(5, "echo"))

    short, long, plain = on_lines(script)

    assert short == long
    assert plain == 0


def test_a_cancelled_line_gets_no_answer_and_the_next_one_does() -> None:
    async def script(pipe: Pipe) -> object:
        await shaken(pipe)
        gone = {"requestId": "1"}
        nothing = await pipe.say(
            call(1, "wait"), said(method="notifications/cancelled", params=gone)
        )
        return nothing, await pipe.say(call(1, "echo"))

    short, long, plain = on_lines(script)

    assert short == long
    assert plain == 2


def test_two_calls_with_one_id_are_both_answered() -> None:
    async def script(pipe: Pipe) -> object:
        await shaken(pipe)
        at_once = await pipe.say(call(1, "echo"), call(1, "list"), call("1", "late"))
        heard = len(pipe.heard)
        await pipe.say(*[call(1, "wait", {"wait_s": 0.2})] * 2)
        while len(pipe.heard) < heard + 2:
            await anyio.sleep(0.01)
        return at_once, [json.loads(each) for each in pipe.heard[heard:]]

    short, long, plain = on_lines(script)

    assert short == long
    assert plain == 5


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_progress_is_told_the_same(era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duetty.edges.mcp.core.PROGRESS_S", 0.25)
    meta = {"progressToken": "t", **({} if era == "handshake" else MODERN)}

    async def script(pipe: Pipe) -> object:
        await (shaken(pipe) if era == "handshake" else met(pipe))
        await pipe.say(call(1, "wait", {"wait_s": 0.6}, _meta=meta))
        while not any(b'"result"' in each and b"waited" in each for each in pipe.heard):
            await anyio.sleep(0.01)
        told = [json.loads(each) for each in pipe.heard]
        # On a slow machine there may be another one before the end.
        return [each for each in told if "params" in each][:1], told[-1]

    short, long, plain = on_lines(script)

    assert short == long
    assert plain == 1


def test_a_client_that_can_be_asked_is_left_to_the_sdk_unless_nothing_is_asked() -> None:
    async def script(pipe: Pipe) -> object:
        await shaken(pipe, elicitation={})
        return await pipe.say(call(1, "echo"), call(2, "look"))

    short, long, plain = on_lines(script)

    assert short == long
    assert plain == 1  # to look changes nothing, so nobody is asked about it


# --- HTTP -----------------------------------------------------------------------------

JSON = (b"content-type", b"application/json")
BOTH = (b"accept", b"application/json, text/event-stream")


def over_http(
    script: Callable[[Transports, Headers], Awaitable[Told]], *, modern: bool
) -> tuple[object, object, int]:
    async def run(*, short: bool) -> tuple[object, int]:
        with anyio.fail_after(60):
            async with way(short=short) as (transports, core):
                if modern:
                    session, known = "", [(b"mcp-protocol-version", b"2026-07-28")]
                    hello = call(0, "list", _meta=MODERN)
                    named = [(b"mcp-method", b"tools/call"), (b"mcp-name", b"list")]
                    await post(transports, hello, [JSON, BOTH, *known, *named])
                else:
                    begun = said(id=0, method="initialize", params=INITIALIZE)
                    session = (await post(transports, begun, [JSON, BOTH])).header(
                        "mcp-session-id"
                    ) or ""
                    known = [(b"mcp-session-id", session.encode())]
                    await post(transports, INITIALIZED, [JSON, BOTH, *known])
                    await settled()
                answer = await script(transports, known)
                return answer.comparable(session), getattr(core, "plain", 0)

    told, plain = anyio.run(lambda: run(short=True))
    return told, anyio.run(lambda: run(short=False))[0], plain


odd_headers = st.lists(
    st.sampled_from(
        [
            (b"mcp-protocol-version", b"2025-06-18"),
            (b"mcp-protocol-version", b"2025-11-25"),
            (b"mcp-protocol-version", b"2026-07-28"),
            (b"mcp-protocol-version", b"1999-01-01"),
            (b"mcp-session-id", b"nobody"),
            (b"mcp-method", b"tools/call"),
            (b"mcp-method", b"tools/list"),
            (b"mcp-name", b"echo"),
            (b"mcp-name", b" echo "),
            (b"mcp-name", b"=?base64?ZWNobw==?="),
            (b"mcp-name", b"list"),
            (b"mcp-param-text", b"x"),
            (b"last-event-id", b"1"),
        ]
    ),
    max_size=2,
)
accepts = st.sampled_from(
    [
        BOTH,
        BOTH,
        BOTH,
        (b"accept", b"*/*"),
        (b"accept", b"application/json"),
        (b"accept", b"text/event-stream"),
        (b"accept", b"application/*, text/*"),
        (b"accept", b"application/jsonx, text/event-stream"),
        (b"accept", b"text/event-stream;q=0.5,application/json;q=1"),
        (b"accept", b"APPLICATION/JSON, text/event-stream"),
        (b"x-accept", b""),
    ]
)
kinds = st.sampled_from(
    [
        JSON,
        JSON,
        JSON,
        (b"content-type", b"application/json; charset=utf-8"),
        (b"content-type", b"text/plain"),
    ]
)


@EXAMPLES
@given(calls(modern=False), odd_headers, accepts, kinds, st.integers(1, 3))
def test_http_of_the_handshake_era_answers_the_same(
    body: bytes, odd: Any, accept: Any, kind: Any, chunks: int
) -> None:
    async def script(transports: Transports, known: Headers) -> Told:
        return await post(transports, body, [kind, accept, *known, *odd], chunks=chunks)

    short, long, _ = over_http(script, modern=False)

    if not is_better(body, short, long):
        assert short == long


@EXAMPLES
@given(calls(modern=True), odd_headers, accepts, kinds, st.booleans())
def test_http_of_the_modern_era_answers_the_same(
    body: bytes, odd: Any, accept: Any, kind: Any, named: bool
) -> None:
    async def script(transports: Transports, known: Headers) -> Told:
        try:
            name = json.loads(body)["params"]["name"].encode("ascii")
        except Exception:  # noqa: BLE001 - whatever is wrong with it is the test
            name = b"echo"
        right = [(b"mcp-method", b"tools/call"), (b"mcp-name", name)] if named else []
        return await post(transports, body, [kind, accept, *known, *right, *odd])

    short, long, _ = over_http(script, modern=True)

    assert short == long


def is_better(body: bytes, short: Any, long: Any) -> bool:
    """An id that no answer can carry: the SDK takes the request for a notification (202)."""
    if long[0] != 202 or short[0] != 400:
        return False
    parsed = json.loads(body)
    return "id" in parsed and (
        isinstance(parsed["id"], bool) or not isinstance(parsed["id"], str | int)
    )


@pytest.mark.parametrize("name", ["echo", "look", "list", "late", "lost", "crash", "broken"])
@pytest.mark.parametrize("modern", [False, True])
def test_every_kind_of_answer_is_the_same_over_http(modern: bool, name: str) -> None:
    async def script(transports: Transports, known: Headers) -> Told:
        named = [(b"mcp-method", b"tools/call"), (b"mcp-name", name.encode())] if modern else []
        body = call("x", name, **({"_meta": MODERN} if modern else {}))
        return await post(transports, body, [JSON, BOTH, *known, *named])

    short, long, plain = over_http(script, modern=modern)

    assert short == long
    assert plain == (2 if modern else 1) - modern  # the modern one is met by a call of its own


@pytest.mark.parametrize("modern", [False, True])
def test_progress_over_http_is_told_the_same(modern: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duetty.edges.mcp.core.PROGRESS_S", 0.25)

    async def script(transports: Transports, known: Headers) -> Told:
        named = [(b"mcp-method", b"tools/call"), (b"mcp-name", b"wait")] if modern else []
        meta = {"progressToken": 5, **(MODERN if modern else {})}
        body = call(1, "wait", {"wait_s": 0.4}, _meta=meta)
        answer = await post(transports, body, [JSON, BOTH, *known, *named])
        frames = answer.body.split(b"\r\n\r\n")
        # On a slow machine there may be another one before the end.
        answer.body = b"\r\n\r\n".join([frames[0], *frames[-2:]])
        return answer

    short, long, plain = over_http(script, modern=modern)

    assert short == long
    assert plain == 1


def test_a_call_cancelled_by_another_request_says_so() -> None:
    async def script(transports: Transports, known: Headers) -> Told:
        headers = [JSON, BOTH, *known]
        answers: list[Told] = []

        async def wait() -> None:
            answers.append(await post(transports, call(9, "wait"), headers))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await settled()
            gone = said(method="notifications/cancelled", params={"requestId": 9})
            await post(transports, gone, headers)
        return answers[0]

    short, long, plain = over_http(script, modern=False)

    assert short == long
    assert plain == 1


def test_a_session_that_is_deleted_takes_its_calls_with_it() -> None:
    async def script(transports: Transports, known: Headers) -> Told:
        headers = [JSON, BOTH, *known]
        answers: list[Told] = []

        async def wait() -> None:
            answers.append(await post(transports, call(9, "wait"), headers))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await settled()
            await post(transports, b"", headers, method="DELETE")
        again = await post(transports, call(10, "echo"), headers)
        answers[0].body += again.body
        return answers[0]

    short, long, plain = over_http(script, modern=False)

    assert short == long
    assert plain == 1


def test_a_session_is_used_only_by_whoever_opened_it() -> None:
    async def script(transports: Transports, known: Headers) -> Told:
        return await post(transports, call(9, "echo"), [JSON, BOTH, *known], actor="other")

    short, long, plain = over_http(script, modern=False)

    assert short == long
    assert plain == 0
