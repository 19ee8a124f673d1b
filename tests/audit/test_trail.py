"""The trail: nothing acknowledged is lost, nothing changed goes unnoticed, nothing grows forever."""

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from duetty.audit import Filters, Limits, Problem, Trail, export, records, recovery, verify
from duetty.audit import trail as trail_module
from duetty.clock import SystemClock
from duetty.errors import AuditUnavailable
from duetty.store import Store, TrailAnchor
from tests.audit.remembering import RememberingStore

CLOCK = SystemClock()


def written(directory: Path, count: int = 5, limits: Limits | None = None) -> Path:
    with Trail(directory, clock=CLOCK, limits=limits) as trail:
        for number in range(count):
            trail.record("call", operation="command.run", arguments={"input": f"echo {number}"})
    return directory


def only_file(directory: Path) -> Path:
    [path] = directory.glob("trail-*.jsonl")
    return path


def change(path: Path, edit: Callable[[list[bytes]], object]) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    edit(lines)
    path.write_bytes(b"".join(lines))


def test_a_trail_that_nobody_touched_is_intact(tmp_path: Path) -> None:
    checked = verify(written(tmp_path / "t"))

    assert checked.intact
    assert (checked.first_seq, checked.last_seq, checked.records) == (1, 7, 7)  # opened … closed


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    directory = written(tmp_path / "t")

    assert directory.stat().st_mode & 0o777 == 0o700
    assert only_file(directory).stat().st_mode & 0o777 == 0o600


def test_a_changed_record_is_found_and_named(tmp_path: Path) -> None:
    directory = written(tmp_path / "t")

    def tamper(lines: list[bytes]) -> None:
        lines[3] = lines[3].replace(b"echo 2", b"echo 9")

    change(only_file(directory), tamper)

    [problem] = verify(directory).problems
    assert (problem.line, problem.seq) == (4, 4)
    assert "changed" in problem.what


def test_a_record_changed_with_a_new_hash_does_not_fit_the_next_one(tmp_path: Path) -> None:
    from duetty.audit.record import line_of, parse_line

    directory = written(tmp_path / "t")

    def forge(lines: list[bytes]) -> None:
        old = parse_line(lines[3])
        assert old is not None
        lines[3] = line_of(4, old.prev, old.at_ns, "call", {"operation": "session.list"})[0]

    change(only_file(directory), forge)

    [problem] = verify(directory).problems
    assert (problem.line, problem.seq) == (5, 5)


def remove(lines: list[bytes]) -> None:
    del lines[3]


def repeat(lines: list[bytes]) -> None:
    lines.insert(3, lines[3])


def swap(lines: list[bytes]) -> None:
    lines[2:4] = [lines[3], lines[2]]


@pytest.mark.parametrize(("edit", "seq"), [(remove, 5), (repeat, 4), (swap, 4)])
def test_a_record_that_was_moved_is_found(
    tmp_path: Path, edit: Callable[[list[bytes]], object], seq: int
) -> None:
    directory = written(tmp_path / "t")

    change(only_file(directory), edit)

    assert verify(directory).problems[0].seq == seq


def test_an_end_that_was_cut_off_is_found_by_what_the_store_remembers(tmp_path: Path) -> None:
    memory = RememberingStore()
    with Trail(tmp_path / "t", clock=CLOCK, store=memory) as trail:
        trail.record("call")
        trail.record("call")
    assert verify(tmp_path / "t", memory.trail_anchor).intact

    change(only_file(tmp_path / "t"), lambda lines: lines.__delitem__(slice(-2, None)))

    assert verify(tmp_path / "t", memory.trail_anchor).problems == (
        Problem(
            file="trail-000001.jsonl",
            line=3,
            seq=3,
            what="the end is missing: the store remembers records 3 to 4",
        ),
    )


