"""`make install` keeps what it installed: a second environment takes it, and takes nothing else."""

import hashlib
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools/kept_packages.py"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package with a module and a script."""
    path = tmp_path_factory.mktemp("wheel") / "sample_kept-1.0-py3-none-any.whl"
    info = "sample_kept-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("sample_kept.py", "import sys\n\ndef main():\n    print(sys.prefix)\n")
        file.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: sample_kept\nVersion: 1.0\n"
        )
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(
            f"{info}/entry_points.txt", "[console_scripts]\nsample-kept = sample_kept:main\n"
        )
        file.writestr(f"{info}/RECORD", f"sample_kept.py,,\n{info}/METADATA,,\n{info}/RECORD,,\n")
    return path


class Environment:
    """A virtual environment, with the tool run in it."""

    def __init__(self, root: Path, kept: str) -> None:
        venv.create(root, with_pip=False)
        self.root = root
        self._env = {**os.environ, "DUETTY_KEPT": kept}

    def run(self, *arguments: str | Path) -> str:
        return subprocess.run(
            [str(argument) for argument in arguments],
            env=self._env,
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout

    def tool(self, task: str, lock: Path) -> str:
        return self.run(self.root / "bin/python", TOOL, task, lock)

    def install(self, wheel: Path) -> None:
        self.run(
            *(sys.executable, "-m", "pip", "--python", self.root / "bin/python"),
            *("install", "--quiet", "--no-index", wheel),
        )

    @property
    def script(self) -> Path:
        return self.root / "bin/sample-kept"


@pytest.fixture
def lock(tmp_path: Path, wheel: Path) -> Path:
    path = tmp_path / "sample.lock"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    path.write_text(
        f"other==2.0 \\\n    --hash=sha256:00\nSample.Kept==1.0 \\\n    --hash=sha256:{digest}\n"
    )
    return path


def test_a_second_environment_takes_what_the_first_kept(tmp_path: Path, wheel: Path, lock: Path):
    kept = str(tmp_path / "kept")
    first = Environment(tmp_path / "first", kept)
    assert first.tool("take", lock) == ""
    first.install(wheel)
    first.tool("keep", lock)

    second = Environment(tmp_path / "second", kept)
    assert second.tool("take", lock).startswith("1 of 2 packages")
    # Its own interpreter, not that of the environment it was kept from.
    assert second.run(second.script).strip() == str(second.root)
    assert "already satisfied" in second.run(
        *(sys.executable, "-m", "pip", "--python", second.root / "bin/python"),
        *("install", "--no-index", "sample-kept==1.0"),
    )


def test_another_hash_is_another_package(tmp_path: Path, wheel: Path, lock: Path):
    first = Environment(tmp_path / "first", str(tmp_path / "kept"))
    first.install(wheel)
    first.tool("keep", lock)
    lock.write_text("sample-kept==1.0 \\\n    --hash=sha256:11\n")

    second = Environment(tmp_path / "second", str(tmp_path / "kept"))
    second.tool("take", lock)
    assert not second.script.exists()


def test_turned_off_nothing_is_kept(tmp_path: Path, wheel: Path, lock: Path):
    first = Environment(tmp_path / "first", "")
    first.install(wheel)
    first.tool("keep", lock)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "sample.lock"]


def test_a_directory_that_cannot_be_used_is_said_and_does_not_fail(
    tmp_path: Path, wheel: Path, lock: Path
):
    (tmp_path / "kept").write_text("a file")
    first = Environment(tmp_path / "first", str(tmp_path / "kept"))
    first.install(wheel)
    first.tool("keep", lock)
    assert first.tool("take", lock) == ""


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_every_package_of_a_lock_is_known_those_with_extras_too(name: str):
    lock = (TOOL.parents[1] / name).read_text()
    code = "import runpy, sys; print(*runpy.run_path(sys.argv[1])['pins'](sys.stdin.read()))"
    known = subprocess.run(
        [sys.executable, "-c", code, str(TOOL)],
        input=lock,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()

    entries = [line for line in lock.splitlines() if line[:1].isalnum()]
    assert len(known) == len({line.partition("==")[0].partition("[")[0] for line in entries})
    assert "pyjwt" in known
