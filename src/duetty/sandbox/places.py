"""Which files a sandbox shows, hides and protects."""

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

PRIVATE = ("/tmp", "/run", "/var/tmp")  # noqa: S108 - these are replaced, not used
"""Where other programs leave sockets and files: each sandbox has its own, empty."""

CREDENTIALS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh",
    ".config/op", ".password-store", ".netrc", ".git-credentials", ".pypirc", ".npmrc",
    ".config/rclone", ".vault-token", ".terraform.d/credentials.tfrc.json", ".mozilla",
    ".config/google-chrome", ".config/chromium", ".local/share/keyrings",
)  # fmt: skip
"""In the home directory: hidden wherever they exist."""

PROTECTED = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin", ".zlogout", ".inputrc", ".config/fish", ".envrc", ".direnvrc",
    ".gitconfig", ".gitmodules", ".config/git", ".ripgreprc", ".mcp.json", ".vscode", ".idea",
    ".claude", ".cursor", ".duetty", ".husky", ".vimrc", ".exrc", ".tmux.conf", ".npmrc",
    ".yarnrc", ".yarnrc.yml", ".local/bin", ".config/autostart", ".config/systemd",
)  # fmt: skip
"""In a workspace: what other programs run or obey later, outside of the sandbox. Read-only."""

DROPPED_ENVIRONMENT = frozenset(
    {"SSH_AUTH_SOCK", "SSH_AGENT_PID", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS",
     "DOCKER_HOST", "XDG_RUNTIME_DIR", "GPG_AGENT_INFO", "WAYLAND_DISPLAY", "DISPLAY", "XAUTHORITY",
     "PULSE_SERVER", "TMPDIR", "TMP", "TEMP"}
)  # fmt: skip
"""Names of sockets and places that are not there inside."""

MAX_REPOSITORIES = 32
MAX_LOOKED_AT = 5_000
REPOSITORY_DEPTH = 3
MAX_SOCKETS = 64


def is_within(path: Path, places: Iterable[Path]) -> bool:
    return any(path == place or place in path.parents for place in places)


def private_places() -> tuple[Path, ...]:
    """Those that exist and are not another name of one of them."""
    return tuple(path for path in map(Path, PRIVATE) if path.is_dir() and not path.is_symlink())


def credentials(env: Mapping[str, str]) -> list[Path]:
    home = Path(env.get("HOME") or "/nonexistent")
    return [path for path in (home / name for name in CREDENTIALS) if path.exists()]


def protected(workspace: Path) -> list[Path]:
    """What in a workspace stays read-only, as it is now."""
    found = [path for path in (workspace / name for name in PROTECTED) if path.exists()]
    for git in repositories(workspace):
        # What is not there cannot be protected; git itself makes this directory, empty.
        with suppress(OSError):
            (git / "hooks").mkdir(exist_ok=True)
        found += [path for path in (git / "hooks", git / "config", git / "info") if path.exists()]
    return [path for path in found if not path.is_symlink()]


def repositories(workspace: Path) -> list[Path]:
    """The `.git` directories near the top; a workspace may hold several repositories."""
    found: list[Path] = []
    looked_at = 0
    level = [workspace]
    for _ in range(REPOSITORY_DEPTH + 1):
        below: list[Path] = []
        for directory in level:
            try:
                with os.scandir(directory) as entries:
                    for entry in entries:
                        looked_at += 1
                        if looked_at > MAX_LOOKED_AT or len(found) >= MAX_REPOSITORIES:
                            return found
                        if not entry.is_dir(follow_symlinks=False):
                            continue
                        if entry.name == ".git":
                            found.append(Path(entry.path))
                        elif entry.name != "node_modules":
                            below.append(Path(entry.path))
            except OSError:
                continue
        level = below
    return found


def listening_sockets(beside: Iterable[Path]) -> list[Path]:
    """Unix sockets of other programs that a path leads to, but for those in hidden places."""
    hidden = tuple(beside)
    found: list[Path] = []
    try:
        text = Path("/proc/net/unix").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    for line in text.splitlines()[1:]:
        fields = line.split(maxsplit=7)
        if len(fields) < 8 or not fields[7].startswith("/"):
            continue
        path = Path(fields[7])
        if is_within(path, hidden) or path in found:
            continue
        try:
            if stat.S_ISSOCK(path.lstat().st_mode):
                found.append(path)
        except OSError:
            continue
        if len(found) >= MAX_SOCKETS:
            break
    return found
