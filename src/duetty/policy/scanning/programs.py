"""Programs that need more than a pattern: what they do depends on paths, values or company.

Each function looks at one command and reports to whoever scans.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from posixpath import normpath
from typing import NamedTuple, Protocol

from duetty.policy.proving.paths import is_secret
from duetty.policy.scanning.interpreters import sql_is_destructive
from duetty.policy.scanning.patterns import BY_PROGRAM
from duetty.policy.scanning.places import IMPORTANT, REMOTE, ROOTS, Place, deleted_class
from duetty.policy.scanning.reading import UNKNOWN, Simple, program_name
from duetty.policy.scanning.wrappers import SHELLS, inner_of

NETWORK = frozenset(
    "curl wget fetch aria2c lynx w3m links http https xh httpie axel nc ncat netcat socat ftp tftp scp sftp rsync ssh telnet aws gsutil".split()
)
SENDERS = NETWORK | frozenset(
    "dig nslookup host ping mail mailx sendmail mutt swaks openssl s3cmd rclone wormhole croc gh".split()
)


class Scanner(Protocol):
    """Where findings go."""

    downloaded: set[str]
    made: dict[str, str]
    unreadable: list[str]

    def find(self, name: str, what: str) -> None: ...

    def written(self, path: str, use: "Use", *, empties: bool = False) -> None:
        """A path is written to."""
        ...

    def text(self, text: str, place: Place, depth: int) -> None:
        """Text that a shell will read."""
        ...

    def tried(self, text: str, place: Place, depth: int) -> None:
        """Text that may be run: only what is found in it counts."""
        ...

    def code(self, code: str, place: Place, depth: int, *, backquotes: bool) -> None:
        """Code of some other language."""
        ...

    def run(self, words: Sequence[str], simple: Simple, place: Place, depth: int) -> None:
        """One command."""
        ...


class Use(NamedTuple):
    """One command, as the functions for single programs see it."""

    name: str
    words: Sequence[str]
    simple: Simple
    place: Place
    depth: int

    @property
    def what(self) -> str:
        return " ".join(self.words)

    def operands(self) -> list[str]:
        """Words that are not options; after `--`, all of them."""
        found: list[str] = []
        ended = False
        for text in self.words[1:]:
            if not ended and text == "--":
                ended = True
            elif ended or text[:1] != "-" or text == "-":
                found.append(text)
        return found

    def has(self, letters: str, *names: str) -> bool:
        for text in self.words[1:]:
            if text == "--":
                return False
            if text[:2] == "--":
                given = text.partition("=")[0]
                if len(text) > 3 and any(name.startswith(given) for name in names):
                    return True
            elif text[:1] == "-" and any(letter in text for letter in letters):
                return True
        return False

    def values(self, options: Sequence[str]) -> list[str]:
        """What each of these options is given."""
        found: list[str] = []
        for text, following in pairwise([*self.words[1:], ""]):
            if text[:1] != "-":
                continue
            name, sign, value = text.partition("=")
            for option in options:
                if text == option or (
                    option[1:2] != "-" and len(option) == 2 and len(text) < 6 and text[-1] == option[1] and text[1] != "-"
                ):
                    found.append(following)
                elif sign and name == option:
                    found.append(value)
                elif option[1] != "-" and len(option) == 2 and text.startswith(option) and text[2:]:
                    found.append(text[2:])
        return [each for each in found if each]


# --- deleting and overwriting ---------------------------------------------------------


def _rm(scanner: Scanner, use: Use) -> None:
    recursive = use.has("rR", "--recursive") or use.name in ("rimraf", "trash", "gio", "srm", "del-cli")
    for path in use.operands():
        if name := deleted_class(use.place, path, recursive=recursive):
            scanner.find(name, use.what)


def _copy(scanner: Scanner, use: Use) -> None:
    """cp, mv, ln, install, rsync, scp: the last operand is written."""
    operands = use.operands()
    into = use.values(("-t", "--target-directory")) if use.name != "rsync" else []
    if not operands or (len(operands) < 2 and not into):
        return
    target = into[0] if into else operands[-1]
    sources = operands if into else operands[:-1]
    if use.name == "mv":
        if target == "/dev/null":
            scanner.find("overwrite", use.what)
        _moved(scanner, use, sources)
    elif "/dev/null" in sources and IMPORTANT.search(target):
        scanner.find("overwrite", use.what)
    if use.name in ("scp", "rsync") and REMOTE.match(target):
        place = use.place._replace(is_elsewhere=True, workspace="\0")
        path = target.partition(":")[2]
        path = path if path[:1] in ("/", "~") else f"~/{path}"
        scanner.written(path, use._replace(place=place))
    else:
        scanner.written(target, use)
    if use.name in ("scp", "rsync", "aws", "gsutil") and REMOTE.match(sources[0]):
        scanner.downloaded.add(normpath(target))
    if any(_PROGRAM.fullmatch(source) for source in sources) and not target.endswith("/"):
        scanner.find("hidden_code", f"a program under another name: {use.what}")
    if use.name == "rsync" and any(word.startswith(("--del", "--remove-s")) for word in use.words):
        own = "inside", "temporary"
        lost = sources if use.has("", "--remove-source-files") else [target]
        if not use.has("n", "--dry-run") and not all(use.place.where(each) in own and not REMOTE.match(each) for each in lost):
            scanner.find("mirror_delete", use.what)
    if use.name == "install" and any(map(_SETUID.fullmatch, use.values(("-m", "--mode")))):
        scanner.find("permissions", use.what)


_PROGRAM = re.compile(r"(?:/(?:usr/)?s?bin/)?(?:rm|dd|shred|mkfs.*|unlink|truncate)")
"""Copies and links of these hide what runs."""


def _moved(scanner: Scanner, use: Use, sources: Sequence[str]) -> None:
    for source in sources:
        where = use.place.where(source)
        if where in ("around", "git"):
            scanner.find("workspace_delete", use.what)
        elif where == "outside" and source[:1] in "/~" and ROOTS.fullmatch(source.rstrip("/")):
            scanner.find("system_file", use.what)
        elif where == "outside":
            scanner.written(source, use)


def _truncate(scanner: Scanner, use: Use) -> None:
    for path in use.operands():
        if use.has("s", "--size") and path != use.values(("-s", "--size"))[:1]:
            scanner.written(path, use, empties=not path.lstrip("+-").isdigit())


def _dd(scanner: Scanner, use: Use) -> None:
    empties = "if=/dev/null" in use.words or "count=0" in use.words
    for text in use.words[1:]:
        name, sign, path = text.partition("=")
        if sign and name in ("of", "ofs", "hof", "hofs", "wipe", "hwipe"):
            scanner.written(path, use, empties=empties)
            if path[:1] == UNKNOWN:
                scanner.find("device_write", use.what)


def _tee(scanner: Scanner, use: Use) -> None:
    from_nothing = ("<", "/dev/null") in use.simple.redirects
    for path in use.operands():
        scanner.written(path, use, empties=from_nothing and not use.has("a", "--append"))
        scanner.made[normpath(path)] = "\n".join(said_to(use.simple))


def _in_place(scanner: Scanner, use: Use) -> None:
    """With `sed -i`, `perl -i` and their like the operands are rewritten."""
    if use.has("i", "--in-place"):
        for path in use.operands():
            if " " not in path:
                scanner.written(path, use)


_SED_FILE = re.compile(r"(?:^|[;{}\s/|,#0-9$!])w\s+([/~]\S+)")
_SED_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:\\.|[^/\\\n])*/[IM]*)"
_SED_COMMAND = re.compile(
    rf"[\s;{{}}]*(?:{_SED_ADDRESS}(?:\s*,\s*(?:[+~]?\d+|{_SED_ADDRESS}))?)?[\s!]*"
    r"(?:[sy](?P<sign>[^\s\w])(?:\\.|(?!(?P=sign)).)*(?P=sign)(?:\\.|(?!(?P=sign)).)*(?P=sign)(?P<flags>[a-zA-Z0-9]*)"
    r"|e(?P<run>[^\n]*)|[aic](?:\\.|[^\n\\])*|[rRwW][^\n]*|[btT:]\s*[^;\n]*|[^\s;])",
    re.DOTALL,
)
"""One command of a script of sed, with what is before it."""


def _sed(scanner: Scanner, use: Use) -> None:
    """`sed -i`, and scripts that write a file (`w`) or run what they read (`e`)."""
    _in_place(scanner, use)
    scripts = use.values(("-e", "--expression")) or use.operands()[:1]
    for script in scripts:
        for found in _SED_FILE.finditer(script):
            scanner.written(found[1], use)
        if "e" not in script or len(script) > 4096:
            continue
        for found in _SED_COMMAND.finditer(script):
            if found["run"] and found["run"].strip():
                scanner.tried(found["run"].strip(" \t;}"), use.place, use.depth)
            elif found["run"] is not None or "e" in (found["flags"] or "").partition("w")[0]:
                scanner.unreadable.append("sed runs what it reads")


_EDITED = re.compile(r"(?:^|[|:]|\bsilent!?\s)\s*!\s*(.+)", re.DOTALL)
_EMPTIED = re.compile(r"(?:%|(?:0|1)?,\$?)\s*d(?:\b|elete)")


def _editor(scanner: Scanner, use: Use) -> None:
    """ex, ed, vim -es: what a script of theirs runs, and what of the system they open."""
    for path in use.operands():
        scanner.written(path, use)
    for text in (*use.words[1:], *use.simple.bodies):
        if escaped := _EDITED.search(text):
            scanner.tried(escaped[1], use.place, use.depth)
        scanner.code(text, use.place, use.depth, backquotes=False)
        if _EMPTIED.search(text):
            for path in use.operands():
                scanner.written(path, use, empties=True)


_TREE = frozenset(["chmod", "chown", "chgrp", "setfacl"])
_SETUID = re.compile(r"[ugoa]*\+[rwx]*s[rwxt]*|[2467][0-7]{3}")


def _mode(scanner: Scanner, use: Use) -> None:
    operands = use.operands()
    recursive = use.has("R", "--recursive")
    paths = operands if use.name == "setfacl" or any(re.fullmatch("-[rwxXst]+", word) for word in use.words[1:]) else operands[1:]
    for path in paths:
        where = use.place.where(path)
        if recursive and where not in ("inside", "temporary"):
            scanner.find("permissions", use.what)
        elif where in ("outside", "around") and (
            scanner_class(scanner, path, use) or path in ("/", "~")
        ):
            scanner.find("permissions", use.what)
    if use.name == "chmod" and operands and _SETUID.fullmatch(operands[0]):
        scanner.find("permissions", use.what)


def scanner_class(scanner: Scanner, path: str, use: Use) -> str | None:
    from duetty.policy.scanning.places import written_class

    return written_class(use.place, path)


# --- find -------------------------------------------------------------------------------

_NARROWS = frozenset("-name -iname -path -ipath -wholename -regex -iregex".split())
_REMOVES = frozenset("rm unlink shred rmdir truncate srm".split())


def _find(scanner: Scanner, use: Use) -> None:
    words = use.words
    starts: list[str] = []
    for word in words[1:]:
        if word[:1] in ("-", "(", "!") and starts != [] or word[:1] == "-" and len(word) > 2:
            break
        if word[:1] not in "-(!":
            starts.append(word)
    if use.name in ("fd", "fdfind"):
        starts = use.operands()[1:2]
    starts = starts or ["."]
    narrow = any(
        option in _NARROWS and value.strip("*.?/")
        for option, value in pairwise(words)
    ) or "-empty" in words
    for option, value in pairwise(words):
        if option in ("-fprint", "-fprintf", "-fls", "-fprint0"):
            scanner.written(value, use)
    removes = "-delete" in words
    for start, is_text, end in inner_of(use.name, words):
        given = list(words[start:end])
        inner = _innermost(given)
        program = program_name(inner[0])
        if program in _REMOVES or _overwrites(program, inner) or (program == "mv" and starts[0][:1] in "/~"):
            removes = True
        elif program in _TREE:
            ordinary = inner[1:2] and re.fullmatch(r"[ugoa]*[+-][rwxX]+|0?[67][0-7][0-5]", inner[1])
            for path in starts:
                if use.place.where(path) not in ("inside", "temporary") and not (
                    ordinary and use.place.where(path) == "around" and path[:1] not in "/~"
                ):
                    scanner.find("permissions", use.what)
        else:
            path = f"{starts[0].rstrip('/')}/found"
            filled = [word.replace("{}", path) for word in given]
            scanner.run(filled, use.simple, use.place, use.depth + 1)
    if removes:
        for path in starts:
            searched = f"{path.rstrip('/') or ''}/*.found" if narrow and path not in ("/", "~") else path
            where = use.place.where(searched)
            if where not in ("inside", "temporary") or ".." in path.split("/") and where != "inside":
                name = deleted_class(use.place, path, recursive=True)
                scanner.find(name or "recursive_delete", use.what)


def _overwrites(program: str, words: Sequence[str]) -> bool:
    """Whether each file that is found is written over."""
    return any(word.endswith("of={}") for word in words) or (
        words[-1] == "{}" and (program in ("tee", "sponge") or (program in ("cp", "install", "ln") and len(words) > 2))
    )


def _innermost(words: Sequence[str]) -> Sequence[str]:
    """The words that are run in the end: `sudo env nice -n 5 rm`."""
    for _ in range(4):
        inner = [each for each in inner_of(program_name(words[0]), words) if not each.is_text]
        if not inner or words[inner[-1].start :] == words:
            break
        words = words[inner[-1].start :]
    return words


# --- writing by options -------------------------------------------------------------------

_WRITES: dict[str, tuple[tuple[str, ...], str]] = {}


def _say_writes(programs: str, options: str, operands: str = "") -> None:
    for program in programs.split():
        _WRITES[program] = (tuple(options.split()), operands)


_say_writes("touch mknod", "", "all")
_say_writes("sort shuf tree iconv gcc cc clang ld as nasm gfortran rustc go ghc pandoc xmllint xsltproc dot esbuild protoc age yt-dlp", "-o --output")
_say_writes("gpg gpg2", "-o --output")
_say_writes("openssl", "-out -keyout")
_say_writes("curl", "-o --output")
_say_writes("wget", "-O --output-document -P --directory-prefix -o")
_say_writes("aria2c axel fetch http https xh", "-o --out --output -O --output-file")
_say_writes("pg_dump pg_dumpall pg_restore", "-f --file")
_say_writes("mysqldump mariadb-dump", "-r --result-file")
_say_writes("mongodump mongoexport", "-o --out --archive")
_say_writes("psql", "-o --output -L --log-file")
_say_writes("tcpdump tshark dumpcap", "-w")
_say_writes("strace ltrace perf", "-o --output")
_say_writes("nmap", "-oN -oX -oG -oA")
_say_writes("ssh-keygen jar", "-f")
_say_writes("patch", "-d --directory -o")
_say_writes("pip pip3", "-t --target --prefix --root --log")
_say_writes("cpio", "-D --directory")
_say_writes("unar", "-o --output-directory")
_say_writes("fallocate", "", "last")
_say_writes("split xxd uniq ffmpeg objcopy strip", "-o", "last")
_say_writes("nano emacs", "", "all")


def _writes(scanner: Scanner, use: Use) -> None:
    """Programs that are told by an option where to write, or by their last word."""
    options, mode = _WRITES[use.name]
    paths = use.values(options)
    operands = use.operands() if mode else []
    paths += operands if mode == "all" else operands[-1:] if len(operands) > 1 else []
    for path in paths:
        scanner.written(path, use)


def _downloads(scanner: Scanner, use: Use) -> None:
    """What it fetches may be run by the same line."""
    _writes(scanner, use)
    for path in use.values(_WRITES[use.name][0]):
        scanner.downloaded.add(normpath(path))
    if use.name == "wget" or use.has("O", "--remote-name"):
        for text in use.operands():
            scanner.downloaded.add(normpath(text.partition("?")[0].rpartition("/")[2] or "index.html"))
    data = "".join(use.values(("-d", "--data", "--data-raw", "--data-binary", "--json")))
    if sql_is_destructive(data) or "_delete_by_query" in use.what:
        scanner.find("database", use.what)
    for option, value in pairwise(use.words[1:]):
        if option in ("-Q", "--quote", "-X", "--request") and _SERVER_DELETES.match(value):
            scanner.find("remote_delete", use.what)


_SERVER_DELETES = re.compile(
    r"[-+*]?\s*(?:dele|x?rmd|rnfr|rm|rmdir|rename|expunge|uid\s+expunge|.*\\deleted)\b", re.IGNORECASE
)
UNPACKED = "*"
"""Among the downloaded: an archive that was unpacked on the way."""

_TAR = ("tar", "bsdtar", "gtar", "star")
_OWN_PLACES = re.compile(r"/(?:usr/local|opt|srv|var/www|home/[^/]+)(?:/.*)?")


def _archive(scanner: Scanner, use: Use) -> None:
    mode = "".join(use.words[1:2])
    unpacks = use.name in ("unzip", "unrar") or use.has("x", "--extract", "--get") or (mode[:1] != "-" and "x" in mode[:6])
    options = {"unzip": ("-d",), "7z": ("-o",), "7za": ("-o",), "7zz": ("-o",)}.get(use.name, ("-C", "--directory"))
    into = use.values(options) or (["."] if unpacks and use.place.cwd != use.place.workspace else [])
    if unpacks and any(each.words and program_name(each.words[0]) in NETWORK for each in use.simple.producers):
        scanner.downloaded.add(UNPACKED)
    if use.name in ("unrar", "rar") and unpacks and len(use.operands()) > 2:
        into = use.operands()[-1:]
    for place in into if unpacks else []:
        if use.place.resolve(place) in ("/", "~") or (
            scanner_class(scanner, place, use) and not _OWN_PLACES.fullmatch(place)
        ):
            scanner.find("system_file", use.what)
    if not unpacks:
        operands = use.operands()
        made = use.values(("-f", "--file")) if use.name in _TAR else operands[use.name != "zip" :][:1]
        if use.name in _TAR and not made and mode[:1] != "-" and "t" not in mode:
            made = operands[1:2]
        for path in made if not use.has("t", "--list") else []:
            scanner.written(path, use)
    if use.name in _TAR and (
        use.has("", "--remove-files", "--recursive-unlink", "--delete")
        or (unpacks and use.has("P", "--absolute-names"))
    ):
        scanner.find("overwrite", use.what)
    if use.name == "zip" and use.has("m", "--move"):
        scanner.find("overwrite", use.what)


def _packs(scanner: Scanner, use: Use) -> None:
    """gzip and its like put another file in each one's place."""
    if use.has("cklt", "--stdout", "--keep", "--list", "--test") or (use.name == "zstd" and not use.has("", "--rm")):
        return
    for path in use.operands():
        where = use.place.where(path)
        if (use.has("r", "--recursive") or path.endswith("*")) and where in ("around", "outside") and ROOTS.fullmatch(path):
            scanner.find("overwrite", use.what)
        elif not path.startswith("/var/log/"):
            scanner.written(path, use)


