"""Which files a sandbox hides, and which sockets it covers."""

import os
import pwd
import stat
import struct
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from duetty.errors import SandboxUnavailable
from duetty.platform.bound_sockets import bound_sockets
from duetty.sandbox.stat_checks import real, stat_of

PRIVATE = ("/tmp", "/run", "/var/tmp")  # noqa: S108 - these are replaced, not used
"""Where other programs leave sockets and files: each sandbox has its own, empty."""

CREDENTIALS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh",
    ".config/op", ".password-store", ".netrc", ".git-credentials", ".pypirc", ".npmrc",
    ".config/rclone", ".vault-token", ".terraform.d/credentials.tfrc.json", ".mozilla",
    ".config/google-chrome", ".config/chromium", ".local/share/keyrings",
    ".config/git/credentials", ".config/hub", ".config/glab-cli", ".config/containers/auth.json",
    ".config/doctl", ".config/hcloud", ".config/stripe", ".config/sops", ".config/age", ".oci",
    ".boto", ".s3cfg", ".rclone.conf", ".fly", ".terraformrc", ".pgpass", ".my.cnf",
    ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml",
    ".m2/settings-security.xml", ".gradle/gradle.properties", ".composer/auth.json",
    ".config/composer/auth.json", ".config/pypoetry/auth.toml", ".subversion/auth",
    ".cache/huggingface/token", ".huggingface/token", ".kaggle", ".authinfo", ".authinfo.gpg",
    ".thunderbird", ".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi",
    ".config/keepassxc", ".local/share/kwalletd", ".gnome2/keyrings", ".putty", ".electrum",
    ".bitcoin", ".ethereum", ".config/solana",
)  # fmt: skip
"""In the home directory: hidden wherever they exist, and where they come to be."""

OF_ROOT = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/security/opasswd",
    "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private", "/etc/pki/tls/private",
    "/etc/letsencrypt", "/etc/wireguard", "/etc/krb5.keytab",
    "/etc/NetworkManager/system-connections", "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/var/lib/sss/secrets",
)  # fmt: skip
"""Secrets of the machine, which root owns: without any power it can read them all the same."""

SERVERS = (".local/state/duetty", ".config/duetty")
"""In the home directory: state and settings of servers without a place of their own.

Their sockets are in private places.
"""

SYSTEM = tuple(map(Path, ("/usr", "/bin", "/lib", "/etc", "/var", "/opt", "/nix")))
"""Without them nothing runs."""

DROPPED_ENVIRONMENT = frozenset(
    {"SSH_AUTH_SOCK", "SSH_AGENT_PID", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS",
     "DOCKER_HOST", "XDG_RUNTIME_DIR", "GPG_AGENT_INFO", "WAYLAND_DISPLAY", "DISPLAY", "XAUTHORITY",
     "PULSE_SERVER", "TMPDIR", "TMP", "TEMP"}
)  # fmt: skip
"""Names of sockets and places that are not there inside."""

_ACL_USER, _ACL_GROUP = 2, 8
MAX_SOCKETS = 1_000


def is_within(path: Path | str, places: Iterable[Path]) -> bool:
    """As text: both are whole and plain, and this is asked hundreds of times at each start."""
    text = f"{path}/"
    return any(text.startswith(f"{str(place).rstrip('/')}/") for place in places)


def homes_of(named: str) -> list[Path]:
    """The person's homes: from the settings, and from the machine's accounts, whatever HOME the server has."""
    every = (named, account_home(os.geteuid()))
    return list(dict.fromkeys(Path(home) for home in every if home))


