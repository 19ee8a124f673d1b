"""Where a path is, by its text alone: whose is it to change?

A place is inside the workspace, in a temporary directory of one's own, the workspace itself
or around it, its `.git`, anywhere else, or not known. Links are not followed.
"""

import re
from functools import lru_cache
from posixpath import normpath
from typing import Literal, NamedTuple

from duetty.policy.late_pattern import late_pattern
from duetty.policy.scanning.findings import UNKNOWN

Where = Literal["inside", "temporary", "around", "git", "outside", "unknown"]

_NOWHERE = "/\0/workspace"
"""The workspace of a call that named none: relative paths are inside it, absolute ones never."""

_HOME = late_pattern(r"/(?:home|Users)/[^/]+|/root")
_TEMPORARY = late_pattern(
    r"/(?:tmp|var/tmp|dev/shm|private/tmp|var/folders)/[^/*?\[]+(?:/.*)?"
    r"|/var/lib/apt/lists(?:/.*)?|/var/cache/(?:apt|yum|dnf|apk)(?:/.*)?"
)
"""Of one's own, and what package managers fetch again."""

_NO_WORKSPACE = late_pattern(
    r"/|/(?:bin|boot|dev|etc|home|lib\w*|opt|proc|root|run|sbin|srv|sys|tmp|usr|var|Users|System|Library)|/(?:etc|boot|dev|proc|sys|usr/s?bin)(?:/.*)?|/(?:home|Users)/[^/]+"
)
"""Directories that hold no project: a call that begins there has no workspace."""

TEMPORARY = "/tmp"  # noqa: S108 - a name to compare, no file is made there

OWN: tuple[Where, ...] = ("inside", "temporary")
"""Places that are the caller's to change."""

_DRIVE = late_pattern(r"[A-Za-z]:[\\/]")
_SLASHES = late_pattern("/+")
_GLOB = late_pattern(r"[*?\[]")
_EVERYTHING = late_pattern(r"[*?.\[\]!^]*")

ROOTS = late_pattern(
    r"/?\*?|~[a-z]*/?\*?|/(?:bin|boot|dev|etc|home|lib|lib32|lib64|media|mnt|opt|proc|root|run|sbin|srv|sys|usr|var|Users|System|Library|Applications|Volumes)(?:/\*?)?"
    r"|/(?:home|Users)/[^/]+(?:/\*?)?|/(?:usr|var|etc|boot|lib)/[^/]+(?:/\*?)?|~/\.[a-z]+|[A-Za-z]:[\\/].*"
)

_DEVICE = late_pattern(
    r"/dev/(?!null$|zero$|full$|stdout$|stderr$|stdin$|tty\w*$|fd/|pts/|shm/|u?random$|tcp/|udp/|ptmx$).+|\\\\\.\\.*"
)
_STARTUP = late_pattern(
    r"(?:~[a-z]*|/.*|\$HOME)?(?:^|/)(?:"
    r"\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|kshrc|cshrc|tcshrc|login|inputrc|gitconfig|pam_environment|xinitrc|xprofile|xsession|xsessionrc|forward|rhosts|shosts|mkshrc|envrc)"
    r"|\.ssh/.*|\.config/(?:fish|autostart|systemd|git|environment\.d)/.*|\.local/share/systemd/.*|\.git/(?:hooks(?:/.*)?|config|info/attributes)|\.husky/.*|Library/Launch(?:Agents|Daemons)/.*|fish/config\.fish|authorized_keys)"
    r"|/etc/(?:cron.*|anacrontab|profile|profile\.d/.*|ld\.so\..*|rc\.local|rc\d?\.d/.*|init\.d/.*|init/.*|systemd/.*|sudoers.*|pam\.d/.*|ssh/.*|environment|bash\.bashrc|bashrc|zsh/.*|xdg/autostart/.*|udev/.*|update-motd\.d/.*|gitconfig|inittab|at\.allow|hosts\.equiv)"
    r"|/var/spool/(?:cron|at).*|/(?:usr/)?lib/systemd/.*|(?:/usr/local/s?bin|.*/\.local/bin|.*/bin)/(?:git|ls|cat|cp|mv|rm|ps|sudo|su|ssh|scp|bash|sh|zsh|apt|apt-get|docker|kubectl|curl|wget)"
)
"""What runs later, or instead of something else."""

_GIT_RUNS = late_pattern(
    r"(?:.*/)?\.git/(?:hooks(?:/.*)?|config|info/attributes)|(?:.*/)?\.husky/.*"
)

