"""One PTY with its process, terminal and log, from open to close; and all of them.

Knows nothing of callers, rules or edges: who may do something was decided before.
"""

from duetty.session.block import Block
from duetty.session.bounds import BoundReached, Bounds, Left
from duetty.session.capture import CapturedKey, owner_name
from duetty.session.elements import Elements
from duetty.session.idle import FirstIdle, wait_any_idle
from duetty.session.keeper_link import Keeping
from duetty.session.matcher import Found, Needle
from duetty.session.output import OutputText, output_lines, output_text
from duetty.session.recording_export import cast_lines
from duetty.session.registry import Registry
from duetty.session.render_jobs import MAX_CELLS, cells_of, drawn, screen_shape
from duetty.session.reset import reset
from duetty.session.rest import wait_rest
from duetty.session.restore import RecordedRun
from duetty.session.runs import Run, RunAnswer
from duetty.session.session import Session
from duetty.session.session_start import OpenRequest
from duetty.session.snapshots import Snapshot, can_go_on, take_snapshot
from duetty.session.typed_text import edited_text, ends_line, plain_text
from duetty.session.viewers import MAX_VIEWERS, Size, Viewer, ViewerKind
from duetty.session.waits import (
    keep_state,
    row_of,
    wait_block,
    wait_exit,
    wait_idle,
    wait_state,
    wait_text,
)
from duetty.vt import grid_dump, html_page, screen_json, scrollback_json, spans_of, svg_of

__all__ = [
    "MAX_CELLS",
    "MAX_VIEWERS",
    "Block",
    "BoundReached",
    "Bounds",
    "CapturedKey",
    "Elements",
    "FirstIdle",
    "Found",
    "Keeping",
    "Left",
    "Needle",
    "OpenRequest",
    "OutputText",
    "RecordedRun",
    "Registry",
    "Run",
    "RunAnswer",
    "Session",
    "Size",
    "Snapshot",
    "Viewer",
    "ViewerKind",
    "can_go_on",
    "cast_lines",
    "cells_of",
    "drawn",
    "edited_text",
    "ends_line",
    "grid_dump",
    "html_page",
    "keep_state",
    "output_lines",
    "output_text",
    "owner_name",
    "plain_text",
    "reset",
    "row_of",
    "screen_json",
    "screen_shape",
    "scrollback_json",
    "spans_of",
    "svg_of",
    "take_snapshot",
    "wait_any_idle",
    "wait_block",
    "wait_exit",
    "wait_idle",
    "wait_rest",
    "wait_state",
    "wait_text",
]
