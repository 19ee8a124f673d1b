"""Package managers work inside a sandbox, and what they download stays out of the person's own caches."""

import os
import shutil
import subprocess
import tarfile
from collections.abc import Generator
from pathlib import Path

import pytest

from duetty.sandbox import RequestedLevel
from duetty.sandbox.caches import VARIABLES
from tests.sandbox.inside import LEVELS, PYTHON, lasting_home, needs_both, run_inside

pytestmark = needs_both

BACKEND = """\
import os, zipfile

NAME = "tiny-1.0-py3-none-any.whl"

def build_wheel(directory, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(os.path.join(directory, NAME), "w") as wheel:
        wheel.writestr("tiny.py", "print('tiny works')")
        wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
        wheel.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("tiny-1.0.dist-info/RECORD", "")
    return NAME
"""
"""Builds a wheel without any package of others, so that pip needs no network."""


@pytest.fixture
def place() -> Generator[Path]:
    with lasting_home() as home:
        (home / "state").mkdir()
        yield home


def inside(
    level: RequestedLevel, home: Path, line: str, **env: str
) -> "subprocess.CompletedProcess[str]":
    return run_inside(
        level,
        ["/bin/sh", "-ec", line],
        workspace=home / "ws",
        home=home,
        hidden=(home / "state",),
        caches=home / "state/caches",
        env=env,
        timeout_s=120,
    )


def files_of(home: Path) -> set[str]:
    """All that stands outside the workspace and its caches."""
    found = {str(each.relative_to(home)) for each in home.rglob("*")}
    return {each for each in found if not each.startswith(("ws", "state/caches"))}


def write_sdist(directory: Path) -> None:
    source = directory / "tiny-1.0"
    source.mkdir(parents=True)
    (source / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
    (source / "backend.py").write_text(BACKEND)
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    with tarfile.open(directory / "tiny-1.0.tar.gz", "w:gz") as archive:
        archive.add(source, arcname=source.name)
    shutil.rmtree(source)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.sampled(2)
def test_pip_keeps_what_it_built_for_the_next_sandbox_of_the_workspace(
    place: Path, level: RequestedLevel
) -> None:
    write_sdist(place / "ws/wheels")
    install = "{0}/bin/pip install --no-index --find-links wheels --disable-pip-version-check tiny"
    before = files_of(place)

    first = inside(
        level, place, f"{PYTHON} -m venv a && {install.format('a')} && a/bin/python -m tiny"
    )
    again = inside(
        level, place, f"{PYTHON} -m venv b && {install.format('b')} && b/bin/python -m tiny"
    )

    assert "tiny works" in first.stdout, first.stderr
    assert "Building wheel" in first.stdout
    assert "tiny works" in again.stdout, again.stderr
    assert "Building wheel" not in again.stdout
    assert "not writable" not in first.stderr
    assert list((place / "state/caches").glob("*/pip/wheels"))
    assert {each for each in files_of(place) - before if "pip" in each} == set()


@pytest.mark.skipif(
    shutil.which("npm", path="/usr/local/bin:/usr/bin:/bin") is None, reason="no npm"
)
@pytest.mark.parametrize("level", LEVELS)
def test_npm_installs_and_caches(place: Path, level: RequestedLevel) -> None:
    for name in ("dep", "app"):
        (place / "ws" / name).mkdir()
        (place / "ws" / name / "package.json").write_text(f'{{"name":"{name}","version":"1.0.0"}}')
    (place / ".npmrc").write_text("//registry.example/:_authToken=SECRET\n")

    done = inside(
        level, place, "npm pack ./dep && cd app && npm install --offline ../dep-1.0.0.tgz"
    )

    assert done.returncode == 0, done.stderr
    assert (place / "ws/app/node_modules/dep/package.json").exists()
    assert list((place / "state/caches").glob("*/npm/_cacache/content-v2"))
    assert not (place / ".npm").exists()


def sysroot() -> str | None:
    """Where the toolchain is; rustup finds none in an empty home."""
    if shutil.which("cargo") is None:
        return None
    found = subprocess.run(
        ["rustc", "--print", "sysroot"], capture_output=True, text=True, check=False
    )
    return found.stdout.strip() if found.returncode == 0 else None


@pytest.mark.parametrize("level", LEVELS)
def test_cargo_builds(place: Path, level: RequestedLevel) -> None:
    if (toolchain := sysroot()) is None:
        pytest.skip("no cargo that works in this home")
    (place / "ws/src").mkdir()
    (place / "ws/src/main.rs").write_text('fn main() { println!("built"); }')
    (place / "ws/Cargo.toml").write_text('[package]\nname = "tiny"\nversion = "1.0.0"\n')

    done = inside(
        level, place, "cargo run --offline", PATH=f"{toolchain}/bin:/usr/local/bin:/usr/bin:/bin"
    )

    assert done.stdout.strip() == "built", done.stderr
    assert list((place / "state/caches").glob("*/cargo/.*"))
    assert not (place / ".cargo").exists()


@pytest.mark.parametrize("level", LEVELS)
def test_every_cache_can_be_written_and_nothing_beside_it(
    place: Path, level: RequestedLevel
) -> None:
    (place / "state/token").write_text("SECRET")
    other = place / "state/caches/other"
    other.mkdir(parents=True)
    writes = "".join(f'mkdir -p "${name}" && touch "${name}/x"\n' for name in VARIABLES)

    done = inside(level, place, writes)
    wrong = inside(level, place, f"cat {place}/state/token; touch {other}/x; touch {place}/.cache")

    assert done.returncode == 0, done.stderr
    made = {each.parent.name for each in (place / "state/caches").rglob("x")}
    assert made == set(VARIABLES.values())
    assert wrong.returncode != 0
    assert "SECRET" not in wrong.stdout
    assert not (other / "x").exists()
    assert not (place / ".cache").exists()


@pytest.mark.parametrize("level", LEVELS)
def test_another_workspace_has_other_caches(place: Path, level: RequestedLevel) -> None:
    inside(level, place, 'mkdir -p "$PIP_CACHE_DIR" && touch "$PIP_CACHE_DIR/mine"')
    (place / "elsewhere").mkdir()

    seen = run_inside(
        level,
        ["/bin/sh", "-c", 'ls "$PIP_CACHE_DIR" "$(dirname "$PIP_CACHE_DIR")/.."'],
        workspace=place / "elsewhere",
        home=place,
        hidden=(place / "state",),
        caches=place / "state/caches",
    )

    assert "mine" not in seen.stdout
    assert len(os.listdir(place / "state/caches")) == 2


@pytest.mark.parametrize("level", LEVELS)
def test_a_cache_in_the_workspace_stays_where_it_is(place: Path, level: RequestedLevel) -> None:
    mine = str(place / "ws/.cargo-home")

    done = inside(level, place, 'echo "$CARGO_HOME"', CARGO_HOME=mine)

    assert done.stdout.strip() == mine


@pytest.mark.parametrize("level", LEVELS)
def test_without_a_workspace_caches_go_with_the_sandbox(place: Path, level: RequestedLevel) -> None:
    done = run_inside(
        level,
        ["/bin/sh", "-c", 'mkdir -p "$GOCACHE" && touch "$GOCACHE/x" && echo made'],
        workspace=None,
        private=place / "private",
        home=place,
        hidden=(place / "state",),
        caches=place / "state/caches",
    )

    assert done.stdout.strip() == "made", done.stderr
    assert not (place / "state/caches").exists()
