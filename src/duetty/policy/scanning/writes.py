"""Which paths are more than ordinary files: devices, startup files, what the system needs."""

import re
from posixpath import normpath

from duetty.policy.proving.paths import is_secret
from duetty.policy.scanning.reading import UNKNOWN

ROOTS = re.compile(
    r"/?\*?|~[a-z]*/?\*?|/(?:bin|boot|dev|etc|home|lib|lib32|lib64|media|mnt|opt|proc|root|run|sbin|srv|sys|usr|var|Users|System|Library|Applications|Volumes)(?:/\*?)?"
    r"|/(?:home|Users)/[^/]+(?:/\*?)?|/(?:usr|var|etc|boot|lib|opt|srv|root)/[^/]+(?:/\*?)?|~/\.[a-z]+|[A-Za-z]:[\\/].*|\.git|~/[^/]+"
)
SYSTEM_PLACE = re.compile(
    r"/|/(?:bin|home|lib\w*|opt|proc|run|sbin|srv|sys|usr|var|Users|System|Library)|/(?:boot|dev|etc)(?:/.*)?"
)
"""Directories in which nobody works: a path that begins there is judged as if it said so."""

REBUILT = re.compile(
    r"(?:\./)?(?:[\w.-]+/)*(?:node_modules|dist|build|target|out|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.next|\.nuxt|\.cache|coverage|htmlcov|\.coverage|\.tox|\.nox|\.parcel-cache|\.turbo|\.gradle|[\w.-]+\.egg-info|\.eggs|\.venv|venv|tmp|\.tmp)/?"
)
"""Directories of a project that its own tools make again."""

_DEVICE = re.compile(
    r"/dev/(?!null$|zero$|full$|stdout$|stderr$|stdin$|tty\w*$|fd/|pts/|shm/|u?random$|tcp/|udp/|ptmx$).+|\\\\\.\\.*"
)
_STARTUP = re.compile(
    r"(?:~[a-z]*|/.*|\$HOME)?(?:^|/)(?:"
    r"\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|kshrc|cshrc|tcshrc|login|inputrc|gitconfig|pam_environment|xinitrc|xprofile|xsession|xsessionrc|forward|rhosts|shosts|mkshrc|envrc)"
    r"|\.ssh/.*|\.config/(?:fish|autostart|systemd|git|environment\.d)/.*|\.local/share/systemd/.*|\.git/(?:hooks/.*|config|info/attributes)|\.husky/.*|Library/Launch(?:Agents|Daemons)/.*|fish/config\.fish|\.local/bin/.*|authorized_keys)"
    r"|/etc/(?:cron.*|anacrontab|profile|profile\.d/.*|ld\.so\..*|rc\.local|rc\d?\.d/.*|init\.d/.*|init/.*|systemd/.*|sudoers.*|pam\.d/.*|ssh/.*|environment|bash\.bashrc|bashrc|zsh/.*|xdg/autostart/.*|udev/.*|update-motd\.d/.*|gitconfig|inittab|at\.allow|hosts\.equiv)"
    r"|/var/spool/(?:cron|at).*|/(?:usr/)?lib/systemd/.*|/usr/local/bin/(?:git|ls|sudo|ssh|python3?|node|bash|sh)"
)
_SYSTEM = re.compile(
    r"/(?:etc|boot|usr|bin|sbin|lib|lib32|lib64|sys|proc|root|opt|efi|System|Library|Windows)(?:/.*)?|/var/(?:lib|log|www|db|backups|spool|cache)(?:/.*)?|/|[A-Za-z]:\\Windows.*"
)
HISTORIES = re.compile(
    r".*(?:^|/)\.?[a-z_]*_history|.*/fish_history|/var/log/(?:wtmp|btmp|lastlog|auth\.log|secure|audit).*|/var/run/utmp"
)
DUMPS = re.compile(r"\.(?:sql|dump)$", re.IGNORECASE)
"""Important as well, but made by writing them."""

IMPORTANT = re.compile(
    r"\.(?:db3?|sqlite3?|mdb|accdb|sql|dump|kdbx|pem|key|p12|pfx|jks|tfstate|qcow2|vmdk|vdi|rdb|aof|ibd|frm|myd|ldf|mdf)$|(?:^|/)\.env(?:\.[a-z]+)?$|(?:^|/)id_(?:rsa|ed25519|ecdsa)$",
    re.IGNORECASE,
)
REMOTE = re.compile(r"[^/\s]+:|s3://|gs://|rsync://")


def is_history(path: str) -> bool:
    """Whether it tells what was done on this machine."""
    return ("_history" in path or path.startswith("/var/")) and (
        HISTORIES.fullmatch(path) is not None
    )


def written_class(path: str) -> str | None:
    """The class of writing to this path; None for an ordinary file."""
    if path.isalnum():
        return None
    if path.startswith("/"):
        path = re.sub(r"/+", "/", path) if "//" in path else path
        path = path if UNKNOWN in path else normpath(path)
    if path == "/proc/sysrq-trigger":
        return "shutdown"
    if _DEVICE.fullmatch(path):
        return "device_write"
    if is_history(path):
        return "tracks"
    if _STARTUP.fullmatch(path):
        return "persistence"
    if path.startswith("/proc/sys/"):
        return "defences_down"
    if _SYSTEM.fullmatch(path):
        return "system_file"
    return None


def is_delicate(path: str) -> bool:
    return (
        path.startswith("~")
        or (path.startswith("/") and not re.match(r"/(?:tmp|var/tmp|dev/shm)/[^*]+$", path))
        or ".." in path.split("/")
        or IMPORTANT.search(path) is not None
        or is_secret(path)
        or path.split("/")[0] in (".git", ".gitignore", ".gitmodules")
    )