_FILE_OF_AWK = re.compile(r'>\s*"([^"]+)"')
_SENT_BY_SQL = re.compile(
    r"""\bvacuum\s+(?:\w+\s+)?into\s+["']([^"']+)|writefile\s*\(\s*'([^']+)'|^[ \t]*\.(?:output|once|backup|save|clone|log|open)\s+(?:main\s+)?["']?([^"'\s]+)""",
    re.IGNORECASE | re.MULTILINE,
)


def _sqlite(scanner: Scanner, use: Use) -> None:
    for text in (*use.words[1:], *use.simple.bodies):
        for found in _SENT_BY_SQL.finditer(text):
            scanner.written(found[found.lastindex or 0], use)


def _awk(scanner: Scanner, use: Use) -> None:
    for text in use.words[1:]:
        for found in _FILE_OF_AWK.finditer(text):
            scanner.written(found[1], use)
    if "inplace" in use.words:
        for path in use.operands()[2:]:
            scanner.written(path, use)


# --- processes ----------------------------------------------------------------------------

_OF_MANY = frozenset(
    "bash sh zsh fish init systemd sshd ssh-agent dbus-daemon login getty agetty tmux screen Xorg Xwayland gnome-shell NetworkManager cron crond rsyslogd"
    " dockerd containerd launchd WindowServer kubelet udevd dash tcsh ksh node nodejs python python2 python3 java ruby perl php deno bun".split()
)
"""Names under which the machine itself runs, or whatever somebody has started."""


