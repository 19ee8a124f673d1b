"""Records with everything said, for tests that care about one field."""

from duetty.ids import Offset, SessionId, block_id
from duetty.store import BlockRecord, SessionRecord

SESSION = SessionId("5e551011")


def a_session(session: SessionId = SESSION, *, name: str = "build") -> SessionRecord:
    return SessionRecord(
        id=session,
        name=name,
        command=("/bin/bash", "-l"),
        shell="bash",
        integration="marks",
        nonce="0123456789abcdef",
        tags=("ci", "nightly"),
        cols=120,
        rows=40,
        cwd="/home/ada",
        created_at_ns=1_000,
        pid=4711,
        tty="/dev/pts/7",
    )


def a_block(
    number: int,
    command_line: str | None = "make test",
    *,
    session: SessionId = SESSION,
    session_name: str = "build",
    cwd: str | None = "/home/ada/project",
    exit_code: int | None = 0,
    state: str = "done",
) -> BlockRecord:
    return BlockRecord(
        id=block_id(session, number),
        session_id=session,
        session_name=session_name,
        number=number,
        command_line=command_line,
        cwd=cwd,
        exit_code=exit_code,
        started_at_ns=number * 1_000,
        finished_at_ns=number * 1_000 + 500,
        duration_ms=0,
        start_offset=Offset(number * 10),
        end_offset=Offset(number * 10 + 9),
        actor_kind="agent",
        actor_name="claude",
        state=state,
    )
