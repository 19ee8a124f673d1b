"""A conversation in this terminal: what the agent says and does, as it happens; questions on the way."""

import argparse
import json
import os
import sys
import time
from shutil import get_terminal_size
from textwrap import fill
from typing import IO, Any
from urllib.parse import quote

from duetty.cli.show import GO_ON, harmless, json_text, visible, wants_colour
from duetty.cli.word_wrap import WordWrap
from duetty.client import Client, RemoteError
from duetty.config import STARTED_BY
from duetty.errors import ServerUnreachable

WAIT_MS = 30_000
RETURN_S = 60.0
"""How long a server that is gone may take to come back; what the agent did is kept meanwhile."""

STOPPED = 130
"""Exit code of one that was stopped, by Ctrl-C here or from elsewhere."""

LOOK_S = 0.2
RESULT_LINES = 6
"""Of a tool's result, in a terminal; the log has all of it."""


class AgentStream:
    """Follows one conversation until it has answered, failed, or the person goes."""

    def __init__(
        self, client: Client, id_: str, arguments: argparse.Namespace, *, after: int
    ) -> None:
        self._client = client
        self._id = id_
        self._after = after
        self._is_json: bool = arguments.json
        self._quiet: bool = getattr(arguments, "quiet", False)
        self._colour = wants_colour()
        self._shown_chars = 0
        """Characters shown of the answer that is being written."""

        self._state_key: str | None = None
        self._asked: str | None = None
        self._is_begun = False
        self._follows = False
        self._wrap: WordWrap | None = None
        self._end_line()

    def run(self) -> int:
        self._follows = True
        try:
            while True:
                message = self._receive()
                self._show(message)
                info = message["info"]
                if info["state"] in ("idle", "failed"):
                    return self._end(info)
                if (approval := info["approval"]) is not None and approval["id"] != self._asked:
                    self._asked = approval["id"]
                    self._ask(approval)
        except KeyboardInterrupt:
            self._is_begun = self._is_begun or sys.stdout.isatty()  # by the ^C
            self._client.post(self._path("/stop"), {})
            self._note(
                "stopped; what runs in its session goes on. "
                f"Go on with: duetty agent resume {self._id}"
            )
            return STOPPED

    def show(self, shown: dict[str, Any]) -> int:
        """Every message and call so far."""
        for entry in shown["entries"]:
            if entry["kind"] == "message":
                self._line(f"> {harmless(entry['body']['text'])}", "1")
            else:
                self._show_entry(entry["kind"], entry["body"])
        info = shown["info"]
        self._line(f"  {info['state']} · {_usage(info)} · {info['id']}", "2")
        return 0

    def _path(self, rest: str) -> str:
        return f"/agent/conversations/{quote(self._id)}{rest}"

    def _receive(self) -> dict[str, Any]:
        query: dict[str, object] = {
            "after": self._after,
            "text_after": self._shown_chars,
            "wait_ms": WAIT_MS,
            "known_state": self._state_key or "none",
            "attends": "true" if sys.stderr.isatty() else "false",
        }
        try:
            return self._client.get(self._path("/events"), wait_s=WAIT_MS / 1000 + 30, **query)
        except ServerUnreachable:
            self._come_back()
            return self._receive()

    def _come_back(self) -> None:
        """The server ended: wait for the next one, and have the agent go on there."""
        self._note("the server is gone; waiting for it to come back")
        deadline_s = time.monotonic() + RETURN_S
        while not self._client.is_up():
            if time.monotonic() > deadline_s:
                raise ServerUnreachable(
                    "the server did not come back",
                    hint=f"start it, then: duetty agent resume {self._id}",
                )
            time.sleep(LOOK_S)
        self._shown_chars = 0
        try:
            self._client.post(self._path("/resume"), {})
        except RemoteError as error:
            if error.code != "conversation_running":
                raise
        self._note("the server is back; the agent goes on")

    # --- showing ------------------------------------------------------------------

    def _show(self, message: dict[str, Any]) -> None:
        self._state_key = message["info"]["state_key"]
        is_over = message["partial_chars"] < self._shown_chars
        for entry in message["entries"]:
            self._after = entry["seq"]
            if self._is_json:
                print(json_text({"conversation": self._id, **entry}), flush=True)
            else:
                self._show_entry(entry["kind"], entry["body"])
            if entry["kind"] in ("answer", "fault"):
                self._shown_chars, is_over = 0, True
        if is_over:
            self._shown_chars = 0  # the next answer is read from its beginning
        elif partial := message["partial"]:
            self._shown_chars = message["partial_chars"]
            if self._is_json:
                print(
                    json_text({"conversation": self._id, "kind": "text", "text": partial}),
                    flush=True,
                )
            else:
                self._say(partial)

    def _show_entry(self, kind: str, body: dict[str, Any]) -> None:
        match kind:
            case "answer":
                self._say(body["text"][self._shown_chars :])
                self._end_line()
            case "fault":
                self._say(body["text"][self._shown_chars :])
                self._end_line()
                again = body["again_in_s"]
                if again is None and self._follows:
                    return  # the end names it
                more = f"; asking again in {again:g} s" if again is not None else ""
                self._note(f"{body['message']} [{body['code']}]{more}")
            case "call":
                self._line(f"● {body['tool']} {_arguments(body['arguments'])}", "36")
            case "result":
                self._show_result(body)
            case "told":
                self._line(f"  {visible(body['text'])}", "33")
            case "summary":
                self._line(
                    "  earlier parts were summed up; `duetty agent log` has all of them", "2"
                )
            case "limit":
                self._line(f"  limit of {body['what']}: {visible(body['reason'])}", "33")
            case _:
                pass

    def _show_result(self, body: dict[str, Any]) -> None:
        diff = body["details"].get("diff")
        lines = harmless(diff or body["text"]).rstrip("\n").split("\n")
        shown = lines if diff else lines[:RESULT_LINES]
        for line in shown:
            colour = "2" if body["ok"] else "31"
            if diff:
                colour = {"+": "32", "-": "31"}.get(line[:1], "2")
            is_output = diff or "block" in body["details"]
            self._line(f"  {line}" if is_output else _rows(f"  {line}", sys.stdout), colour)
        if len(lines) > len(shown):
            self._line(f"  … {len(lines) - len(shown)} more lines", "2")

    def _say(self, text: str) -> None:
        if text:
            shown = harmless(text)
            sys.stdout.write(self._wrap.pass_on(shown) if self._wrap else shown)
            sys.stdout.flush()
            self._is_begun = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._is_begun:
            sys.stdout.write("\n")
            self._is_begun = False
        self._wrap = WordWrap(get_terminal_size().columns) if sys.stdout.isatty() else None

    def _line(self, text: str, colour: str) -> None:
        if self._quiet:
            return
        self._end_line()
        print(f"\033[{colour}m{text}\033[m" if self._colour else text, flush=True)

    def _note(self, text: str) -> None:
        self._end_line() if not self._is_json else None
        print(_rows(f"duetty: {visible(text)}", sys.stderr), file=sys.stderr, flush=True)

    def _end(self, info: dict[str, Any]) -> int:
        if self._is_json:
            end = {name: value for name, value in info.items() if name != "state_key"}
            print(json_text({"kind": "end", **end}), flush=True)
        else:
            self._end_line()
            self._line(f"  {_usage(info)} · {info['id']}", "2")
        if info["state"] == "failed":
            self._note(f"{info['reason']} [{info['code']}]")
            self._note(f"go on with: duetty agent resume {info['id']}")
            return 1
        if (reason := info["reason"] or "").startswith("stopped by"):
            self._note(f"{reason}; go on with: duetty agent resume {info['id']}")
            return STOPPED
        if reason:
            self._note(reason)
        return 0

    # --- asking --------------------------------------------------------------------

    def _ask(self, approval: dict[str, Any]) -> None:
        if approval["operation"] == GO_ON:
            self._note(approval["reason"])
        else:
            line = approval["shown"] or approval["operation"]
            self._note(f"the agent asks for approval: {line}")
            self._note(f"  {approval['reason']}")
        if STARTED_BY in os.environ:
            self._note(
                "in a session an answer could be the agent's own: answer on the page, or with the"
                " keys that your attached terminal shows"
            )
            return
        terminal = _terminal() if sys.stderr.isatty() and not self._is_json else None
        if terminal is None:
            self._note(f"answer with: duetty approve {approval['id'][:6]}, or decline")
            return
        choices = {each["covers"]: each for each in approval["choices"]}
        wider = next((each for each in ("conversation", "session") if each in choices), None)
        also = "/a" if wider else ""
        with terminal:
            word = "Go on?" if approval["operation"] == GO_ON else "Approve?"
            all_of_it = f"{word} [y/N{also}]" + (f" (a: {choices[wider]['says']})" if wider else "")
            sys.stderr.write(_rows(all_of_it, sys.stderr) + " ")
            sys.stderr.flush()
            answer = terminal.readline().strip().lower()
        path = f"/approvals/{quote(approval['id'])}"
        try:
            if answer in ("y", "yes"):
                self._client.post(f"{path}/approve", {"via": "cli"})
            elif answer in ("a", "always") and wider:
                self._client.post(f"{path}/approve", {"via": "cli", "covers": wider})
            else:
                self._client.post(f"{path}/decline", {"via": "cli"})
        except RemoteError as error:
            self._note(f"{error.message} [{error.code}]")  # another answer came first


def _rows(text: str, where: IO[str]) -> str:
    """In rows of a terminal that end between words; as it is where there is none."""
    if not where.isatty():
        return text
    cols = max(get_terminal_size().columns, 20)
    return fill(text, cols, subsequent_indent="  ", break_on_hyphens=False)


def _terminal() -> IO[str] | None:
    """The person's terminal, also where standard input is a pipe."""
    try:
        return open("/dev/tty", encoding="utf-8", errors="replace")
    except OSError:
        return None


def _arguments(arguments: dict[str, Any] | None) -> str:
    if not arguments:
        return ""
    if len(arguments) == 1 or "input" in arguments:
        return visible(str(arguments.get("input", next(iter(arguments.values())))))[:200]
    return visible(json.dumps(arguments, ensure_ascii=False))[:200]


def _usage(info: dict[str, Any]) -> str:
    cost = "" if info["cost_usd"] is None else f" · ${info['cost_usd']:.4f}"
    return f"{info['tokens_in']} tokens in, {info['tokens_out']} out{cost}"