def _kill(scanner: Scanner, use: Use) -> None:
    words = [*use.words[1:]]
    if words[:1] in (["-s"], ["-n"], ["--signal"]):
        words = words[2:]
    elif words and words[0][:1] == "-" and len(words) > 1:
        words = words[1:]
    if "-1" in words or ("0" in words and "-0" not in use.words[1:2]):
        scanner.find("shutdown", use.what)
    if "1" in words or (UNKNOWN in use.what and names_all(use.simple.inner)):
        scanner.find("mass_kill", use.what)


def names_all(commands: Sequence[Simple]) -> bool:
    """Whether these print the numbers of every process, or of every one that a user has."""
    words = [word for each in commands for word in each.words]
    if "ps" in words:
        return {"grep", "egrep", "rg"}.isdisjoint(words) and not any("/" in word and "{" in word for word in words)
    return "pgrep" in words and any(re.fullmatch("-[a-z]*[uU]|--e?uid.*", word) for word in words)


def _fuser(scanner: Scanner, use: Use) -> None:
    if use.has("k", "--kill") and any(path[:1] == "/" for path in use.operands()):
        scanner.find("shutdown", use.what)


def _by_name(scanner: Scanner, use: Use) -> None:
    """pkill, killall: by a name or a pattern that may be anybody's."""
    patterns = [
        text
        for before, text in pairwise(use.words)
        if text[:1] != "-" and before not in ("-t", "-g", "-G", "-P", "-s", "-u", "-U", "--signal", "--parent")
    ]
    letters = "".join(text[1:] for text in use.words[1:] if re.fullmatch("-[a-z]+", text))
    if (
        any(letter in letters for letter in ("uv" if use.name == "pkill" else "u"))
        or any(re.fullmatch("-U|--(?:euid|uid|inverse|user).*", text) for text in use.words)
        or use.place.is_elsewhere
        or not patterns
        or any(map(_is_broad, patterns))
    ):
        scanner.find("mass_kill", use.what)