def test_a_trail_rewritten_from_the_start_is_not_what_the_store_remembers(tmp_path: Path) -> None:
    memory = RememberingStore()
    with Trail(tmp_path / "t", clock=CLOCK, store=memory) as trail:
        trail.record("call", operation="command.run")
    only_file(tmp_path / "t").unlink()
    with Trail(tmp_path / "t", clock=CLOCK) as trail:
        trail.record("call", operation="session.list")

    [problem] = verify(tmp_path / "t", memory.trail_anchor).problems

    assert (problem.line, problem.seq) == (3, 3)
    assert "store remembers" in problem.what


def test_the_store_keeps_the_anchor(tmp_path: Path) -> None:
    with Store.open(tmp_path / "db") as store:
        with Trail(tmp_path / "t", clock=CLOCK, store=store) as trail:
            trail.record("call")
            head = trail.head
        store.flush()
        anchor = store.trail_anchor()

        assert anchor is not None
        assert (anchor.first_seq, anchor.head_seq) == (1, head[0] + 1)  # and the closing record
        assert verify(tmp_path / "t", store.trail_anchor).intact


def test_the_store_knows_of_a_trail_before_there_is_one(tmp_path: Path) -> None:
    seen: list[bool] = []

    class Looking(RememberingStore):
        def anchor_trail_durably(self, anchor: TrailAnchor) -> bool:
            seen.append(any((tmp_path / "t").iterdir()))
            return super().anchor_trail_durably(anchor)

    with Trail(tmp_path / "t", clock=CLOCK, store=Looking()):
        pass

    assert seen == [False]


def test_an_old_file_goes_only_when_the_store_knows(tmp_path: Path) -> None:
    unlinked: list[tuple[int, int]] = []

    class Looking(RememberingStore):
        def anchor_trail_durably(self, anchor: TrailAnchor) -> bool:
            super().anchor_trail_durably(anchor)
            present = verify(tmp_path / "t").first_seq or 1
            unlinked.append((present, anchor.first_seq))
            return True

    memory = Looking()
    limits = Limits(file_bytes=1_000, files=3)
    with Trail(tmp_path / "t", clock=CLOCK, limits=limits, store=memory, sync_s=0.01) as trail:
        for _ in range(60):
            trail.record("call", operation="command.run")

    assert len(unlinked) > 1
    assert all(present <= known for present, known in unlinked)
    assert verify(tmp_path / "t", memory.trail_anchor).intact
    assert len(list((tmp_path / "t").iterdir())) == 3


def test_files_that_the_store_cannot_be_told_of_are_at_most_twice_as_many(tmp_path: Path) -> None:
    class Refusing(RememberingStore):
        def anchor_trail_durably(self, anchor: TrailAnchor) -> bool:
            return False

    limits = Limits(file_bytes=1_000, files=3)
    with Trail(tmp_path / "t", clock=CLOCK, limits=limits, store=Refusing(), sync_s=60) as trail:
        for _ in range(60):
            trail.record("call", operation="command.run")

    assert len(list((tmp_path / "t").iterdir())) <= 6


def test_a_record_after_the_end_goes_to_the_newest_file(tmp_path: Path) -> None:
    memory = RememberingStore()
    trail = Trail(tmp_path / "t", clock=CLOCK, limits=Limits(files=2), store=memory)
    trail.close()

    for _ in range(3):
        trail.record("outcome", outcome="cancelled")

    only_file(tmp_path / "t")
    assert verify(tmp_path / "t", memory.trail_anchor).intact
    assert memory.anchor is not None
    assert memory.anchor.head_seq == 5


def test_the_chain_goes_on_over_files_and_over_servers(tmp_path: Path) -> None:
    limits = Limits(file_bytes=1_000, files=100)
    written(tmp_path / "t", 10, limits)
    written(tmp_path / "t", 10, limits)

    checked = verify(tmp_path / "t")

    assert checked.files > 3
    assert checked.intact
    assert checked.last_seq == checked.records == 24


