"""How long the sentences of a page are. Code, tables and headings have none; an item of a list is one.

Usage: sentences.py [FILE...]        (default: every page that is written by hand)
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
GENERATED = {
    "operations.md",
    "cli.md",
    "errors.md",
    "settings.md",
    "contract-cases.md",
    "block-states.md",
    "map.md",
}
LONGEST_AVERAGE = 25


def pages() -> list[Path]:
    docs = [path for path in (ROOT / "docs").glob("*.md") if path.name not in GENERATED]
    return sorted(
        [
            *docs,
            *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "AGENTS.md", "SECURITY.md")),
        ]
    )


def sentences(text: str) -> list[str]:
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"^[|#!<].*$", "\n", text, flags=re.M)
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    found: list[str] = []
    for paragraph in re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.) ", text, flags=re.M):
        found += re.split(r"(?<=[.!?:])[\s*)]+(?=[A-Z`*\"“(]|code)", " ".join(paragraph.split()))
    return [each for each in found if len(each.split()) > 2]


def average(text: str) -> float:
    lengths = [len(each.split()) for each in sentences(text)]
    return sum(lengths) / len(lengths) if lengths else 0.0


def main(files: list[str]) -> None:
    for path in [Path(name) for name in files] or pages():
        text = path.read_text(encoding="utf-8")
        found = sorted(sentences(text), key=lambda each: -len(each.split()))
        print(f"{average(text):5.1f} words a sentence, {len(found):4} sentences: {path.name}")
        for each in found[:3] if files else []:
            print(f"      {len(each.split())}: {each}")


if __name__ == "__main__":
    main(sys.argv[1:])
