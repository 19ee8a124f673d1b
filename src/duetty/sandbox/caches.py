"""Where package managers keep downloads inside a sandbox: a place of the workspace's own.

Their usual places are in the home, which no program inside writes: what a program put there would
be installed by the person later.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from duetty.errors import SandboxUnavailable
from duetty.sandbox.hidden_files import is_within

VARIABLES: Mapping[str, str] = {
    "PIP_CACHE_DIR": "pip",
    "UV_CACHE_DIR": "uv",
    "npm_config_cache": "npm",
    "YARN_CACHE_FOLDER": "yarn",
    "CARGO_HOME": "cargo",
    "GOCACHE": "go-build",
    "GOMODCACHE": "go-mod",
}
"""What tells each of them its place, and its directory in ours."""


def cache_directory(root: Path, workspaces: Sequence[Path]) -> Path:
    """Made if it is not there; the same for every sandbox of the same workspaces.

    Raises:
        SandboxUnavailable: if it cannot be made.
    """
    key = hashlib.sha256("\0".join(sorted(map(str, workspaces))).encode("utf-8", "surrogateescape"))
    try:
        directory = root.resolve() / key.hexdigest()[:16]
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SandboxUnavailable(
            f"no place for caches in {root}: {error.strerror}",
            hint="check that the directory is yours, can be written and has space left",
        ) from error
    return directory


def cache_variables(
    env: Mapping[str, str], directory: Path, workspaces: Sequence[Path]
) -> dict[str, str]:
    """Each variable that is to be set; one that names a place in a workspace stays as it is."""
    return {
        name: str(directory / part)
        for name, part in VARIABLES.items()
        if not is_within(env.get(name, ""), workspaces)
    }