def _is_broad(pattern: str) -> bool:
    """Whether it is found in nearly every command line, or is the machine's own."""
    for part in pattern.split("|"):
        letters = re.sub(r"[.*+?^$(){}\\/\s\[\]-]", "", part)
        if len(letters.replace(UNKNOWN, "")) < 3 or letters in _OF_MANY or program_name(part) in _OF_MANY:
            return True
    return False


# --- other machines ------------------------------------------------------------------------

_TUNNEL = re.compile(r"-[46AaCfGgKkMNnqsTtVvXxYy]*R.*|-o(?:[Rr]emote[Ff]orward|[Tt]unnel).*")


def _ssh(scanner: Scanner, use: Use) -> None:
    """With -R, whoever reaches the other machine reaches this one."""
    inner = inner_of("ssh", use.words)
    options = use.words[1 : inner[0].start] if inner else use.words[1:]
    for before, text in pairwise(["", *options]):
        if _TUNNEL.fullmatch(text) or (before == "-o" and _TUNNEL.fullmatch(f"-o{text}")):
            scanner.find("remote_shell", use.what)


_ELSEWHERE = re.compile(r"(?:git\+)?(?:https?|ssh|ftp|git)://.*|(?:github|gitlab|bitbucket|gist):.*|git@.*")
_IN_CLEAR = re.compile(r"(?:.*[=@+\s])?(?:http|ftp|git)://(?!localhost\b|127\.|\[::1\]|0\.0\.0\.0).*")
_FETCHES: Mapping[str, str] = {
    "npx": "", "bunx": "", "pnpx": "", "uvx": "", "npm": "exec x init create", "pnpm": "dlx create", "yarn": "dlx create",
    "bun": "x create", "pipx": "run", "uv": "run", "deno": "run test install", "nix": "run develop shell",
}  # fmt: skip
"""Programs that run what they download, with the subcommands that do so; none: always."""


