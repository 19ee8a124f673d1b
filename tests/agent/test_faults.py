"""When the model, its server or its words are bad: a clear state, and nothing is lost."""

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from pathlib import Path

import pytest

from tests.agent.model_server import ModelServer, Reply, call, results, say
from tests.agent.talking import Asked, until
from tests.server_process import ServerProcess

pytestmark = pytest.mark.pty

QUICK = "duetty.agent.agents.RETRY_S = (0.01, 0.02)"


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Iterator[ServerProcess]:
    import tempfile

    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp") as place:
        server = ServerProcess(
            Path(place),
            **model.settings,
            DUETTY_AGENT_CONTEXT_TOKENS="50000",
            DUETTY_AGENT_TIMEOUT_S="2",
        )
        server.start_with(QUICK)
        try:
            yield server
        finally:
            server.end()


def sent(server: ServerProcess, text: str, **more: object) -> Asked:
    answer = server.client.post("/agent/messages", {"text": text, "cwd": str(server.home), **more})
    return Asked(server, answer["info"]["id"])


def ended(server: ServerProcess, text: str, **more: object) -> Asked:
    asked = sent(server, text, **more)
    asked.wait("idle", "failed")
    return asked


def test_a_model_that_is_down_for_a_moment_is_asked_again(
    server: ServerProcess, model: ModelServer
) -> None:
    model.script = [
        Reply(status=503, error="overloaded"),
        Reply(status=429, error="slow down", headers={"Retry-After": "0.05"}),
        say("Here I am."),
    ]

    asked = ended(server, "hello")

    assert asked.info()["state"] == "idle"
    assert [each["again_in_s"] for each in asked.entries("fault")] == [0.01, 0.05]
    assert asked.entries("answer")[-1]["text"] == "Here I am."


def test_a_model_that_names_a_date_is_asked_again_then(
    server: ServerProcess, model: ModelServer
) -> None:
    later = formatdate(time.time() + 100, usegmt=True)
    model.script = [Reply(status=429, error="slow down", headers={"Retry-After": later})]

    asked = sent(server, "hello")
    [fault] = until(lambda: asked.entries("fault"))
    server.client.post(f"/agent/conversations/{asked.id}/stop", {})

    assert 60 < fault["again_in_s"] <= 100


def test_a_model_that_stays_down_ends_the_work_and_it_can_be_resumed(
    server: ServerProcess, model: ModelServer
) -> None:
    model.script = [Reply(status=500, error="broken")] * 3 + [say("Back.")]

    asked = ended(server, "hello")
    failed = asked.info()
    server.client.post(f"/agent/conversations/{asked.id}/resume", {})
    asked.wait("idle")

    assert (failed["state"], failed["code"]) == ("failed", "model_unavailable")
    assert asked.entries("answer")[-1]["text"] == "Back."
    assert [each["text"] for each in asked.entries("message")] == ["hello"]


def test_half_an_answer_is_kept_to_be_seen_and_not_acted_on(
    server: ServerProcess, model: ModelServer
) -> None:
    acts = (("run", {"input": "touch acted"}),) * 2
    model.script = [
        say("I was about to say", breaks_off=True),
        Reply(calls=acts, breaks_off=True),
        say("Whole."),
    ]

    asked = ended(server, "hello")

    fault, of_calls = asked.entries("fault")
    assert of_calls["code"] == "model_unavailable"
    assert not asked.entries("call")
    assert not (server.home / "acted").exists()
    assert fault["code"] == "model_unavailable"
    assert "I was about" in fault["text"]
    assert [each["text"] for each in asked.entries("answer")] == ["Whole."]


def test_a_model_that_says_nothing_is_given_up_on(
    server: ServerProcess, model: ModelServer
) -> None:
    never = threading.Event()
    model.script = [say("too late", before=never), say("In time.")]

    asked = ended(server, "hello")
    never.set()

    assert len(asked.entries("fault")) == 1
    assert asked.entries("answer")[-1]["text"] == "In time."


@pytest.mark.parametrize(
    ("ending", "told"),
    [
        (say(""), "the model ended with an empty answer"),
        (say("To be", finish="length"), "the model's answer was cut off at its longest"),
        (say("", finish="content_filter"), "the model's provider withheld its answer"),
        (say("Yes.", finish="a_new_word"), None),
    ],
)
def test_an_end_that_is_no_usual_one_is_told(
    ending: Reply, told: str | None, server: ServerProcess, model: ModelServer
) -> None:
    model.script = [ending]

    info = ended(server, "hello").info()

    assert info["state"] == "idle"
    assert (info["reason"] or "").startswith(told or "")
    assert bool(info["reason"]) is (told is not None)


def test_where_a_model_names_no_usage_its_tokens_are_counted_by_its_words(
    server: ServerProcess, model: ModelServer
) -> None:
    model.script = [say("abcd" * 50, tokens_in=0)]

    info = ended(server, "hello").info()

    assert info["tokens_in"] > 1000
    assert info["tokens_out"] == 50
    assert info["cost_usd"] > 0


def test_a_wrong_key_is_told_with_what_to_look_at_and_the_key_is_nowhere(
    server: ServerProcess, model: ModelServer
) -> None:
    model.script = [Reply(status=401, error="Incorrect API key: sk-secret-of-the-model")]

    asked = ended(server, "hello")

    info = asked.info()
    assert (info["state"], info["code"]) == ("failed", "model_refused")
    assert "sk-secret" not in json.dumps(info)
    assert model.keys[-1] == "Bearer sk-secret-of-the-model"
    for path in server.paths.state.rglob("*"):
        if path.is_file():
            assert b"sk-secret" not in path.read_bytes(), path


