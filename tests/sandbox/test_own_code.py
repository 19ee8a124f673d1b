"""The code that makes sandboxes, in a workspace: read-only, or the next session would be bare."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from duetty.errors import BadArguments
from duetty.sandbox import Places, RequestedLevel, SandboxRequest, protected_paths, wrap
from duetty.sandbox.own_code import PACKAGE
from tests.sandbox.inside import ATTEMPT, LEVELS, lasting_home, needs_both, python_inside

ROOT = Path(__file__).parents[2]

pytestmark = needs_both


@pytest.fixture
def home() -> Iterator[Path]:
    with lasting_home() as path:
        yield path


@pytest.fixture
def project(home: Path) -> Path:
    """A workspace with Duetty in an environment of its own, as an editable install has it."""
    ws = home / "ws"
    ignored = shutil.ignore_patterns("__pycache__", "built")
    shutil.copytree(ROOT / "src/duetty", ws / "src/duetty", ignore=ignored)
    environment = [sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(ws / ".venv")]
    subprocess.run(environment, check=True)
    [packages] = (ws / ".venv/lib").glob("*/site-packages")
    of_others = sysconfig.get_path("purelib")
    (packages / "project.pth").write_text(f"{ws}/src\n{of_others}\n")
    return ws


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("protect", [True, False])
def test_the_code_of_the_server_cannot_be_written(
    project: Path, level: RequestedLevel, protect: bool
) -> None:
    [packages] = (project / ".venv/lib").glob("*/site-packages")
    paths = [
        "src/duetty/platform/sandbox_launch.py",
        "src/duetty/new.py",
        ".venv/bin/python3",
        ".venv/pyvenv.cfg",
        str(packages / "project.pth"),
        str(packages / "new.pth"),
        ".venv/lib/new",
        ".venv/new",
    ]
    code = f"""{ATTEMPT}
print([attempt(lambda: open(p, 'a')) for p in {paths!r}])
print([attempt(lambda: os.rename(p, 'mine')) for p in ('src', 'src/duetty', '.venv', '.venv/lib')])
print(attempt(lambda: open('tests/free', 'w')))"""
    (project / "tests").mkdir()
    server = f"""
from pathlib import Path
import duetty
from tests.sandbox.inside import python_inside
assert duetty.__file__.startswith({str(project)!r})
print(python_inside({level!r}, {code!r}, workspace=Path({str(project)!r}), protect={protect}))"""

    done = subprocess.run(
        [project / ".venv/bin/python", "-c", server],
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
    )

    written, renamed, free = done.stdout.splitlines() or [done.stderr, "", ""]
    assert written.startswith("['")
    assert "DONE" not in written + renamed
    assert free == "DONE"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("protect", [True, False])
def test_modules_and_programs_of_the_person_are_protected_in_their_home(
    home: Path, level: RequestedLevel, protect: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first module is there, too: the next server would load what comes."""
    packages = home / ".local/lib/python3.11/site-packages"
    monkeypatch.setattr(protected_paths, "user_site", lambda: None if protect else packages)
    (home / "bin").mkdir()
    made = [str(packages / "usercustomize.py"), str(home / "bin/ls"), str(home / "ws/free")]
    code = f"""{ATTEMPT}
def make(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, 'w').close()
print([attempt(lambda: make(p)) == 'DONE' for p in {made!r}])
print(attempt(lambda: os.rename({str(home / ".local")!r}, {str(home / "mine")!r})) == 'DONE')"""

    said = python_inside(level, code, workspace=home, home=home, protect=protect)

    assert said.splitlines()[0] == str([False, not protect, True])
    assert said.splitlines()[1] == "False"


def test_what_the_server_runs_is_no_workspace() -> None:
    for place in (PACKAGE, PACKAGE / "sandbox", sys.prefix, os.path.dirname(os.__file__)):
        with pytest.raises(BadArguments, match="code that this server runs"):
            wrap(
                ["/bin/true"],
                {},
                cwd="/",
                order=SandboxRequest(asked="any", workspaces=(str(place),)),
                places=Places(hidden=()),
            )