def _runs_address(scanner: Scanner, use: Use) -> None:
    """`npx https://…` runs what comes from there; `pip install http://…`, what anybody on the way puts there."""
    if use.name in _WRITES:
        _writes(scanner, use)
    operands = use.operands()
    started = operands[1:] if operands[:1] and operands[0] in ("exec", "dlx", "x", "run") else operands
    if started and started[0] not in ("rm", "install") and (started[0] in BY_PROGRAM or started[0] in SPECIAL or started is not operands):
        scanner.run(started, use.simple, use.place, use.depth + 1)
    if ":" not in use.what:
        return
    known = _FETCHES.get(use.name)
    package = ""
    if known is not None and (not known or operands[:1] and operands[0] in known.split()):
        package = "".join(operands[1:2] if known else operands[:1])
    installs = not {"install", "i", "add", "get"}.isdisjoint(operands[:3])
    if _ELSEWHERE.fullmatch(package) or (installs and any(map(_IN_CLEAR.fullmatch, use.words))):
        scanner.find("remote_code", use.what)


_RELAYS = frozenset("nc ncat netcat socat telnet openssl cat tail".split())
_WIPES = re.compile(
    r"(?:^|\\[rn]|[\s'\"])(?:flushall|flushdb|flush_all|shutdown|slaveof|replicaof)\b", re.IGNORECASE
)
_FTP_DELETES = re.compile(r"(?:^|[\n;])\s*-?(?:mdelete|mdel|delete|del|deltree|wdel|rmdir|rd|rm|mrm)\b", re.IGNORECASE)


