"""`duetty audit`."""

import argparse
import sys
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, get_args

from duetty.calls import RecordKind
from duetty.cli.commands.token import seconds
from duetty.cli.reach import add_instance, add_server, paths_of, reach
from duetty.cli.show import add_json, as_json, as_table
from duetty.client import Client
from duetty.config import Paths
from duetty.errors import BadArguments, StoreUnavailable

EXAMPLES = (
    ("duetty audit", "the last 50 records"),
    ("duetty audit --decision refused --since 1d", "what was refused today, by rules or people"),
    ("duetty audit --actor bot --session build", "what one agent did in one session"),
    ("duetty audit --call 5e1f…", "one call from question to outcome"),
    ("duetty audit verify", "whether anything was changed"),
    ("duetty audit export > audit.jsonl", "everything, as it stands"),
)

EXIT_BROKEN = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("act", nargs="?", choices=("list", "verify", "export"), default="list")
    parser.add_argument("--kind", choices=get_args(RecordKind))
    parser.add_argument("--actor", help="name, or kind:name")
    parser.add_argument("--operation", help="for example command.run")
    parser.add_argument("-s", "--session")
    parser.add_argument("--call", help="all records of one call")
    parser.add_argument(
        "--decision",
        choices=("allow", "ask", "deny", "refused"),
        help="as policy made it; refused: did not run, by a rule, a person's no or for want of an answer",
    )
    parser.add_argument("--outcome", help="done, interrupted, or an error's code")
    parser.add_argument("--text", help="anywhere in the record")
    parser.add_argument("--since", metavar="TIME", help="30min, 8h, 7d … ago, at most")
    parser.add_argument("-n", "--limit", type=int, default=50, help="how many (default 50)")
    add_json(parser, note="; newest first")


def run(arguments: argparse.Namespace) -> int:
    names = ("kind", "actor", "operation", "session", "call", "decision", "outcome", "text")
    filters = {name: getattr(arguments, name) for name in names}
    if arguments.act != "list" and (
        given := [name for name in (*names, "since") if getattr(arguments, name)]
    ):
        raise BadArguments(
            f"{arguments.act} is about the whole trail, and takes no --{given[0]}",
            hint="`duetty audit --json` with it lists some of the records",
        )
    if arguments.act == "verify":
        return _verify(arguments)
    if arguments.act == "export":
        return _export(arguments)
    found = reach(arguments).get(
        "/audit",
        limit=arguments.limit,
        since_s=None if arguments.since is None else seconds(arguments.since),
        **filters,
    )
    if arguments.json:
        as_json(found)
    elif not found:
        print("Nothing of that kind is recorded.")
    else:
        as_table(
            (
                "WHEN",
                "SEQ",
                "KIND",
                "CALL",
                "WHO",
                "WHAT",
                "SESSION",
                "DECISION",
                "OUTCOME",
                "TEXT",
            ),
            [_row(each) for each in reversed(found)],
        )
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    client = _running(arguments)
    if client is not None:
        found: dict[str, Any] = client.get("/audit/verify", wait_s=300)
    else:
        found = _verified_alone(paths_of(arguments))
    if arguments.json:
        as_json(found)
    else:
        print(
            f"{found['records']} records in {found['files']} files,"
            f" {found['first_seq']} to {found['last_seq']}: "
            + ("intact." if found["intact"] else "NOT intact.")
        )
        for each in found["problems"]:
            seq = "-" if each["seq"] is None else each["seq"]
            print(f"  {each['file']} line {each['line']}, record {seq}: {each['what']}")
        if found["intact"] and not found["anchored"]:
            print("  (the store remembers no end yet: a cut off end would not show)")
    return 0 if found["intact"] else EXIT_BROKEN


def _verified_alone(paths: Paths) -> dict[str, Any]:
    """The same answer, from the files and the database as they lie there."""
    from duetty.audit import verify
    from duetty.store import Store

    with ExitStack() as stack:
        try:
            remembered = stack.enter_context(Store.open_readonly(paths.database)).trail_anchor
        except StoreUnavailable as error:
            print(f"The ends cannot be compared: {error.message}", file=sys.stderr)
            remembered = _nothing
        found = verify(paths.audit, remembered)
    if found.half_line_bytes:
        sentence = f"{found.half_line_bytes} bytes of half a line stand at the end"
        print(f"{sentence}: a crash leaves that, and the next start cuts it off.", file=sys.stderr)
    answer = {**asdict(found), "intact": found.intact}
    del answer["half_line_bytes"]
    return answer


def _nothing() -> None:
    return None


def _export(arguments: argparse.Namespace) -> int:
    client = _running(arguments)
    if client is not None:
        with client.lines("/audit/export", wait_s=300) as lines:
            for line in lines:
                sys.stdout.buffer.write(line)
    else:
        from duetty.audit import export

        for piece in export(paths_of(arguments).audit):
            sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
    return 0


def _running(arguments: argparse.Namespace) -> Client | None:
    """The server; None, with a note to the person, if none runs here."""
    if arguments.hub or arguments.server:
        return reach(arguments)
    paths = paths_of(arguments)
    client = Client(paths.server_socket)
    if paths.server_socket.exists() and client.is_up():
        return client
    sentence = f"no server runs for instance {paths.instance!r}"
    print(f"({sentence}: read from {paths.audit})", file=sys.stderr)
    return None


def _row(record: dict[str, Any]) -> tuple[str, ...]:
    actor: dict[str, Any] = record.get("actor") or {}
    decision: dict[str, Any] = record.get("decision") or {}
    judged: dict[str, Any] = record.get("judged") or {}
    at = datetime.fromtimestamp(record["at_ns"] / 1e9, UTC)
    return (
        at.isoformat(" ", "seconds")[:19],
        str(record["seq"]),
        record["kind"],
        str(record.get("call") or "-"),
        actor.get("name") or str(record.get("by") or "-"),
        str(record.get("operation") or record.get("event") or "-"),
        str(record.get("session") or "-"),
        decision.get("decision", "-"),
        str(record.get("outcome") or record.get("event") or "-"),
        _text(record, judged),
    )


def _text(record: dict[str, Any], judged: dict[str, Any]) -> str:
    """The line that it is about; one that a person put in its place is what ran."""
    if edited := record.get("edited"):
        return f"changed to: {edited}"
    if tool := judged.get("tool"):
        return f"mcp__{tool[0]}__{tool[1]}"
    line = judged.get("command_line") or record.get("command_line")
    return str(line or record.get("rule") or record.get("note") or "")
