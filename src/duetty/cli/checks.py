"""What `duetty doctor` looks at: each thing once, with what is wrong and how to mend it."""

import importlib.util
import os
import platform
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, NamedTuple

from duetty import __version__
from duetty.client import Client
from duetty.config import MODEL_TO_SET, Paths, load_settings
from duetty.errors import DuettyError
from duetty.shell import SHELL_KINDS, kind_of_program

Verdict = Literal["ok", "warning", "broken"]

LOW_BYTES, NO_BYTES = 1 << 30, 64 << 20
"""Free space below which journals soon, or already, cannot be written."""

SIGNALS_ABI = 6
"""Landlock that keeps signals inside: Linux 6.12."""

FEW_FILES = 1_024
"""With fewer, some dozens of sessions and connections are all that there is room for."""

AGENT_S = 30.0
CLOCK_S = 5.0
PACKAGES = ("anyio", "mcp", "pyghostty", "pydantic", "starlette", "uvicorn", "websockets", "rich")


class Finding(NamedTuple):
    what: str
    verdict: Verdict
    summary: str
    mend: str | None = None


def findings(paths: Paths) -> Iterator[Finding]:
    """Every check, one after the other; a check that fails itself is a finding too."""
    client = Client(paths.server_socket)
    checks: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
        ("python", _python),
        ("platform", capability_findings),
        ("packages", _packages),
        ("emulator", _emulator),
        ("settings", lambda: _settings(paths)),
        ("directories", lambda: _directories(paths)),
        ("disk", lambda: _disk(paths)),
        ("damage", lambda: _damage(paths)),
        ("server", lambda: _server(paths, client)),
        ("limits", lambda: limit_findings(client)),
        ("keeper", lambda: _keeper(paths, client)),
        ("sandbox", lambda: _sandbox(paths)),
        ("shells", _shells),
        ("terminal", _terminal),
        ("tmux", _tmux),
        ("clock", _clock),
        ("mcp", _mcp),
        ("browser", _browser),
        ("agent", lambda: _agent(paths, client)),
    )
    for what, check in checks:
        try:
            yield from check()
        except (DuettyError, OSError, ValueError, subprocess.SubprocessError) as error:
            yield Finding(what, "broken", f"could not be checked: {error}")


def _agent(paths: Paths, client: Client) -> Iterator[Finding]:
    """The server's own environment has the key, so the server says how it stands."""
    if not client.is_up():
        model = load_settings(paths, os.environ).settings.agent_model
        if model:
            yield Finding("agent", "ok", f"{model}; start the server to check its key")
        else:
            yield Finding(
                "agent", "ok", f"no model is set, and none is needed; to use it {MODEL_TO_SET}"
            )
        return
    status = client.get("/agent/status", check="true", wait_s=AGENT_S)
    if status["state"] == "not_configured":
        is_wanted = status["model"] is not None
        yield Finding("agent", "warning" if is_wanted else "ok", status["message"])
        return
    checked = status["checked"]
    name = status["model"] or "the model of a connected host"
    if checked is None:
        yield Finding("agent", "ok", f"{name}, {status['state']}")
    elif checked["code"] is None:
        yield Finding("agent", "ok", f"{name}, {status['state']}; {checked['message']}")
    else:
        yield Finding("agent", "broken", f"{name}: {checked['message']}", checked["hint"])


def _python() -> Iterator[Finding]:
    yield Finding("python", "ok", f"{platform.python_version()} at {sys.executable}")
    if platform.system() != "Linux":
        yield Finding("system", "warning", f"{platform.system()} is not tested", "use Linux")
    else:
        yield Finding("system", "ok", f"Linux {platform.release()}")


def capability_findings() -> Iterator[Finding]:
    """The table of what only the operating system can give."""
    from duetty.platform import capabilities

    for each in capabilities.CAPABILITIES:
        if each.has():
            yield Finding(each.name, "ok", f"yes: {each.gives}")
        else:
            verdict = "broken" if each.is_required else "warning"
            yield Finding(each.name, verdict, f"no: {each.gives}", f"without it: {each.without}")