def test_old_files_go_and_what_is_left_is_intact(tmp_path: Path) -> None:
    directory = written(tmp_path / "t", 100, Limits(file_bytes=1_000, files=3))

    checked = verify(directory)

    assert checked.files == 3
    assert checked.intact
    assert checked.first_seq is not None
    assert checked.first_seq > 50
    assert sum(path.stat().st_size for path in directory.iterdir()) <= 3_000


def test_a_file_missing_in_the_middle_is_named(tmp_path: Path) -> None:
    directory = written(tmp_path / "t", 30, Limits(file_bytes=1_000, files=100))
    (directory / "trail-000003.jsonl").unlink()

    problem = verify(directory).problems[0]

    assert (problem.file, "3, is gone" in problem.what) == ("trail-000004.jsonl", True)


def test_half_a_line_at_the_end_is_cut_off_and_that_is_recorded(tmp_path: Path) -> None:
    directory = written(tmp_path / "t")
    with only_file(directory).open("ab") as file:
        file.write(b'{"seq":8,"prev":"')

    written(directory, 1)

    assert verify(directory).intact
    [repaired] = [
        each
        for each in records(directory, Filters(kind="trail"), limit=10)
        if each.fields["event"] == "repaired"
    ]
    assert repaired.fields["cut_bytes"] == 17


def test_a_tampered_last_record_stays_named_after_the_trail_goes_on(tmp_path: Path) -> None:
    directory = written(tmp_path / "t")

    def tamper(lines: list[bytes]) -> None:
        lines[-1] = lines[-1].replace(b"closed", b"opened")

    change(only_file(directory), tamper)
    written(directory, 2)

    assert [problem.seq for problem in verify(directory).problems] == [7]


