"""One PTY with its process, terminal and log, from open to close; and all of them."""

from duetty.session.block import Block
from duetty.session.following import Follower, Snapshot, follow
from duetty.session.keeping import Keeping
from duetty.session.matching import Needle
from duetty.session.opening import OpenRequest
from duetty.session.output import OutputText, output_lines
from duetty.session.registry import Registry
from duetty.session.runs import Run, RunAnswer
from duetty.session.session import Session
from duetty.session.waits import wait_block, wait_exit, wait_idle, wait_state, wait_text
from duetty.vt import screen_json, scrollback_json

__all__ = [
    "Block",
    "Follower",
    "Keeping",
    "Needle",
    "OpenRequest",
    "OutputText",
    "Registry",
    "Run",
    "RunAnswer",
    "Session",
    "Snapshot",
    "follow",
    "output_lines",
    "screen_json",
    "scrollback_json",
    "wait_block",
    "wait_exit",
    "wait_idle",
    "wait_state",
    "wait_text",
]
