"""docs/testing.md knows every marker and folder of the tests."""

import re
import tomllib
from pathlib import Path

from tests import spreading

ROOT = Path(__file__).parents[2]
TESTING = (ROOT / "docs/testing.md").read_text(encoding="utf-8")


def test_every_marker_is_explained() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    markers = {
        re.split(r"[:(]", each)[0] for each in settings["tool"]["pytest"]["ini_options"]["markers"]
    }

    assert markers == set(re.findall(r"^\| `(\w+)(?:\(n\))?` \|", TESTING, re.M))


def test_every_folder_of_tests_is_named_as_its_package_or_is_explained() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if any(path.glob("**/test_*.py"))}
    packages = {path.name for path in (ROOT / "src/duetty").iterdir() if path.is_dir()}
    explained = set(re.findall(r"^\| `tests/(\w+)` \|", TESTING, re.M))

    assert folders - packages <= explained
    assert all((ROOT / "tests" / name).is_dir() for name in explained)


def test_a_slow_test_says_why() -> None:
    unexplained = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in (ROOT / "tests").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.fullmatch(r"@pytest\.mark\.slow", line.strip())
    ]

    assert unexplained == []


def test_every_long_file_exists() -> None:
    assert [each for each in spreading.LONG if not (ROOT / each).exists()] == []