def _netcat(scanner: Scanner, use: Use) -> None:
    """A shell on the other end, and what a server is told in its own words."""
    if any(each.words and program_name(each.words[0]) in SHELLS for each in use.simple.producers):
        scanner.find("remote_shell", use.what)
    for text in said_to(use.simple):
        if _WIPES.search(text):
            scanner.find("database", text)
        if re.match(r"\s*DELETE\s+\S+\s+HTTP/", text):
            scanner.find("remote_delete", text)


def _shell(scanner: Scanner, use: Use) -> None:
    """A shell with `-i` between pipes and the network, and code that cannot be read."""
    if use.name in ("pwsh", "powershell") and any(
        text.lower() in ("-encodedcommand", "-enc", "-e") for text in use.words
    ):
        scanner.find("hidden_code", use.what)
    fed = {program_name(each.words[0]) for each in use.simple.producers if each.words}
    if use.has("i") and use.words[1:2] != ["-c"] and not fed.isdisjoint(_RELAYS):
        scanner.find("remote_shell", use.what)


def _ftp(scanner: Scanner, use: Use) -> None:
    for text in (*use.values(("-c", "-e", "--command")), *said_to(use.simple)):
        if _FTP_DELETES.search(text):
            scanner.find("remote_delete", use.what)


def said_to(simple: Simple) -> list[str]:
    """Texts that a command is given to read, where they are written on the line."""
    said = [*simple.bodies]
    for each in simple.producers[-1:]:
        said += each.bodies
        if each.words and each.words[0] in ("echo", "printf"):
            said.append(" ".join(word for word in each.words[1:] if word not in ("-n", "-e", "-ne")))
    return said


def _container(scanner: Scanner, use: Use) -> None:
    """With `docker run -v /:/host`, the host's root in a container."""
    mounts = use.values(("-v", "--volume"))
    if any(mount.startswith("/:") for mount in mounts) or (
        "run" in use.words and not {"--privileged", "--pid=host"}.isdisjoint(use.words)
    ):
        scanner.find("system_file", use.what)


