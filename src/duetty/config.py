"""Settings and places: where each value came from, and one clear error when it is bad.

A setting is defined once, in `Settings`: its name, type, default and meaning. The file
`config.toml`, the environment (`DUETTY_SECTION_NAME`) and flags only fill it in.
"""

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, cast, get_origin

from duetty.errors import BadSetting, StateUnwritable
from duetty.file_lines import IS_TOML, mistake, toml_line
from duetty.ids import is_name

MAX_SOCKET_PATH = 100
"""A unix socket's address holds 108 bytes; a longer runtime directory needs another place."""


T = TypeVar("T")


def _setting(
    default: T,
    meaning: str,
    *,
    low: int = 0,
    high: int = 2**31,
    choices: tuple[str, ...] = (),
) -> T:
    """A field of the dataclass, of the type of its default, as `dataclasses.field` itself is typed."""
    return field(
        default=default,
        metadata={"meaning": meaning, "low": low, "high": high, "choices": choices},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting, as `section_name`; `server_bind` is `bind` in `[server]`."""

    server_bind: str = _setting("127.0.0.1:9315", "address and port of the HTTP edge")
    server_hosts: tuple[str, ...] = _setting(
        (), "further names, NAME or NAME:PORT, by which clients may call the server"
    )
    server_cors_origins: tuple[str, ...] = _setting(
        (), "other sites whose pages may call with a token, each as https://NAME[:PORT]"
    )
    server_base_prefix: str = _setting("", "path that every address of the server begins with")
    server_tls_cert: str = _setting("", "file with the certificate chain (PEM); needs tls_key")
    server_tls_key: str = _setting("", "file with the certificate's key (PEM)")
    server_rate_limit: int = _setting(
        -1,
        "requests a second from one address; 0 is no limit, -1 is 100 for other machines only",
        low=-1,
        high=1_000_000,
    )
    server_ping_s: int = _setting(
        20,
        "seconds between two pings of a WebSocket; who does not answer is dropped",
        low=1,
        high=3600,
    )
    server_log_level: str = _setting(
        "info",
        "what is written to the log; debug: calls through a hub that only read, too",
        choices=("info", "debug"),
    )
    server_hostname: str = _setting(
        "", "what other servers and people call this one; empty is the machine's own name"
    )
    hub_allow: tuple[str, ...] = _setting(
        (), "networks that servers may be added from, as 10.0.0.0/8; all when empty"
    )
    hub_block: tuple[str, ...] = _setting((), "networks that no server may be added from")
    hub_tls_ca: str = _setting(
        "", "file with certificates (PEM) that servers' own are checked by; empty is the system's"
    )
    hub_engine: str = _setting(
        "", "nats://… that replicas of this hub share; empty is a hub of one process"
    )
    hub_jwt_issuer: str = _setting(
        "", "identity provider whose tokens (JWT) users of this hub may show; empty is none"
    )
    hub_jwt_audience: str = _setting("", "what such a token must be made for: this hub's address")
    hub_jwt_jwks: str = _setting("", "address of the provider's keys")
    hub_jwt_user: str = _setting("sub", "the claim that names the user, as `duetty hub user` does")
    hub_forget_s: int = _setting(
        7 * 86_400, "seconds for which a hub lists a machine that is away, and its sessions"
    )
    hub_join: str = _setting("", "address of the hub that this server joins by itself")
    hub_scopes: tuple[str, ...] = _setting(
        ("read", "input", "control", "approve"),
        "what callers through a hub may have here at most; without approve, none of them is a person",
    )
    session_cols: int = _setting(80, "width of a new session", low=1, high=1000)
    session_rows: int = _setting(24, "height of a new session", low=1, high=1000)
    session_shell: str = _setting("", "shell of a new session; empty means $SHELL, then /bin/sh")
    session_integration: bool = _setting(True, "whether shells announce commands by marks")
    session_scrollback_rows: int = _setting(10_000, "rows kept above the screen", high=200_000)
    session_max: int = _setting(1024, "sessions at once, exited ones left out", low=1)
    session_exited_max: int = _setting(100, "exited sessions kept readable")
    session_exited_s: int = _setting(86_400, "seconds an exited session stays readable")
    session_grace_ms: int = _setting(2_000, "time between the polite signal and KILL", high=60_000)
    session_size_rule: str = _setting(
        "smallest",
        "who sets the size of a session with several viewers: the smallest, or one that holds it",
        choices=("smallest", "holder"),
    )
    session_sandbox: str = _setting(
        "none",
        "sandbox of new sessions: none, any (the best there is), bubblewrap or landlock",
        choices=("none", "any", "bubblewrap", "landlock"),
    )
    sandbox_workspaces: tuple[str, ...] = _setting(
        (), "directories that a sandboxed session may write; all else is read-only or hidden"
    )
    sandbox_protect: bool = _setting(
        True, "whether hooks and start-up files in workspaces stay read-only"
    )
    sandbox_git: str = _setting(
        "commit",
        "what a sandboxed session may do with repositories in its workspaces: commit, or read-only",
        choices=("commit", "read-only"),
    )
    sandbox_network: bool = _setting(False, "whether a sandboxed session reaches the network")
    sandbox_hidden: tuple[str, ...] = _setting(
        (), "further files and directories that a sandboxed session must not see"
    )
    sandbox_cpu_s: int = _setting(0, "CPU seconds of each sandboxed process; 0 is no limit")
    sandbox_memory_mib: int = _setting(
        4_096, "memory of each sandboxed process, in MiB; 0 is no limit"
    )
    sandbox_total_memory_mib: int = _setting(
        8_192, "memory of all processes of a sandboxed session together, in MiB; 0 is no limit"
    )
    sandbox_processes: int = _setting(512, "processes of a sandboxed session; 0 is no limit")
    sandbox_file_mib: int = _setting(
        0, "size of each file that a sandboxed process writes, in MiB; 0 is no limit"
    )
    sandbox_open_files: int = _setting(4_096, "open files of each sandboxed process; 0 is no limit")
    policy_profile: str = _setting(
        "guarded",
        "what runs unasked: open, guarded (the destructive asks) or strict (only the proven runs)",
        choices=("open", "guarded", "strict"),
    )
    approval_wait_s: int = _setting(
        300, "seconds that a question waits for a person; no answer is a no", low=1, high=86_400
    )
    approval_ask: str = _setting(
        "present",
        "when to ask: present (a person views a session), always (wait for a person) or never",
        choices=("present", "always", "never"),
    )
    audit_reads: bool = _setting(False, "whether the audit trail has calls that only read")
    audit_required: bool = _setting(
        True, "whether agents' calls are refused while the audit trail cannot be written"
    )
    audit_file_mib: int = _setting(
        8, "size of one file of the audit trail, in MiB", low=1, high=1_024
    )
    audit_files: int = _setting(
        8, "files of the audit trail; the oldest goes when there would be more", low=2, high=1_000
    )
    journal_limit_mib: int = _setting(64, "bytes kept per session, in MiB", low=1, high=65_536)
    run_output_bytes: int = _setting(
        32_768, "output text in one answer; the rest is paged", low=256, high=16_777_216
    )
    process_shell: str = _setting("/bin/sh", "shell that reads commands without a terminal")
    process_timeout_ms: int = _setting(
        60_000, "time that a command without a terminal gets when its caller says none", low=1
    )
    process_max: int = _setting(256, "commands without a terminal at once", low=1, high=10_000)
    process_output_mib: int = _setting(
        64, "output kept on disk for each stream of such a command, in MiB", low=1, high=65_536
    )
    process_cpu_s: int = _setting(0, "CPU seconds of each of their processes; 0 is no limit")
    process_memory_mib: int = _setting(0, "address space of each, in MiB; 0 is no limit")
    process_file_mib: int = _setting(0, "size of each file that one writes; 0 is no limit")
    terminal_open_page: bool = _setting(
        True,
        "whether a caller of the terminal contract may have the page opened on the server's desktop",
    )
    terminal_aliases: bool = _setting(
        True, "whether the terminal contract takes the aliases of older tools: run, send, create …"
    )
    agent_model: str = _setting(
        "",
        "model of the agent as PROVIDER:MODEL, for example openai:gpt-5; with base_url its name there",
    )
    agent_base_url: str = _setting(
        "", "address of an OpenAI-compatible server, for example http://127.0.0.1:11434/v1"
    )
    agent_api_key_env: str = _setting(
        "",
        "variable of the server's environment that holds the key; empty is PROVIDER_API_KEY;"
        " no session is given it",
    )
    agent_keyring: str = _setting(
        "",
        "service in the system's keyring that holds the key, under the user name `duetty`;"
        " used before the environment",
    )
    agent_max_turns: int = _setting(
        50, "requests to the model for one message, before a person is asked", low=1, high=10_000
    )
    agent_max_tokens: int = _setting(
        2_000_000,
        "tokens of one conversation, in and out, before a person is asked",
        low=100,
        high=2**40,
    )
    agent_max_cost_cents: int = _setting(
        500,
        "what one conversation may cost, in US cents, before a person is asked; 0 is no limit",
        high=10**9,
    )
    agent_max_minutes: int = _setting(
        60, "minutes of work on one message, before a person is asked", low=1, high=100_000
    )
    agent_input_cents: int = _setting(
        0,
        "US cents for a million tokens to the model; 0 is what the library's list says",
        high=10**9,
    )
    agent_output_cents: int = _setting(0, "the same for tokens that it answers with", high=10**9)
    agent_context_tokens: int = _setting(
        120_000,
        "tokens of one request above which earlier parts of a conversation are summed up",
        low=1_000,
        high=2**31,
    )
    agent_keep_session_minutes: int = _setting(
        10,
        "minutes after which a session that the agent opened ends, if nothing runs there and no"
        " person looks or has typed there; 0 keeps it",
        high=100_000,
    )
    agent_timeout_s: int = _setting(
        120, "seconds without a word from the model after which it is asked again", low=1, high=3600
    )
    mcp_client_enabled: bool = _setting(True, "whether other MCP servers (upstreams) are used")
    mcp_server_enabled: bool = _setting(
        True, "whether MCP clients are served over HTTP; hosts of this user's own always are"
    )
    mcp_list_at_most: int = _setting(
        20,
        "tools of upstreams that are listed to agents; of more those marked, the most used, and find_tools",
        low=0,
        high=10_000,
    )
    mcp_dialects: tuple[str, ...] = _setting(
        ("wsh",),
        "vocabularies that an MCP client gets when it asks for none: wsh, command, terminal, elwood, gateway, rooms, front",
    )


_ALSO = {"mcp_server_address": "server_bind"}
"""Names by which a published configuration says the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Where one instance keeps its things."""

    instance: str
    config_file: Path
    state: Path
    runtime: Path

    @property
    def server_socket(self) -> Path:
        return self.runtime / "server.sock"

    @property
    def mcp_socket(self) -> Path:
        return self.runtime / "mcp.sock"

    @property
    def keeper_socket(self) -> Path:
        return self.runtime / "keeper.sock"

    @property
    def lock_file(self) -> Path:
        """Beside the data that it guards: the runtime directory depends on who asks."""
        return self.state / "server.lock"

    @property
    def address_file(self) -> Path:
        """Holds the URL of the running server, for clients of the same user."""
        return self.runtime / "address"

    @property
    def flags_file(self) -> Path:
        """The flags of the running server, for the one that takes over from it."""
        return self.runtime / "flags.json"

    @property
    def scratch(self) -> Path:
        """Files by which shells tell us command lines: on memory where runtime directories are."""
        return self.runtime / "scratch"

    @property
    def token_file(self) -> Path:
        return self.state / "token"

    @property
    def database(self) -> Path:
        return self.state / "duetty.db"

    @property
    def node_key_file(self) -> Path:
        """By which hubs know this machine."""
        return self.state / "node.key"

    @property
    def users_file(self) -> Path:
        """The users of this hub, and what they share."""
        return self.state / "users.json"

    @property
    def hub_file(self) -> Path:
        """What a hub of one process must not forget: revoked tokens."""
        return self.state / "hub.json"

    @property
    def commands_file(self) -> Path:
        """What this machine was asked to do through a hub, by command id."""
        return self.state / "commands.db"

    @property
    def join_file(self) -> Path:
        """The hub that this server joined, and the token for it."""
        return self.state / "join.json"

    @property
    def servers_file(self) -> Path:
        """The other servers that this one speaks for, with their tokens."""
        return self.state / "servers.json"

    @property
    def audit(self) -> Path:
        return self.state / "audit"

    @property
    def journals(self) -> Path:
        return self.state / "journals"

    @property
    def log_file(self) -> Path:
        return self.state / "server.log"

    @property
    def keeper_log(self) -> Path:
        return self.state / "keeper.log"


def is_directory(path: str) -> bool:
    """Whether it is one that we may know of; no, where `Path.is_dir` would raise."""
    return os.path.isdir(path)  # noqa: PTH112 - for what it does not do


def find_paths(env: Mapping[str, str], *, instance: str = "default") -> Paths:
    """`DUETTY_HOME` moves everything under one directory; otherwise XDG.

    Raises:
        BadSetting: if the instance's name could be a path.
    """
    if not is_name(instance) or set(instance) == {"."}:
        raise BadSetting(
            f"{instance!r} cannot name an instance", hint="use letters, digits, '-', '_' and '.'"
        )
    home = Path(env.get("HOME") or "~").expanduser()
    if moved := env.get("DUETTY_HOME"):
        root = Path(moved).expanduser().absolute()
        config, state, runtime = root, root / "state", root / "run"
    else:
        config = Path(env.get("XDG_CONFIG_HOME") or home / ".config") / "duetty"
        state = Path(env.get("XDG_STATE_HOME") or home / ".local" / "state") / "duetty"
        xdg_runtime = env.get("XDG_RUNTIME_DIR")
        runtime = Path(xdg_runtime) / "duetty" if xdg_runtime else _private_tmp(state)
    runtime /= instance
    if len(bytes(runtime)) + len("/keeper.sock") > MAX_SOCKET_PATH:
        runtime = _private_tmp(runtime)
    return Paths(
        instance=instance,
        config_file=config / "config.toml",
        state=state / instance,
        runtime=runtime,
    )


MODEL_TO_SET = (
    "set agent.model, for example `DUETTY_AGENT_MODEL=openai:gpt-5` with OPENAI_API_KEY in the"
    " server's environment; or agent.base_url and agent.model for an OpenAI-compatible server"
    " of your own"
)
"""What to do where the agent has no model."""

STARTED_BY = "DUETTY_INSIDE"
"""The socket of the server that started this: a process with the variable is no person to that server."""

OWN_PLACE = ("DUETTY_HOME", "DUETTY_INSTANCE", STARTED_BY)
"""Variables that say which server is meant."""


def with_own_place(env: Mapping[str, str], paths: Paths) -> dict[str, str]:
    """The same variables, by which our own program finds the server of this instance from anywhere."""
    found = {name: value for name, value in env.items() if name not in OWN_PLACE}
    if moved := env.get("DUETTY_HOME"):
        found["DUETTY_HOME"] = str(Path(moved).expanduser().absolute())
    if paths.instance != "default":
        found["DUETTY_INSTANCE"] = paths.instance
    found[STARTED_BY] = str(paths.server_socket)
    return found


def _private_tmp(key: Path) -> Path:
    """A short private place for sockets; `make_private` checks that it is ours."""
    import hashlib  # with OpenSSL behind it: 4 MB that the MCP bridge can do without

    digest = hashlib.sha256(bytes(key)).hexdigest()[:12]
    return _tmp_root() / digest


def _tmp_root() -> Path:
    return Path(f"/tmp/duetty-{os.getuid()}")  # noqa: S108 - owner and mode are checked before use


def _below_tmp(directory: Path) -> list[Path]:
    """The directories of ours between a place in /tmp, which anybody may fill, and /tmp."""
    root = _tmp_root()
    return (
        [root, *(each for each in directory.parents if root in each.parents)]
        if root in directory.parents
        else []
    )


def make_private(directory: Path) -> Path:
    """Create the directory 0700, or check that the one found is ours alone.

    Raises:
        StateUnwritable: if it cannot be made, or belongs to another user.
    """
    try:
        directory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        directory.mkdir(exist_ok=True, mode=0o700)
        for place in (directory, *_below_tmp(directory)):
            _close_to_others(place)
    except OSError as error:
        raise StateUnwritable(
            f"cannot use {directory}: {error.strerror}",
            hint="set DUETTY_HOME to a directory that you can write",
        ) from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise StateUnwritable(
            f"cannot write in {directory}",
            hint="set DUETTY_HOME to a directory that you can write",
        )
    return directory


def _close_to_others(place: Path) -> None:
    """By a descriptor: what is checked is what is changed, whatever takes its name meanwhile."""
    if not stat.S_ISDIR(place.lstat().st_mode):
        raise StateUnwritable(f"{place} is not a directory", hint="move it away")
    fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(fd)
        if found.st_uid != os.getuid():
            raise StateUnwritable(
                f"{place} belongs to another user", hint="set DUETTY_HOME to a place of yours"
            )
        if stat.S_IMODE(found.st_mode) & 0o077:
            os.fchmod(fd, 0o700)
    finally:
        os.close(fd)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The effective settings, and for each where it came from."""

    settings: Settings
    origins: Mapping[str, str]


def load_settings(
    paths: Paths, env: Mapping[str, str], *, flags: Mapping[str, object] | None = None
) -> Loaded:
    """File, then environment, then flags; the last one wins.

    Raises:
        BadSetting: naming file and line (or variable), and the nearest valid name.
    """
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    _read_file(paths.config_file, values, origins)
    for setting in fields(Settings):
        variable = f"DUETTY_{setting.name.upper()}"
        if variable in env:
            where = f"environment variable {variable}"
            values[setting.name] = _checked(
                setting.name, _from_text(env[variable], setting.type), where
            )
            origins[setting.name] = where
    for name, value in (flags or {}).items():
        if value is not None:
            values[name] = _checked(name, value, f"flag for {name}")
            origins[name] = "flag"
    for setting in fields(Settings):
        origins.setdefault(setting.name, "default")
    return Loaded(
        settings=Settings(**cast("Any", values)), origins=origins
    )  # each was checked above


def _read_file(path: Path, values: dict[str, object], origins: dict[str, str]) -> None:
    import tomllib

    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise BadSetting(
            f"cannot read {path}: {error.strerror}",
            hint="make it yours to read; inside a sandbox it is hidden",
        ) from error
    except UnicodeDecodeError as error:
        raise BadSetting(f"{path} is not UTF-8: byte {error.start + 1}") from error
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadSetting(mistake(path, text, error), hint=IS_TOML) from error
    known = {setting.name for setting in fields(Settings)}
    for section, table in document.items():
        if section in ("upstreams", "permissions"):
            continue  # tables of their own: upstreams/upstream_settings.py, ops/rulebook check them
        if not isinstance(table, dict):
            raise BadSetting(
                f"{path}:{toml_line(text, (section,))}: {section!r} is outside a section",
                hint="put it under [server], [session], [journal] or [run]",
            )
        for key, value in cast("dict[str, object]", table).items():
            if (section, key) in (("policy", "rules"), ("mcp", "servers")):
                continue  # tables of their own, likewise
            name = _ALSO.get(f"{section}_{key}", f"{section}_{key}")
            where = f"{path}:{toml_line(text, (section, key))}"
            if name in values and values[name] != value:
                raise BadSetting(f"{where}: {section}.{key} and {origins[name]} do not agree")
            if name not in known:
                near = get_close_matches(name, known, n=1)
                dotted = near[0].replace("_", ".", 1) if near else None
                raise BadSetting(
                    f"{where}: unknown setting {section}.{key}",
                    hint=f"did you mean {dotted}?" if dotted else "see the settings reference",
                )
            values[name] = _checked(name, value, where)
            origins[name] = where


def _from_text(text: str, type_: object) -> object:
    if type_ is bool:
        return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(
            text.lower(), text
        )
    if get_origin(type_) is tuple:
        return [part.strip() for part in text.split(",") if part.strip()]
    if type_ is int and re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    return text


def _checked(name: str, value: object, where: str) -> object:
    setting = next(each for each in fields(Settings) if each.name == name)
    kind = cast("type", get_origin(setting.type) or setting.type)  # plain classes, tuples of texts
    dotted = name.replace("_", ".", 1)
    if kind is tuple and isinstance(value, list):
        given = tuple(cast("list[object]", value))
        value = given if all(isinstance(part, str) for part in given) else None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise BadSetting(
            f"{where}: {dotted} takes {_TYPE_WORDS[kind]}",
            hint=f"it means: {setting.metadata['meaning']}",
        )
    low, high = setting.metadata["low"], setting.metadata["high"]
    if isinstance(value, int) and not isinstance(value, bool) and not low <= value <= high:
        raise BadSetting(f"{where}: {dotted} must be between {low} and {high}")
    choices = setting.metadata["choices"]
    if choices and value not in choices:
        raise BadSetting(f"{where}: {dotted} must be one of {', '.join(choices)}")
    return value


_TYPE_WORDS = {
    int: "a whole number",
    bool: "true or false",
    str: "a text",
    tuple: "a list of texts",
}


def base_prefix(text: str) -> str:
    """`/path` without a slash at its end; "" for none.

    Raises:
        BadSetting: if it is not a plain path.
    """
    parts = [part for part in text.split("/") if part]
    if not all(is_name(part) and set(part) != {"."} for part in parts):
        raise BadSetting(
            f"{text!r} cannot be server.base_prefix", hint="use plain words, for example /duetty"
        )
    return "".join(f"/{part}" for part in parts)


def server_hostname(text: str, machine: str) -> str:
    """What the setting says, or the machine's own name.

    Raises:
        BadSetting: if it could not be used in a path.
    """
    if text and (not is_name(text) or text.lower() == "local"):
        raise BadSetting(
            f"{text!r} cannot be server.hostname", hint="use letters, digits, '-', '_' and '.'"
        )
    return text or machine


def parse_bind(text: str) -> tuple[str, int]:
    """`HOST:PORT` (or `[v6]:PORT`) in two parts.

    Raises:
        BadSetting: if it is not of that form.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdigit() or int(port) > 65_535:
        raise BadSetting(f"{text!r} is not HOST:PORT", hint="for example 127.0.0.1:9315")
    return host, int(port)