_SYSTEM = late_pattern(
    r"/|/(?:etc|boot|bin|sbin|lib|lib32|lib64|usr|var|root|opt|home|efi|sys|proc|srv|run|dev)"
    r"|/(?:boot|bin|sbin|lib|lib32|lib64|efi|sys|proc)/.*|/usr/(?:bin|sbin|lib|lib32|lib64|libexec|local|share|local/(?:s?bin|lib|etc))|/usr/(?:s?bin|libexec)/.*"
    r"|/usr/lib(?:32|64)?/(?!python|node_modules|jvm|ruby|go|R/)(?!.*/(?:site|dist)-packages/).*"
    r"|/etc/(?:passwd|shadow|gshadow|group|subuid|subgid|hosts|hostname|fstab|crypttab|mtab|exports|resolv\.conf|nsswitch\.conf|host\.conf|login\.defs|shells|securetty|motd|issue|machine-id|localtime|timezone"
    r"|os-release|selinux|apparmor|audit|default|grub|security|skel|ssl|pki|ca-certificates|apt|yum|yum\.repos\.d|dnf|zypp|pacman\.conf|pacman\.d|apk|network|netplan|NetworkManager|iptables|nftables|ufw|firewalld|dbus-1|polkit-1"
    r"|modprobe\.d|modules|sysctl|dracut|initramfs-tools|kernel|alternatives|docker|containerd|kubernetes|rsyslog|logrotate|sssd|krb5|ldap|openldap|nologin|hosts\.(?:allow|deny)|services|protocols|doas\.conf|postgresql|mysql)(?:[.\-/d].*)?"
    r"|/var/(?:lib|log|spool|cache|backups|db|www|mail|run)|/var/(?:backups|db|mail)/.*|/var/lib/(?:dpkg|rpm|apt|pacman|postgresql|mysql|mariadb|mongodb|redis|docker|containerd|kubelet|etcd|systemd|pgsql)(?:/.*)?"
    r"|/(?:System|Library|Windows)(?:/.*)?|[A-Za-z]:\\Windows.*|/root/\.(?:config|local|gnupg|aws|kube|docker)/?|/dev/shm"
)
"""What the system or other users depend on; not an application's own settings."""

_HISTORIES = late_pattern(
    r".*(?:^|/)\.?[a-z_]*_history|.*/fish_history|/var/log/(?:wtmp|btmp|lastlog|auth\.log|secure|audit|syslog|messages|journal).*|/var/run/utmp"
)
IMPORTANT = late_pattern(
    r"\.(?:sql|dump|db3?|sqlite3?|mdb|accdb|kdbx|tfstate|qcow2|vmdk|vdi|rdb|aof|ibd|frm|myd|ldf|mdf)$|(?:^|/)id_(?:rsa|ed25519|ecdsa)$",
    re.IGNORECASE,
)
"""Files whose content is hard to make again."""

REMOTE = late_pattern(r"[^/\s]+:|s3://|gs://|rsync://")


class Place(NamedTuple):
    """Where a command runs, as far as its line tells."""

    cwd: str | None
    """None: somewhere that only a run would tell."""
    workspace: str
    home: str = ""
    """What `~` means, where it is not where homes are."""
    is_elsewhere: bool = False
    """On another machine, under another root: nothing there is the caller's own."""

    def entering(self, target: str) -> "Place":
        return self._replace(cwd=self.resolve(target) if UNKNOWN not in target else None)

    def resolve(self, path: str) -> str | None:
        """The whole path; None where it begins somewhere unknown."""
        if path[:1] == "~":
            user, _, rest = path[1:].partition("/")
            found = _HOME.match(self.workspace)
            own = self.home or (found[0] if found else "~")
            path = f"{f'/home/{user}' if user else own}/{rest}"
            if path[0] == "~":
                return normpath(path)
        elif path[:1] != "/":
            if self.cwd is None:
                return None
            path = f"{self.cwd}/{path}"
        path = normpath(path)
        return path[1:] if path[:2] == "//" else path

    def where(self, path: str) -> Where:
        """Whose it is to delete or overwrite, patterns in it included."""
        begin, narrow, is_cut = _literal_part(path)
        if self.is_elsewhere or not path or _DRIVE.match(path):
            return "outside"
        if begin is None:
            return "unknown"
        whole = self.resolve(begin or ".")
        if whole is None:
            return "unknown"
        if ".git" in whole.split("/") and not whole.endswith(".lock"):
            return "git"
        if whole.startswith(f"{self.workspace}/") or (
            narrow and whole == self.workspace and not is_cut
        ):
            return "inside"
        if whole == self.workspace or self.workspace.startswith(f"{whole.rstrip('/')}/"):
            return "unknown" if is_cut and whole == self.workspace else "around"
        if _TEMPORARY.fullmatch(whole) and not self._is_about_home(whole):
            return "temporary"
        return "outside"

    def _is_about_home(self, whole: str) -> bool:
        """It is the home, in it, or around it."""
        home, whole = f"{self.home}/", f"{whole}/"
        return bool(self.home) and (whole.startswith(home) or home.startswith(whole))

    def holds_home(self, whole: str) -> bool:
        """It is the home, all that is in it, or around it."""
        return bool(self.home) and f"{self.home}/".startswith(f"{whole.removesuffix('/*')}/")