def _ansible(scanner: Scanner, use: Use) -> None:
    for said in use.values(("-a", "--args")):
        if "state=absent" in said:
            scanner.find("recursive_delete", use.what)
        scanner.tried(said, use.place._replace(is_elsewhere=True), use.depth)


# --- git, make and the rest -------------------------------------------------------------------

_FILE = re.compile(
    r".*\.(?:py|pyi|ipynb|[cm]?[jt]sx?|json5?|jsonc|md|rst|txt|ya?ml|toml|lock|go|mod|sum|rs|[ch]|cc|cpp|cxx|hh|hpp|java|kts?|scala|rb|erb|php|css|scss|less|html?|vue|svelte"
    r"|sh|bash|zsh|fish|sql|xml|cfg|ini|conf|env|csv|tsv|svg|png|jpe?g|gif|pdf|swift|dart|lua|pl|ex|exs|hs|clj|tf|proto|gradle|properties|cmake|mk|tex|snap)"
    r"|(?:.*/)?(?:Makefile|Dockerfile|Gemfile|Rakefile|LICENSE|README|CHANGELOG|\.[a-z][\w.-]*)|.+/|\./.*|.*[*?].*"
)
"""What hardly anybody calls a branch."""

_NEW_BRANCH = frozenset("-b -B --orphan -t --track --detach -d".split())
_GIT_RUNS = frozenset("-x --exec foreach run --tree-filter --index-filter --msg-filter --commit-filter".split())
_GIT_OUTPUT = ("-o", "--output", "--output-directory", "--prefix")


def _git(scanner: Scanner, use: Use) -> None:
    words, operands = use.words, use.operands()
    if "checkout" in words and _NEW_BRANCH.isdisjoint(words):
        if operands[0] == "checkout" and any(map(_FILE.fullmatch, operands[1:])):
            scanner.find("git_discard", use.what)
    if "branch" in words and use.has("d", "--delete") and use.has("r", "--remotes"):
        scanner.find("git_discard", use.what)
    if "--prune-tags" in words:
        scanner.find("git_discard", use.what)
    for path in use.values(_GIT_OUTPUT) if "commit" not in words else ():
        scanner.written(path, use)
    if operands[:1] in (["clone"], ["init"], ["bundle"]) and len(operands) > 1:
        made = operands[2] if operands[:2] == ["bundle", "create"] and len(operands) > 2 else operands[-1]
        scanner.written(made, use)
        scanner.written(f"{made.rstrip('/')}/x", use)
    for before, text in pairwise(words):
        if before == "-c" and "=" in text:
            scanner.tried(text.partition("=")[2].removeprefix("!"), use.place, use.depth)
    for index, text in enumerate(words[:-1]):
        if text in _GIT_RUNS:
            scanner.tried(" ".join(words[index + 1 :]), use.place, use.depth)


def _make(scanner: Scanner, use: Use) -> None:
    """Variables on the command line are commands to make; SHELL is the one that runs all others."""
    for text in use.words[1:]:
        name, sign, value = text.partition("=")
        if sign and name.isidentifier():
            if name == "SHELL" and program_name(value) not in SHELLS:
                scanner.find("hidden_code", use.what)
            scanner.tried(value, use.place, use.depth)
    rules = [text.partition("=")[2] for text in use.words if text.startswith("--eval=")]
    if "-f" in use.words or "-f-" in use.words:
        rules += [*use.simple.bodies, *(" ".join(each.words[1:]) for each in use.simple.inner)]
    for text in rules + use.values(("-E", "--eval")):
        for line in re.split(r"\n|\\n|\\t|[:;]", text.replace("$(shell ", "$(")):
            scanner.tried(line.strip("\t @-"), use.place, use.depth)


def _tracks(scanner: Scanner, use: Use) -> None:
    if any(
        text in ("HISTFILE", "HISTSIZE") and use.name == "unset" or text.startswith(("HISTFILE=", "HISTSIZE=0"))
        for text in use.words[1:]
    ):
        scanner.find("tracks", use.what)


def _mount(scanner: Scanner, use: Use) -> None:
    target = use.words[-1]
    if any("remount" in text for text in use.words) or (
        len(use.operands()) > 1
        and ROOTS.fullmatch(target)
        and not target.startswith(("/mnt", "/media", "/run", "/srv", "/opt"))
    ):
        scanner.find("system_file", use.what)


def _sudo(scanner: Scanner, use: Use) -> None:
    """With -e it edits, as somebody else, whatever is named."""
    inner = inner_of("sudo", use.words)
    options = use.words[1 : inner[0].start] if inner else use.words[1:]
    if "-e" in options or "--edit" in options:
        scanner.find("system_file", use.what)