@cache
def account_home(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:
        return ""


def private_places() -> tuple[Path, ...]:
    """Those that exist and are not another name of one of them."""
    return tuple(path for path in map(Path, PRIVATE) if path.is_dir() and not path.is_symlink())


def credentials(homes: Iterable[Path]) -> tuple[list[Path], list[str]]:
    """Where they really are, a link to a directory elsewhere is no hiding place; and where others would be.

    Raises:
        SandboxUnavailable: if it cannot be found out.
    """
    # By plain strings: most are not there, and each start waits for this.
    names = [f"{home}/{name}" for home in homes for name in CREDENTIALS]
    led_to = {
        above: str(Path(above).resolve()).rstrip("/") for above in {_above(name) for name in names}
    }
    found = {real(Path(name)) for name in names if stat_of(name) is not None}
    existing = {path for path in found if stat_of(path) is not None}
    later = {f"{led_to[_above(name)]}{name.removeprefix(_above(name))}" for name in names}
    return sorted(existing), sorted((later | {*map(str, found)}) - {*map(str, existing)})


def secrets_of_root() -> list[Path]:
    """What is hidden where root runs the server; to all other users it is closed anyway.

    Raises:
        SandboxUnavailable: if one cannot be located.
    """
    if os.geteuid() != 0:
        return []
    return [real(Path(name)) for name in OF_ROOT if stat_of(name) is not None]


def _above(name: str) -> str:
    return name.rpartition("/")[0]


def servers(homes: Iterable[Path]) -> list[Path]:
    """Where servers of this person keep their things, made if they are not there yet.

    What is not there cannot be covered, and another server may start while a sandbox runs.

    Raises:
        SandboxUnavailable: if that cannot be located.
    """
    found: list[Path] = []
    for home in homes:
        for name in SERVERS:
            with suppress(OSError):
                if home.is_dir():
                    (home / name).mkdir(mode=0o700, parents=True, exist_ok=True)
            found.append(real(home / name))
    return found


def listening_sockets(beside: Iterable[Path]) -> list[Path]:
    """Unix sockets of other programs that a path leads to, but for those in hidden places.

    Raises:
        SandboxUnavailable: if there are more than can be covered, or one cannot be located.
    """
    hidden = tuple(beside)
    found: dict[Path, None] = {}
    for bound in bound_sockets():
        path = _real(bound)
        if path in found or is_within(path, hidden) or not _is_reachable(path):
            continue
        found[path] = None
        if len(found) > MAX_SOCKETS:
            raise SandboxUnavailable(
                f"more than {MAX_SOCKETS} sockets of other programs could be reached from inside",
                hint="end what opened them, or use the sandbox landlock, which has none",
            )
    return list(found)


def _real(path: Path) -> Path:
    """By a name without links on the way: /var/run is /run."""
    try:
        return path.parent.resolve() / path.name
    except (OSError, RuntimeError):
        return path


def _is_reachable(path: Path) -> bool:
    """Whether it is a socket that can be reached without powers of root, which no program has inside."""
    found = stat_of(path)
    if found is None or not stat.S_ISSOCK(found.st_mode):
        return False
    # Who has no such powers just came there.
    return os.geteuid() != 0 or all(map(_root_may_enter, path.parents))


def _root_may_enter(directory: Path) -> bool:
    found = stat_of(directory, through_links=True)
    if found is None:
        return False
    if found.st_uid == 0:
        return bool(found.st_mode & stat.S_IXUSR)
    groups = {os.getegid(), *os.getgroups()}
    # Where there is an access control list, the bit of the group bounds what it gives.
    if found.st_mode & stat.S_IXGRP and _lets_pass(directory, groups):
        return True
    return bool(found.st_mode & (stat.S_IXGRP if found.st_gid in groups else stat.S_IXOTH))


def _lets_pass(directory: Path, groups: set[int]) -> bool:
    """Whether its access control list names root, or a group that root is in."""
    try:
        raw = os.getxattr(directory, "system.posix_acl_access")
    except OSError:
        return False
    ours = {(_ACL_USER, 0), *((_ACL_GROUP, group) for group in groups)}
    entries = struct.iter_unpack("<HHI", raw[4:])
    return any(mode & 1 and (kind, who) in ours for kind, mode, who in entries)
