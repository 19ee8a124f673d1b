import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_reference_pages_are_what_the_code_says(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, ROOT / "tools/generate_docs.py", tmp_path], check=True, cwd=ROOT
    )

    made = {page.name: page.read_text() for page in tmp_path.iterdir()}
    kept = {name: (ROOT / "docs" / name).read_text() for name in made}
    assert kept == made, "run `make docs`"


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        "AGENTS.md",
        *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")),
    ],
)
def test_every_page_that_is_linked_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    links = [part.partition(")")[0].partition("#")[0] for part in text.split("](")[1:]]

    local = [link for link in links if link and "://" not in link]

    missing = [link for link in local if not ((ROOT / page).parent / link).exists()]
    assert missing == []