def _packages() -> Iterator[Finding]:
    yield Finding("duetty", "ok", f"{__version__} at {Path(__file__).parents[1]}")
    missing: list[str] = []
    found: list[str] = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        mend = "install Duetty again: pip install --force-reinstall duetty"
        yield Finding("packages", "broken", f"missing: {', '.join(missing)}", mend)
    else:
        yield Finding("packages", "ok", ", ".join(found))


def _emulator() -> Iterator[Finding]:
    try:
        from duetty.vt import Terminal

        terminal = Terminal(cols=10, rows=2)
        terminal.feed(b"ok")
        text = terminal.text(join_wraps=True)
        terminal.close()
    except (ImportError, OSError, MemoryError) as error:
        yield Finding("emulator", "broken", f"does not load: {error}", "install pyghostty again")
        return
    is_right = text.strip() == "ok"
    yield Finding("emulator", "ok" if is_right else "broken", f"drew {text.strip()!r}")


def _settings(paths: Paths) -> Iterator[Finding]:
    try:
        loaded = load_settings(paths, os.environ)
    except DuettyError as error:
        yield Finding("settings", "broken", error.message, error.hint)
        return
    changed = sum(origin != "default" for origin in loaded.origins.values())
    there = str(paths.config_file) if paths.config_file.exists() else "no file"
    yield Finding("settings", "ok", f"{there}, {changed} not at their defaults")


def _directories(paths: Paths) -> Iterator[Finding]:
    for what, place in (("state", paths.state), ("runtime", paths.runtime)):
        if not place.exists():
            yield Finding(what, "ok", f"{place} (made when a server starts)")
            continue
        found = place.stat()
        mode = stat.S_IMODE(found.st_mode)
        if found.st_uid != os.getuid():
            mend = "set DUETTY_HOME to a directory of yours"
            yield Finding(what, "broken", f"{place} belongs to user {found.st_uid}", mend)
        elif mode & 0o077:
            yield Finding(
                what, "broken", f"{place} is open to others ({mode:04o})", f"chmod 700 {place}"
            )
        elif not os.access(place, os.W_OK | os.X_OK):
            yield Finding(what, "broken", f"{place} cannot be written", f"chmod u+rwx {place}")
        else:
            yield Finding(what, "ok", f"{place} ({mode:04o})")
    token = paths.token_file
    if token.exists() and stat.S_IMODE(token.stat().st_mode) & 0o077:
        yield Finding("token", "broken", f"{token} is readable by others", f"chmod 600 {token}")


def _disk(paths: Paths) -> Iterator[Finding]:
    place = next(each for each in (paths.state, *paths.state.parents) if each.exists())
    free = shutil.disk_usage(place).free
    summary = f"{free / (1 << 30):.1f} GiB free for {place}"
    mend = "free some space, or lower journal.limit_mib"
    if free < NO_BYTES:
        yield Finding("disk", "broken", summary, mend)
    elif free < LOW_BYTES:
        yield Finding("disk", "warning", summary, mend)
    else:
        yield Finding("disk", "ok", summary)


def _damage(paths: Paths) -> Iterator[Finding]:
    """Damaged files that wait for `duetty repair`."""
    from duetty.cli.kept import kept

    for each in kept(paths):
        if each.kind != "settings":  # which have a check of their own
            yield Finding("damage", "warning", f"{each.name}: {each.summary}", "`duetty repair`")


def _server(paths: Paths, client: Client) -> Iterator[Finding]:
    socket = paths.server_socket
    if not socket.exists():
        yield Finding("server", "ok", "does not run (`duetty` or `duetty server` starts one)")
        return
    if stat.S_IMODE(socket.stat().st_mode) & 0o077:
        yield Finding("socket", "broken", f"{socket} is open to others", f"chmod 600 {socket}")
    try:
        status: dict[str, Any] = client.get("/server/info")
    except DuettyError as error:
        mend = "it was killed: `duetty server` takes its sessions back"
        yield Finding("server", "broken", f"does not answer: {error.message}", mend)
        return
    summary = f"{status['version']} at {status['address']}, pid {status['pid']}"
    if status["version"] != __version__:
        mend = "`duetty server --replace` takes over; sessions go on"
        yield Finding("server", "warning", f"{summary}; this is {__version__}", mend)
    else:
        yield Finding("server", "ok", f"{summary}, {status['sessions']} sessions")
    for part, reason in status["degraded"].items():
        yield Finding("server", "warning", f"{part}: {reason}", f"see {paths.log_file}")


