"""The second answer: told who was first and what they said, by whatever way it comes."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from duetty.client import Client, RemoteError
from tests.approvals.asking import AgentCall, asking_server, outcomes, waiting
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with asking_server() as server:
        yield server


def test_of_two_who_answer_at_once_one_is_told_who_was_first(server: ServerProcess) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)["id"]

    def answer(word: str) -> str:
        client = Client(server.paths.server_socket)
        try:
            client.post(f"/approvals/{approval}/{word}", {"via": "page"})
        except RemoteError as error:
            return str(error.details.get("state", error.code))
        return {"approve": "granted", "decline": "rejected"}[word]

    with ThreadPoolExecutor() as people:
        said = list(people.map(answer, ["approve", "decline"] * 4))
    call.over()

    assert len(set(said)) == 1
    assert outcomes(server, approval) == said[:1]


def test_the_command_line_tells_who_was_first(server: ServerProcess) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)["id"]
    server.client.post(f"/approvals/{approval}/decline", {"note": "not now", "via": "page"})
    call.over()

    said = [server.command(word, approval[:6]) for word in ("approve", "decline")]

    assert [each.returncode for each in said] == [1, 1]
    assert all("rejected already, by local (page)" in each.stderr for each in said)


def test_a_later_server_still_knows_who_was_first(server: ServerProcess) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)["id"]
    server.client.post(f"/approvals/{approval}/decline", {"note": "not now"})
    call.over()
    server.command("stop", "--keep-sessions")
    server.wait_ended()
    server.start()

    with pytest.raises(RemoteError) as told:
        server.client.post(f"/approvals/{approval}/approve")

    assert told.value.code == "approval_settled"
    assert (told.value.details["state"], told.value.details["note"]) == ("rejected", "not now")