def test_no_program_of_the_agent_gets_the_key(server: ServerProcess, model: ModelServer) -> None:
    model.script = [call("run", {"input": "env | grep -c sk-secret"}), say("None.")]

    ended(server, "look")

    assert "\n0" in results(model.requests[-1])[0]


def test_malformed_arguments_and_unknown_tools_are_told_to_the_model(
    server: ServerProcess, model: ModelServer
) -> None:
    model.script = [
        call("run", '{"input": "echo '),
        call("run", {"nothing": 1}),
        call("sudo", {"input": "id"}),
        say("I see."),
    ]

    asked = ended(server, "hello")

    assert asked.info()["state"] == "idle"
    malformed, wrong, unknown = results(model.requests[-1])
    assert "no JSON object" in malformed
    assert "[invalid_request]" in wrong
    assert "no tool 'sudo'" in unknown


def test_a_result_of_ten_megabytes_is_told_by_its_head_and_tail(
    server: ServerProcess, model: ModelServer
) -> None:
    line = "head -c 10000000 /dev/zero | tr '\\0' x | fold -w 70; echo THE END"
    work = server.home / "work"
    work.mkdir()
    (work / "long.txt").write_text("x" * 10_000_000)
    model.script = [
        call("run", {"input": line, "max_wait_ms": 60_000}),
        call("read_file", {"path": "long.txt"}),
        say("Much."),
    ]

    asked = ended(server, "print a lot", cwd=str(work))

    told, read = results(model.requests[-1])
    assert len(read) < 30_000
    assert read.endswith("[the file is longer]")
    assert asked.info()["state"] == "idle"
    assert len(told) < 30_000
    assert "THE END" in told
    assert "lines left out; read_output" in told


def test_a_conversation_that_is_too_long_for_the_model_is_summed_up_and_goes_on(
    server: ServerProcess, model: ModelServer
) -> None:
    overflow = Reply(
        status=400,
        error="maximum context length is 100 tokens",
        error_code="context_length_exceeded",
    )
    model.script = [
        call("run", {"input": "echo early"}),
        overflow,
        say("SUMMARY: early was printed."),
        say("I know that early was printed.", tokens_in=60_000),
    ]
    asked = ended(server, "print early")
    model.script = [say("SUMMARY: two things."), say("And on.")]

    server.client.post("/agent/messages", {"text": "and now?", "conversation": asked.id})
    asked.wait("idle")

    assert len(asked.entries("summary")) == 2
    assert len(asked.entries("message")) == 2
    last = json.dumps(model.requests[-1]["messages"])
    assert "SUMMARY: two things." in last
    assert "and now?" in last
    assert "echo early" not in last


def test_two_messages_at_once_are_both_heard(server: ServerProcess, model: ModelServer) -> None:
    go = threading.Event()
    model.script = [say("First.", before=go), say("Second.")]

    asked = sent(server, "one")
    until(lambda: len(model.requests) and "one" in json.dumps(model.requests[-1]["messages"][-1]))
    server.client.post("/agent/messages", {"text": "two", "conversation": asked.id})
    go.set()
    until(lambda: len(asked.entries("answer")) == 2)
    asked.wait("idle")
    second = model.requests[-1]["messages"][-3:]
    model.script = [say("Both, or one by one.")] * 2

    def say_more(text: str) -> None:
        server.client.post("/agent/messages", {"text": text, "conversation": asked.id})

    with ThreadPoolExecutor(2) as at_once:
        list(at_once.map(say_more, ("three", "four")))
    until(lambda: asked.info()["state"] == "idle")
    heard = json.dumps(model.requests[-1]["messages"])

    assert "three" in heard
    assert "four" in heard
    words = [str(each["content"]) for each in second]
    assert words == ["one", "First.", "two"]


def test_time_is_a_limit_too(model: ModelServer, home: Path) -> None:
    change = (
        "duetty.agent.agents.Limits = __import__('functools').partial(duetty.agent.agents.Limits)"
    )
    server = ServerProcess(home, **model.settings)
    server.start_with(
        change + "; _init = duetty.agent.limits.Limits.__init__;"
        " duetty.agent.agents.Limits = lambda **f: duetty.agent.limits.Limits(**{**f, 'minutes': 0.02})"
    )
    try:
        model.script = [call("run", {"input": "sleep 60", "max_wait_ms": 60_000}), say("never")]

        asked = ended(server, "wait")

        info = asked.info()
        assert (info["state"], info["code"]) == ("failed", "agent_limit")
        assert asked.entries("result")[0]["code"] == "agent_limit"
    finally:
        server.end()


def test_a_person_who_types_in_its_session_is_told_to_the_agent(
    server: ServerProcess, model: ModelServer
) -> None:
    go = threading.Event()
    model.script = [
        call("run", {"input": "echo mine"}),
        Reply(text="Hm.", before=go),
        say("I saw."),
    ]

    session = server.client.post("/sessions", {"cwd": str(server.home)})["name"]
    server.client.post(f"/sessions/{session}/run", {"input": "echo long before"})
    asked = sent(server, "work", session=session)
    until(lambda: asked.entries("result"))
    server.client.post(f"/sessions/{session}/run", {"input": "echo theirs"})
    server.client.post("/agent/messages", {"text": "and?", "conversation": asked.id})
    go.set()
    until(lambda: len(asked.entries("answer")) == 3)

    [told] = asked.entries("told")
    assert "A person typed" in told["text"]
    assert "echo theirs" in told["text"]
    assert "long before" not in told["text"]
