"""A person at a server: looks at it, and answers what is asked as the question's text says."""

import threading
from collections.abc import Generator
from contextlib import contextmanager

from duetty.client.view_protocol import Viewing
from duetty.errors import DuettyError
from tests.server_process import ServerProcess

LOOK_MS = 200


@contextmanager
def looking(server: ServerProcess) -> Generator[None]:
    """A page or an attached terminal that shows the list of sessions."""
    viewing = Viewing.connect(server.paths.server_socket)
    try:
        viewing.send("watch", on=True)
        while not any(
            isinstance(told, dict) and told["type"] == "sessions" for told in viewing.receive()
        ):
            pass
        yield
    finally:
        viewing.close()


@contextmanager
def answering(server: ServerProcess) -> Generator[None]:
    """Lines with "granted" in them are approved, with "declined" declined, others left alone."""
    ended = threading.Event()

    def answer() -> None:
        seq = 0
        while not ended.is_set():
            told = server.client.get("/approvals", after=seq, wait_ms=LOOK_MS)
            seq = told["seq"]
            for each in told["approvals"]:
                line = each["command_line"] or ""
                word = "approve" if "granted" in line else "decline"
                if each["state"] == "pending" and ("granted" in line or "declined" in line):
                    try:
                        server.client.post(f"/approvals/{each['id']}/{word}", {})
                    except DuettyError:
                        continue  # it expired meanwhile

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(60)