@lru_cache(maxsize=64)
def place_of(cwd: str, workspace: str, home: str = "") -> Place:
    """Where a line begins; without a workspace, what is below its directory is taken for one."""
    if workspace:
        return Place(normpath(cwd) if cwd else normpath(workspace), normpath(workspace), home)
    if not cwd:
        return Place(_NOWHERE, _NOWHERE, home)
    cwd = normpath(cwd)
    is_none = cwd == home or _NO_WORKSPACE.fullmatch(cwd)
    return Place(cwd, _NOWHERE if is_none else cwd, home)


def home_elsewhere(home: str) -> str:
    """It, where it is not where homes are: then `~` says nothing of it."""
    return "" if not home or _HOME.fullmatch(normpath(home)) else normpath(home)


def _literal_part(path: str) -> tuple[str | None, bool, bool]:
    """What of a path stands before patterns and unknown parts, whether these are narrow, and whether it is cut short."""
    cut = path.find(UNKNOWN)
    if cut >= 0:
        begin = path[:cut]
        if not begin or begin.strip("./~") == "":
            return None, False, True
        # `build/$x` may be all of `build`, `build$x` is something beside it.
        return (begin if begin[-1] != "/" else begin.rstrip("/")), False, True
    found = _GLOB.search(path)
    if found is None:
        return path, False, False
    begin, sign, _ = path[: found.start()].rpartition("/")
    patterns = path[len(begin) + len(sign) :].split("/")
    narrow = any(not _EVERYTHING.fullmatch(each) for each in patterns if each)
    return (begin or sign), narrow, False


def deleted_classes(place: Place, path: str, *, recursive: bool) -> tuple[str, ...]:
    """The classes of deleting this path; none where it is the caller's own."""
    where = place.where(path)
    if where in OWN:
        return ()
    plain = _SLASHES.sub("/", path)
    plain = plain if plain in ("/", "~/") else plain.rstrip("/")
    if where == "git":
        return ("workspace_delete",)
    whole = (place.resolve(plain) if UNKNOWN not in plain else None) or plain
    is_root = recursive and (
        (ROOTS.fullmatch(plain) or ROOTS.fullmatch(whole)) is not None or place.holds_home(whole)
    )
    if where == "around":
        is_root = is_root and plain[:1] in ("/", "~")
        return ("whole_system_delete", "workspace_delete") if is_root else ("workspace_delete",)
    if is_root and (where == "outside" or plain[:1] in ("/", "~")):
        return ("whole_system_delete",)
    if _is_history(plain):
        return ("tracks",)
    return ("recursive_delete",) if recursive else ("delete_outside",)


def _is_history(path: str) -> bool:
    return ("_history" in path or path.startswith("/var/")) and (
        _HISTORIES.fullmatch(path) is not None
    )


def written_class(place: Place, path: str) -> str | None:
    """The class of writing to this path; None for an ordinary file."""
    if place.cwd == place.workspace and path.isalnum():
        return None
    whole = path = f"{path}x" if path[-1:] == "/" and len(path) > 1 else path
    if UNKNOWN not in path and (path[:1] in ("/", "~") or place.cwd != _NOWHERE):
        whole = (path if place.is_elsewhere else place.resolve(path)) or path
    if whole == "/proc/sysrq-trigger":
        return "shutdown"
    if _DEVICE.fullmatch(whole):
        return "device_write"
    if whole.startswith(f"{place.workspace}/"):
        return "persistence" if _GIT_RUNS.fullmatch(whole) else None
    if _is_history(whole):
        return "tracks"
    if _STARTUP.fullmatch(whole):
        return "persistence"
    if whole.startswith("/proc/sys/"):
        return "defences_down"
    return "system_file" if _SYSTEM.fullmatch(whole) else None
