"""The table of destructive classes in docs/policy.md, made from the catalogue."""

import re
from pathlib import Path

from duetty.policy import CATALOGUE

MARKS = re.compile(r"(<!-- classes -->\n).*?(\n<!-- /classes -->)", re.DOTALL)


def class_table() -> str:
    rows = ["| class | why it is asked about | instead |", "|---|---|---|"]
    rows += [
        f"| `{each.name}`{' †' if each.grave else ''} | {each.reason} | {each.instead} |"
        for each in CATALOGUE
    ]
    return "\n".join(rows)


def with_table(text: str) -> str:
    return MARKS.sub(lambda found: found[1] + class_table() + found[2], text)


def write(page: Path) -> None:
    page.write_text(with_table(page.read_text(encoding="utf-8")), encoding="utf-8")