def limit_findings(client: Client) -> Iterator[Finding]:
    """What one caller can take of what all share, by the limits that the server really has."""
    if not client.is_up():
        return
    limits = client.get("/server/limits")
    files = limits["open_files"]
    mend = "raise the limit of open files (ulimit -n, LimitNOFILE=) and start the server again"
    yield Finding(
        "open files",
        "ok" if files >= FEW_FILES else "warning",
        f"{files} for the server; sessions and connections take one each",
        None if files >= FEW_FILES else mend,
    )
    nearly = [each for each in limits["limits"] if each["held"] >= each["most"] * 3 // 4]
    for each in nearly:
        summary = (
            f"{each['held']} of {each['most']} {each['what']} are taken; each credential has "
            f"{each['each']}, each other machine {each['each_source']}, people {each['for_people']} more"
        )
        yield Finding("limit", "warning", summary)
    if not nearly:
        count = len(limits["limits"])
        yield Finding("limits", "ok", f"{count}, and room below each (`GET /server/limits`)")


def _keeper(paths: Paths, client: Client) -> Iterator[Finding]:
    if not paths.keeper_socket.exists():
        yield Finding("keeper", "ok", "does not run (a server starts it)")
        return
    if paths.server_socket.exists() and client.is_up():
        pid = client.get("/server/info")["keeper_pid"]
        if pid is None:
            mend = "running programs go on; new sessions need `duetty server --replace`"
            yield Finding("keeper", "broken", "the server has lost it", mend)
        else:
            yield Finding("keeper", "ok", f"pid {pid}, held by the server")
        return
    from duetty.keeper.client import KeeperClient

    try:
        KeeperClient.connect(paths.keeper_socket).close()
    except DuettyError as error:
        mend = "nothing is lost if it is gone: `duetty server` starts a new one"
        yield Finding("keeper", "warning", error.message, mend)
        return
    mend = "`duetty server` takes its programs back, `duetty stop` ends them"
    yield Finding("keeper", "warning", "holds programs, and no server runs", mend)


def _sandbox(paths: Paths) -> Iterator[Finding]:
    """Which levels this machine can give; an error only if one is asked for that it cannot."""
    from duetty.sandbox import support

    offered = support()
    if offered.bubblewrap is not None:
        summary = f"{offered.bubblewrap}; confines sessions in namespaces of their own"
        yield Finding("bubblewrap", "ok", summary)
    else:
        reason = offered.bubblewrap_reason or "cannot be had"
        mend = "install bubblewrap and allow user namespaces"
        yield Finding("bubblewrap", "warning", reason, mend)
    if not offered.has_landlock:
        summary = (
            f"ABI {offered.landlock} is too old" if offered.landlock else "the kernel has none"
        )
        yield Finding(
            "landlock", "warning", summary, "use Linux 6.2 or later, with Landlock switched on"
        )
    elif offered.landlock < SIGNALS_ABI:
        summary = f"ABI {offered.landlock}; keeps no signals from processes outside"
        yield Finding("landlock", "warning", summary, "use Linux 6.12 or later, or bubblewrap")
    else:
        summary = f"ABI {offered.landlock}; confines sessions where there is no bubblewrap"
        yield Finding("landlock", "ok", summary)
    settings = load_settings(paths, os.environ).settings
    asked = settings.session_sandbox
    summary = f"guardrail: {settings.policy_profile} · boundary: {asked if asked != 'any' else 'the best of these'}"
    yield Finding("safety", "ok", summary)
    yield from asked_sandbox(
        settings.session_sandbox,
        {"bubblewrap": offered.bubblewrap is not None, "landlock": offered.has_landlock},
    )
    yield from disordered(settings.sandbox_workspaces)


def disordered(workspaces: Iterable[str]) -> Iterator[Finding]:
    """Repositories that a program in a sandbox may have prepared for the person's own git."""
    from duetty.sandbox import disorders

    for each in disorders(Path(text).expanduser().resolve() for text in workspaces):
        mend = "look what did it before you use git there; safe.bareRepository=explicit helps"
        yield Finding("workspace", "warning", str(each), mend)


def asked_sandbox(asked: str, given: Mapping[str, bool]) -> Iterator[Finding]:
    if asked != "none" and not given.get(asked, any(given.values())):
        summary = f"session.sandbox is {asked!r}, which this machine cannot give: no session opens"
        yield Finding("sandbox", "broken", summary, "see above, or set session.sandbox to another")


def _shells() -> Iterator[Finding]:
    preferred = os.environ.get("SHELL", "")
    for kind in SHELL_KINDS:
        name, oldest = kind.name, kind.oldest
        path = shutil.which(name)
        if oldest is None:
            continue
        if path is None:
            if Path(preferred).name == name:
                yield Finding(name, "broken", f"$SHELL is {preferred}, which is not there")
            continue
        found = _version(path)
        text = ".".join(str(part) for part in found)
        mark = ", your shell" if Path(preferred).name == name else ""
        if found and found < oldest:
            mend = f"commands are recognised from version {'.'.join(map(str, oldest))} on"
            yield Finding(name, "warning", f"{text}{mark}", mend)
        else:
            yield Finding(name, "ok", f"{text}{mark}; announces its commands")
    if preferred and not kind_of_program(preferred).is_integrated:
        yield Finding(
            "shell",
            "warning",
            f"{preferred} announces no commands: ends are guessed from silence",
            f"set session.shell to {' or '.join(kind.name for kind in SHELL_KINDS if kind.oldest)}",
        )


def _version(path: str) -> tuple[int, ...]:
    import re

    output = subprocess.run(  # noqa: S603 - the shells that are installed here
        [path, "--version"], capture_output=True, text=True, timeout=5, check=False
    ).stdout
    found = re.search(r"(\d+)\.(\d+)", output)
    return (int(found[1]), int(found[2])) if found else ()


def _terminal() -> Iterator[Finding]:
    if not sys.stdout.isatty():
        yield Finding("terminal", "ok", "standard output is none")
        return
    from duetty.cli.attach.outer import abilities_of

    term = os.environ.get("TERM", "")
    abilities = abilities_of(os.environ)
    cols, rows = os.get_terminal_size(1)
    summary = f"{term or 'TERM is not set'}, {cols}x{rows}, {abilities.depth.name.lower()} colour"
    if not term or term == "dumb":
        yield Finding("terminal", "warning", summary, "attach needs a terminal with cursor control")
    elif int(abilities.depth) < 256:
        mend = "if it knows more colours: export COLORTERM=truecolor"
        yield Finding("terminal", "warning", summary, mend)
    else:
        yield Finding("terminal", "ok", summary)
    encoding = (sys.stdout.encoding or "").lower()
    if "utf" not in encoding:
        mend = "export LANG=C.UTF-8"
        yield Finding("encoding", "warning", f"{encoding or 'unknown'} instead of UTF-8", mend)


def _tmux() -> Iterator[Finding]:
    if "TMUX" not in os.environ:
        return
    yield Finding("tmux", "ok", "this is inside tmux: Ctrl+\\ reaches Duetty, Ctrl+B reaches tmux")


def _clock() -> Iterator[Finding]:
    """Against the file system's, which is another machine's on a network disk."""
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        behind_s = time.time() - os.fstat(file.fileno()).st_mtime
    is_sane = abs(behind_s) < CLOCK_S and time.time() > 1_700_000_000
    zone = time.strftime("%Y-%m-%d %H:%M:%S %Z")
    mend = None if is_sane else "set the clock: records carry wrong times, tokens end wrongly"
    yield Finding("clock", "ok" if is_sane else "warning", zone, mend)


def _mcp() -> Iterator[Finding]:
    """Imported for real, in a process of its own: it takes half a second and might fail."""
    done = subprocess.run(
        [sys.executable, "-c", "import mcp.server"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        yield Finding("mcp", "broken", f"the SDK does not import: {last[0]}", "install it again")
    else:
        yield Finding("mcp", "ok", "the SDK imports; hosts start `duetty mcp`")


def _browser() -> Iterator[Finding]:
    if importlib.util.find_spec("playwright") is None and not shutil.which("chromium"):
        return  # only tests want one
    name = next((each for each in ("chromium", "google-chrome") if shutil.which(each)), None)
    yield Finding("browser", "ok", f"{name or 'none found'} (only the page's tests need one)")
