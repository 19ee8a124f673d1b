"""What can be known of one command line, whatever the rules say. Pure, so it is remembered."""

from functools import lru_cache
from typing import NamedTuple

from duetty.policy.proving.recogniser import Line, Unproven, recognise
from duetty.policy.proving.specs import Proof, Refuted, prove
from duetty.policy.scanning.findings import Scan
from duetty.policy.scanning.scan import FISH, scan_line, scan_text
from duetty.policy.values import new

REMEMBERED = 4_096
REMEMBERED_BYTES = 1_024
"""Longer lines are rare and are looked at anew: what is remembered stays below some ten MiB."""

_NOTHING = Scan()
_FAILED = Scan(unreadable=("the scan failed",))
_OTHERWISE = "fish reads it otherwise than the rest"


class Analysis(NamedTuple):
    recognised: Line | Unproven
    proof: Proof | Refuted | None
    """None when the line is outside the recogniser's language."""
    scan: Scan
    """Empty for a proven line: its commands are in the proof."""

    @property
    def proven(self) -> Proof | None:
        return self.proof if isinstance(self.proof, Proof) else None

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """Every command the line may run, as far as can be seen."""
        if isinstance(self.proof, Proof):
            return tuple(command.words for command in self.proof.line.commands)
        return self.scan.commands

    @property
    def doubt(self) -> str | None:
        return self.scan.unreadable[0] if self.scan.unreadable else None


def analyse(
    text: str, cwd: str = "", shell: str = "", workspace: str = "", home: str = ""
) -> Analysis:
    """`shell`: who reads it. Only fish reads otherwise than the rest."""
    if shell and shell != FISH:
        shell = ""
    if len(text) > REMEMBERED_BYTES or len(cwd) > REMEMBERED_BYTES:
        return analyse_anew(text, cwd, shell, workspace, home)
    return _remembered(text, cwd, shell, workspace, home)


def analyse_whole(
    text: str, cwd: str = "", shell: str = "", workspace: str = "", home: str = ""
) -> Analysis:
    """The same: every class that can be found is looked for."""
    return analyse(text, cwd, shell, workspace, home)


def analyse_anew(
    text: str, cwd: str = "", shell: str = "", workspace: str = "", home: str = ""
) -> Analysis:
    recognised = recognise(text)
    if shell == FISH and isinstance(recognised, Line) and FISH not in recognised.shells:
        recognised = Unproven(text, (_OTHERWISE, 0))
    proof = None if isinstance(recognised, Unproven) else prove(recognised, cwd)
    if type(proof) is Proof:
        return new(Analysis, (recognised, proof, _NOTHING))
    try:
        if isinstance(recognised, Unproven):
            scan = scan_text(text, cwd, workspace=workspace, shell=shell, home=home)
        else:
            scan = scan_line(recognised, cwd, workspace=workspace, shell=shell, home=home)
    except Exception:  # noqa: BLE001 - a scan that fails has read nothing, and the analysis shows that
        scan = _FAILED
    return new(Analysis, (recognised, proof, scan))


_remembered = lru_cache(maxsize=REMEMBERED)(analyse_anew)


def forget() -> None:
    """Empty the memory: for measuring."""
    _remembered.cache_clear()