@pytest.mark.parametrize("files", [3, 1_000])
@pytest.mark.parametrize("attempt", range(3))
def test_a_kill_in_the_middle_of_writing_loses_nothing_that_was_acknowledged(
    tmp_path: Path, attempt: int, files: int
) -> None:
    program = str(Path(__file__).with_name("writing.py"))
    process = subprocess.Popen(
        [sys.executable, program, str(tmp_path / "t"), str(files)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    last = b"0"
    for _ in range(300 + attempt * 137):
        last = process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().split(b"\n")
    process.wait()
    process.stdout.close()
    acknowledged = int(next((each for each in reversed(rest[:-1]) if each), last))

    with Store.open(tmp_path / "db") as store:
        before = verify(tmp_path / "t", store.trail_anchor)
        limits = Limits(files=files)
        with Trail(tmp_path / "t", clock=CLOCK, limits=limits, store=store) as trail:
            assert trail.degraded is None
        store.flush()
        checked = verify(tmp_path / "t", store.trail_anchor)

    assert (before.problems, checked.problems) == ((), ())
    kept = {each.seq for each in records(tmp_path / "t", Filters(kind="call"), limit=100_000)}
    oldest = 2 if files == 1_000 else min(kept)
    assert set(range(oldest, acknowledged + 1)) <= kept
    assert max(kept) <= acknowledged + 1


def test_records_are_found_by_what_they_say(tmp_path: Path) -> None:
    with Trail(tmp_path / "t", clock=CLOCK) as trail:
        trail.record(
            "call",
            call="a",
            operation="command.run",
            session="s",
            actor={"kind": "agent", "name": "bot"},
            decision={"decision": "ask"},
            arguments={"input": "git PUSH"},
        )
        trail.record("outcome", call="a", outcome="done")
        trail.record("call", call="b", operation="session.open", outcome="scope_missing")

    def calls(**filters: object) -> list[object]:
        found = records(tmp_path / "t", Filters(**filters), limit=10)  # type: ignore[arg-type]
        return [(each.kind, each.fields.get("call")) for each in found]

    assert calls(call="a") == [("outcome", "a"), ("call", "a")]
    assert calls(actor="agent:bot") == calls(actor="bot") == [("call", "a")]
    assert calls(decision="ask") == calls(text="push") == calls(session="s") == [("call", "a")]
    assert calls(outcome="scope_missing") == calls(operation="session.open") == [("call", "b")]
    assert calls(until_ns=1) == calls(since_ns=2**63) == []
    assert len(calls(before=2)) == 1


def test_refused_is_what_did_not_run_whoever_said_no(tmp_path: Path) -> None:
    asked = {"decision": "ask", "can_ask": False}
    with Trail(tmp_path / "t", clock=CLOCK) as trail:
        for call, decision, outcome in (
            ("denied", {"decision": "deny"}, "policy_denied"),
            ("nobody", asked, "policy_denied"),
            ("covered", asked, "done"),
            ("rejected", {"decision": "ask"}, "approval_rejected"),
            ("expired", {"decision": "ask"}, "approval_expired"),
            ("unanswered", {"decision": "ask"}, "approval_unanswered"),
            ("granted", {"decision": "ask"}, "done"),
            ("allowed", {"decision": "allow"}, "done"),
            ("failed", {"decision": "allow"}, "session_exited"),
        ):
            trail.record("call", call=call, decision=decision, operation="command.run")
            trail.record("approval", call=call, event="settled")
            trail.record("outcome", call=call, outcome=outcome)
        trail.record("call", call="gate", operation="session.open", outcome="scope_missing")

    def calls(**filters: object) -> list[object]:
        wanted = Filters(decision="refused", **filters)  # type: ignore[arg-type]
        found = records(tmp_path / "t", wanted, limit=10)
        assert {each.kind for each in found} == {"call"}
        return [each.fields.get("call") for each in found]

    assert calls() == ["gate", "unanswered", "expired", "rejected", "nobody", "denied"]
    assert calls(operation="session.open") == ["gate"]
    # Its outcome stands behind where the page begins.
    assert calls(before=6) == ["nobody", "denied"]


def test_an_export_is_every_line_as_it_stands(tmp_path: Path) -> None:
    directory = written(tmp_path / "t", 10, Limits(file_bytes=1_000, files=100))

    lines = b"".join(export(directory)).splitlines()

    assert [json.loads(line)["seq"] for line in lines] == list(range(1, 13))


def test_control_characters_never_make_a_second_line_or_reach_a_terminal(tmp_path: Path) -> None:
    hostile = "a\nb\x1b]0;x\x07\x7f\x9b\u2028\u202e\udc80"
    with Trail(tmp_path / "t", clock=CLOCK) as trail:
        trail.record("call", arguments={"input": hostile})

    raw = only_file(tmp_path / "t").read_bytes()
    assert raw.count(b"\n") == 3
    assert all(0x20 <= byte < 0x7F or byte == 0x0A for byte in raw)
    [call] = records(tmp_path / "t", Filters(kind="call"), limit=1)
    assert call.fields["arguments"]["input"] == hostile


def test_records_wait_for_a_full_disk_and_are_written_when_it_takes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, full = os.write, True

    def refusing(fd: int, data: bytes) -> int:
        if full:
            write(fd, data[:20])  # half a line gets through, as it does
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data)

    with Trail(tmp_path / "t", clock=CLOCK, sync_s=60) as trail:
        monkeypatch.setattr(trail_module.os, "write", refusing)
        trail.record("call", call="held")
        assert trail.degraded is not None
        full = False
        trail.record("call", call="after")
        assert trail.degraded is None

    assert verify(tmp_path / "t").intact
    found = records(tmp_path / "t", Filters(kind="call"), limit=9)
    assert [each.fields["call"] for each in found] == ["after", "held"]


def test_nothing_more_may_run_when_too_many_records_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(fd: int, data: bytes) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with Trail(tmp_path / "t", clock=CLOCK, sync_s=60) as trail:
        monkeypatch.setattr(trail_module.os, "write", refusing)
        for _ in range(trail_module.HELD_RECORDS):
            trail.check()
            trail.record("call")

        with pytest.raises(AuditUnavailable):
            trail.check()
        monkeypatch.undo()


def test_a_record_that_would_be_too_large_stays_and_says_so(tmp_path: Path) -> None:
    with Trail(tmp_path / "t", clock=CLOCK) as trail:
        trail.record("call", call="a", arguments={"input": "x" * 1_000_000})

    assert verify(tmp_path / "t").intact
    [call] = records(tmp_path / "t", Filters(kind="call"), limit=1)
    assert (call.fields["call"], call.fields["left_out"]) == ("a", ["arguments"])


def test_a_server_killed_between_a_new_file_and_its_first_record_is_no_tampering(
    tmp_path: Path,
) -> None:
    store = RememberingStore()
    with Trail(tmp_path / "t", clock=CLOCK, store=store, sync_s=3_600) as trail:
        trail.sync()
        remembered = store.anchor
        trail.record("call", operation="command.run")  # of which the store does not hear
    (tmp_path / "t/trail-000002.jsonl").touch()

    with Trail(tmp_path / "t", clock=CLOCK, store=RememberingStore(remembered)) as trail:
        assert trail.degraded is None


# --- calls that a killed server left without an outcome ----------------------------


def killed_with(tmp_path: Path, *lines: dict[str, object]) -> Path:
    """The trail of a server that was killed after these records."""
    with Trail(tmp_path / "t", clock=CLOCK) as trail:
        for line in lines:
            trail.record(**line)  # type: ignore[arg-type]  # a kind and fields
        return Path(shutil.copytree(tmp_path / "t", tmp_path / "killed"))


def outcomes(directory: Path) -> list[tuple[object, object]]:
    found = records(directory, Filters(kind="outcome"), limit=100)
    return sorted((each.fields["call"], each.fields["outcome"]) for each in found)


def call(name: str, **more: object) -> dict[str, object]:
    actor = {"kind": "agent", "name": "a"}
    return {"kind": "call", "call": name, "actor": actor, "operation": "command.run", **more}


def test_a_call_that_a_killed_server_left_is_told_to_have_been_interrupted(tmp_path: Path) -> None:
    done: dict[str, object] = {"kind": "outcome", "call": "a", "outcome": "done"}
    directory = killed_with(
        tmp_path, call("a"), call("b", session="s"), done, call("c", outcome="bad_arguments")
    )

    for _ in range(2):  # told once
        with Trail(directory, clock=CLOCK):
            assert outcomes(directory) == [("a", "done"), ("b", "interrupted")]

    [told] = records(directory, Filters(outcome="interrupted"), limit=10)
    assert (told.fields["operation"], told.fields["session"]) == ("command.run", "s")
    assert told.fields["actor"] == {"kind": "agent", "name": "a"}
    assert verify(directory).intact


def test_a_server_that_closed_its_trail_left_none(tmp_path: Path) -> None:
    with Trail(tmp_path / "t", clock=CLOCK) as trail:
        trail.record(**call("a"))  # type: ignore[arg-type]  # a kind and fields
    with Trail(tmp_path / "t", clock=CLOCK):
        assert outcomes(tmp_path / "t") == []


def test_who_is_killed_while_it_tells_leaves_the_rest_to_the_next(tmp_path: Path) -> None:
    directory = killed_with(tmp_path, call("a"), call("b"))
    with Trail(directory, clock=CLOCK):
        half = Path(shutil.copytree(directory, tmp_path / "half"))
    path = only_file(half)
    change(path, lambda lines: lines.__delitem__(slice(-2, None)))  # `opened`, and what b became

    with Trail(half, clock=CLOCK):
        assert outcomes(half) == [("a", "interrupted"), ("b", "interrupted")]
    assert verify(half).intact


def test_of_a_trail_that_was_cut_nobody_knows_what_ended(tmp_path: Path) -> None:
    store = RememberingStore()
    with Trail(tmp_path / "t", clock=CLOCK, store=store) as trail:
        trail.record(**call("a"))  # type: ignore[arg-type]  # a kind and fields
        trail.record("outcome", call="a", outcome="done")
    change(only_file(tmp_path / "t"), lambda lines: lines.__delitem__(slice(-2, None)))

    with Trail(tmp_path / "t", clock=CLOCK, store=store):
        assert outcomes(tmp_path / "t") == []


def test_only_so_far_is_looked_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "LOOK_BACK", 2)
    directory = killed_with(tmp_path, call("a"), call("b"), call("c"))

    with Trail(directory, clock=CLOCK):
        assert outcomes(directory) == [("b", "interrupted"), ("c", "interrupted")]


