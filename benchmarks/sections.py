"""Parts of the report that are measured on their own, and stay when the rest is measured anew."""

from pathlib import Path

BEGIN = "<!-- section {name}: begin -->"
END = "<!-- section {name}: end -->"
NAMES = ("web", "jobs")


def kept(path: Path) -> str:
    """Every such part of the report as it is, with its marks; empty when there is none."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return "".join(_cut(text, name)[1] for name in NAMES)


def put(path: Path, name: str, content: str) -> None:
    """Set one part of the report and leave everything else."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    before, _, after = _cut(text, name)
    part = f"{BEGIN.format(name=name)}\n{content.rstrip()}\n{END.format(name=name)}\n"
    path.write_text(f"{before.rstrip()}\n\n{part}{after}", encoding="utf-8")


def _cut(text: str, name: str) -> tuple[str, str, str]:
    """What is before a part, the part with its marks, and what is after it."""
    begin, end = BEGIN.format(name=name), END.format(name=name)
    before, mark, rest = text.partition(begin)
    inside, closing, after = rest.partition(end)
    if not mark or not closing:
        return text, "", ""
    return before, f"{begin}{inside}{closing}\n", after.removeprefix("\n")
