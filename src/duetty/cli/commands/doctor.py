"""`duetty doctor`."""

import argparse
from shutil import get_terminal_size
from textwrap import wrap

from duetty.cli.checks import Finding, findings
from duetty.cli.reach import add_instance, paths_of
from duetty.cli.show import add_json, as_json, wants_colour

EXAMPLES = (
    ("duetty doctor", "everything, with what to do about it"),
    ("duetty doctor --json", "for scripts; exit code 1 if something is broken"),
)
_SIGNS = {"ok": ("✓", "32"), "warning": ("!", "33"), "broken": ("✗", "31")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser, hub=False)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    found = list(findings(paths_of(arguments)))
    if arguments.json:
        as_json([each._asdict() for each in found])
    else:
        width = max(len(each.what) for each in found)
        for each in found:
            _show(each, width)
    broken = sum(each.verdict == "broken" for each in found)
    if not arguments.json:
        warnings = sum(each.verdict == "warning" for each in found)
        print(f"\n{len(found)} checks, {warnings} warnings, {broken} broken.")
    return 1 if broken else 0


def _show(finding: Finding, width: int) -> None:
    sign, colour = _SIGNS[finding.verdict]
    if wants_colour():
        sign = f"\033[{colour}m{sign}\033[m"
    lines = _lines(finding.summary, width) or [""]
    print(f"{sign} {finding.what:<{width}}  {lines[0]}")
    for line in lines[1:]:
        print(f"  {'':<{width}}  {line}")
    for at, line in enumerate(_lines(finding.mend or "", width + 2)):
        print(f"  {'':<{width}}  {'  ' if at else '→ '}{line}")


def _lines(text: str, width: int) -> list[str]:
    """Behind a column of this width; in a pipe a text is one line, for `grep`."""
    room = get_terminal_size((0, 0)).columns - width - 4
    if room < 20:
        return [text] if text else []
    return wrap(text, room, break_long_words=False, break_on_hyphens=False)