# --- an acknowledgement means recorded ------------------------------------------

AGENT = {"kind": "agent", "name": "x"}
PERSON = {"kind": "person", "name": "local"}


@contextlib.contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    def refusing(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(trail_module.os, "write", refusing)
        yield


def test_an_agents_call_that_cannot_be_recorded_is_refused_and_takes_no_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Trail(tmp_path / "t", clock=CLOCK, sync_s=60) as trail:
        before = trail.head
        with full_disk(monkeypatch):
            with pytest.raises(AuditUnavailable):
                trail.record("call", call="a", actor=AGENT)
            assert trail.head == before
            assert trail.degraded is not None
        trail.record("call", call="b", actor=AGENT)
        assert trail.degraded is None

    assert verify(tmp_path / "t").intact
    found = records(tmp_path / "t", Filters(kind="call"), limit=9)
    assert [each.fields["call"] for each in found] == ["b"]


def test_an_agents_call_behind_held_records_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Trail(tmp_path / "t", clock=CLOCK, sync_s=60) as trail:
        with full_disk(monkeypatch):
            trail.record("call", call="person's", actor=PERSON)
            trail.record("call", call="refused", actor=AGENT, outcome="scope_missing")
            with pytest.raises(AuditUnavailable):
                trail.record("call", call="agent's", actor=AGENT)
        trail.record("call", call="after", actor=AGENT)

    found = records(tmp_path / "t", Filters(kind="call"), limit=9)
    assert [each.fields["call"] for each in found] == ["after", "refused", "person's"]


def test_a_setting_lets_agents_calls_be_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        Trail(tmp_path / "t", clock=CLOCK, sync_s=60, required=False) as trail,
        full_disk(monkeypatch),
    ):
        trail.record("call", call="a", actor=AGENT)

    assert verify(tmp_path / "t").intact


@pytest.mark.parametrize("with_store", [True, False])
def test_records_that_a_killed_server_held_are_told_as_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_store: bool
) -> None:
    store = RememberingStore() if with_store else None
    killed = Trail(tmp_path / "t", clock=CLOCK, sync_s=60, store=store)
    killed.sync()
    last, _ = killed.head
    with full_disk(monkeypatch):
        killed.record("call", call="a", actor=PERSON)
        killed.record("outcome", call="a", actor=PERSON)
        # As SIGKILL leaves it: nothing more is written by this one.
        (tmp_path / "copy").mkdir()
        for each in (tmp_path / "t").iterdir():
            (tmp_path / "copy" / each.name).write_bytes(each.read_bytes())
        (tmp_path / "copy.held").write_bytes((tmp_path / "t.held").read_bytes())
    known = RememberingStore(store.anchor) if store is not None else None
    killed.close()

    with Trail(tmp_path / "copy", clock=CLOCK, store=known) as after:
        told = after.degraded
    found = verify(tmp_path / "copy")
    with Trail(tmp_path / "copy", clock=CLOCK) as later:
        assert later.degraded is None, "told once"

    assert told is not None
    assert f"{last + 1} to {last + 2}" in told
    assert not found.intact