def _cmake(scanner: Scanner, use: Use) -> None:
    if use.words[1:2] == ["-E"] and use.words[2:3] in (["remove_directory"], ["remove"], ["rm"]):
        _rm(scanner, use._replace(words=["rm", "-r", *use.words[3:]]))


def _nested_program(scanner: Scanner, use: Use) -> None:
    """All of coreutils as one program: which of them it is, an option or the first word says."""
    given = use.values(("--coreutils-prog",))
    scanner.run([*given, *use.words[2:]] if given else use.words[1:] or ["true"], use.simple, use.place, use.depth + 1)


_UPLOADING = ("-T", "--upload-file", "--post-file", "--body-file")
_DUMPERS = frozenset("pg_dump pg_dumpall mysqldump mariadb-dump mongodump mongoexport slapcat".split())


def reads_secrets(simple: Simple) -> bool:
    if not simple.words:
        return False
    name = program_name(simple.words[0])
    if (name in ("env", "printenv", "set", "declare", "export") and len(simple.words) <= 2) or name in _DUMPERS:
        return True
    if name in ("tar", "zip", "7z") and not {"~", "/", "~/", "/home", "/etc", "/root"}.isdisjoint(simple.words):
        return True
    return any(map(is_secret, simple.words[1:])) or any(
        sign == "<" and is_secret(target) for sign, target in simple.redirects
    )


def sends_secrets(use: Use) -> bool:
    """Whether a program that sends is given a secret to send."""
    simple, words = use.simple, use.words
    if any(map(reads_secrets, (*simple.producers, *simple.inner))) or any(
        sign == "<" and is_secret(target) for sign, target in simple.redirects
    ):
        return True
    if use.name in ("curl", "wget", "http", "xh", "gh"):
        given = [text.rpartition("@")[2].rpartition("=")[2] for text in words[1:] if "@" in text]
        given += use.values(_UPLOADING) + (list(words[2:]) if use.name == "gh" and "gist" in words[1:3] else [])
        return any(map(is_secret, given))
    if use.name in ("aws", "gsutil") and {"cp", "mv", "sync"}.isdisjoint(words[1:4]):
        return False
    if use.name in ("scp", "rsync", "sftp", "aws", "gsutil", "rclone", "s3cmd", "croc", "wormhole"):
        used = set(use.values(("-i", "-F", "-e")))
        local = [text for text in words[1:] if not REMOTE.match(text) and text not in used]
        goes_out = use.name not in ("scp", "rsync") or any(map(REMOTE.match, words[1:]))
        return goes_out and any(map(is_secret, local))
    return False


def _all(names: str, look: Callable[[Scanner, Use], None]) -> dict[str, Callable[[Scanner, Use], None]]:
    return dict.fromkeys(names.split(), look)


SPECIAL: dict[str, Callable[[Scanner, Use], None]] = {
    **dict.fromkeys(_WRITES, _writes),
    **_all("rm rimraf unlink grm trash trash-put rmdir srm del-cli", _rm),
    **_all("cp mv ln install rsync scp gcp gmv", _copy),
    **_all("dd dcfldd dc3dd", _dd),
    **_all("tee sponge", _tee),
    **_all("sed gsed", _sed),
    **_all("perl ruby", _in_place),
    **_all("awk gawk mawk nawk", _awk),
    **_all("ex ed vim vi nvim", _editor),
    **_all("tar bsdtar unzip zip 7z 7za 7zz rar unrar ar gtar star", _archive),
    **_all("gzip gunzip pigz bzip2 bunzip2 xz unxz lzma zstd lz4 lzip compress", _packs),
    **_all("chmod chown chgrp setfacl", _mode),
    **_all("pkill killall", _by_name),
    **_all("ssh autossh", _ssh),
    **_all("npx bunx pnpx uvx npm pnpm yarn bun pipx uv deno nix pip pip3 gem", _runs_address),
    **_all("curl wget aria2c axel fetch http https xh", _downloads),
    **_all("find gfind bfs fd fdfind", _find),
    **_all("sftp ftp lftp tftp smbclient", _ftp),
    **_all("make gmake", _make),
    **dict.fromkeys(sorted(SHELLS), _shell),
    **_all("nc ncat netcat telnet socat", _netcat),
    **_all("docker podman nerdctl", _container),
    **_all("unset export", _tracks),
    "truncate": _truncate, "sqlite3": _sqlite, "kill": _kill, "fuser": _fuser, "git": _git, "ansible": _ansible, "mount": _mount,
    "sudo": _sudo, "cmake": _cmake, "coreutils": _nested_program,
}  # fmt: skip
