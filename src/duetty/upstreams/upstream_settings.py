"""What a person ordered in `[upstreams.NAME]`, or `[mcp.servers.NAME]`, of the settings file; one clear error when it is wrong.

    [upstreams.github]
    command = "npx"
    args = ["-y", "@modelcontextprotocol/server-github"]
    env = { GITHUB_TOKEN = "${GITHUB_TOKEN}" }
    tools = { deny = ["delete_*"] }

    [mcp.servers.search]
    url = "https://search.example/mcp"
    headers = { Authorization = "Bearer ${API_TOKEN}" }

    [mcp.servers.search.permissions]
    trust_level = "untrusted"

`${NAME}` is filled in from the server's environment when the upstream is started, and
never before: what is listed or logged is the text with the name in it.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from hashlib import sha256
from ipaddress import ip_address
from json import dumps
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit, urlunsplit

from duetty.errors import BadSetting
from duetty.file_lines import IS_TOML, mistake, toml_line
from duetty.sandbox import REQUESTED_LEVELS, RequestedLevel

MAX_UPSTREAMS = 64
MAX_TIMEOUT_S = 86_400

NAME = re.compile(r"(?=.{1,32}\Z)[a-z0-9-]+(?:_[a-z0-9-]+)*")
"""No two underscores in a row, and none at an end: `mcp__NAME__TOOL` then has one reading."""

Trust = Literal["trusted", "untrusted", "sandbox"]
TRUST: tuple[Trust, ...] = ("trusted", "untrusted", "sandbox")

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_SECRET_WORD = re.compile(
    r"(token|secret|passw|pwd|api[-_]?key|apikey|credential|authorization|bearer)", re.IGNORECASE
)
_HIDDEN = "…"

_STDIO_KEYS = ("command", "args", "env", "cwd", "sandbox", "workspaces", "network")
_HTTP_KEYS = (
    "url", "headers", "token_file", "token_env", "ca_file", "client_cert", "client_key", "verify",
    "oauth",
)  # fmt: skip
_OAUTH_KEYS = (
    "scopes", "client_id", "client_secret", "client_metadata_url", "issuer", "grant",
    "redirect_port",
)  # fmt: skip
_COMMON_KEYS = (
    "timeout", "start_timeout", "start", "idle_timeout", "enabled", "tools", "transport",
    "permissions", "roots", "sampling", "elicitation",
)  # fmt: skip
_TRANSPORTS = {"stdio": "command", "http": "url", "streamable-http": "url"}
KEYS = (*_STDIO_KEYS, *_HTTP_KEYS, *_COMMON_KEYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A server that is started here and spoken to over its standard input and output."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None
    sandbox: RequestedLevel | None = None
    """None: as the settings say for sessions."""

    workspaces: tuple[str, ...] | None = None
    network: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth:
    """How an address that asks for it is signed in to; most need nothing of this."""

    scopes: tuple[str, ...] = ()
    """Empty: those that it asks for."""

    client_id: str | None = None
    """None: Duetty registers itself there."""

    client_secret: str | None = None
    client_metadata_url: str | None = None
    issuer: str | None = None
    """The server that `client_id` belongs to."""

    is_own: bool = False
    """Whether the client signs in for itself (`client_credentials`), and no person does."""

    redirect_port: int | None = None
    """Where a browser is sent back to on this machine; None: wherever there is room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A server elsewhere, spoken to over Streamable HTTP."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    token_file: str | None = None
    token_env: str | None = None
    ca_file: str | None = None
    """Certificates that its own is checked by, in place of the system's."""

    client_cert: str | None = None
    client_key: str | None = None
    verify: bool = True
    """False: any server that answers is accepted; each start logs that."""

    oauth: OAuth | None = None

    @property
    def has_token(self) -> bool:
        """Whether its table says what to show; else it is signed in to where it asks for that."""
        named = any(name.lower() == "authorization" for name in self.headers)
        return named or self.token_file is not None or self.token_env is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamOrder:
    name: str
    target: Program | Address
    timeout_s: float = 300.0
    """For one call."""

    start_timeout_s: float = 60.0
    """Until it has answered the handshake and listed its tools; `npx` may have to fetch it first."""

    is_lazy: bool = False
    """Connected to at first use; until then its tools are those that a person accepted."""

    idle_s: float | None = None
    """Of a lazy one: after so long without use it is ended until the next."""

    has_roots: bool = False
    """Whether it gets the workspaces of open sessions."""

    may_sample: bool = False
    """Whether it may ask for completions by the model of the caller's host."""

    may_elicit: bool = False
    """Whether it may put questions to a person."""

    enabled: bool = True
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    trust: Trust = "untrusted"
    """Whether its accepted tools run unasked; `sandbox`: its program runs confined, or not at all."""

    project: str | None = None
    """The project's file that names it; None for the person's own settings."""

    @property
    def transport(self) -> Literal["stdio", "http"]:
        return "stdio" if isinstance(self.target, Program) else "http"

    @property
    def identity(self) -> str:
        """What a person's trust is bound to: another command is another server."""
        match self.target:
            case Program() as program:
                facts: list[object] = ["stdio", program.command, program.args, program.cwd]
            case Address() as address:
                facts = ["http", address.url]
        return sha256(dumps(facts).encode("utf-8", "surrogatepass")).hexdigest()

    def allows(self, tool: str) -> bool:
        return any(fnmatchcase(tool, each) for each in self.allow) and not any(
            fnmatchcase(tool, each) for each in self.deny
        )

    @property
    def variables(self) -> frozenset[str]:
        """Names of the server's own variables that it is given."""
        match self.target:
            case Program(command=command, args=args, env=env):
                texts = [command, *args, *env.values()]
            case Address(url=url, headers=headers, token_env=token_env):
                texts = [url, *headers.values(), f"${{{token_env}}}" if token_env else ""]
                if (oauth := self.target.oauth) is not None:
                    texts += [oauth.client_id or "", oauth.client_secret or ""]
        return frozenset(name for text in texts for name, _ in _VARIABLE.findall(text))

    @property
    def shown(self) -> str:
        """For people: the command or address, with nothing in it that may be a secret."""
        match self.target:
            case Program(command=command, args=args):
                return " ".join([command, *_without_secrets(args)])
            case Address(url=url):
                parts = urlsplit(url)
                host = parts.netloc.rpartition("@")[2]
                query = _HIDDEN if parts.query else ""
                return urlunsplit((parts.scheme, host, parts.path, query, ""))


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """With `${NAME}` filled in.

    Raises:
        BadSetting: if there is no such variable; the message has its name only.
    """

    def value(found: "re.Match[str]") -> str:
        name = found[1]
        if name not in environment and found[2] is not None:
            return str(found[2])
        if name not in environment:
            raise BadSetting(
                f"the server's environment has no variable {name}",
                hint=f"set {name} where the server is started",
            )
        return environment[name]

    return _VARIABLE.sub(value, text)


def load_upstreams(config_file: Path) -> dict[str, UpstreamOrder]:
    """`[upstreams.*]` and `[mcp.servers.*]` of the settings file, checked.

    Raises:
        BadSetting: naming file and line, and what was meant.
    """
    try:
        text = config_file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadSetting(mistake(config_file, text, error), hint=IS_TOML) from error

    def where(*keys: str) -> str:
        return f"{config_file}:{toml_line(text, keys)}"

    found = named_tables(document, where)
    if len(found) > MAX_UPSTREAMS:
        raise BadSetting(
            f"{config_file}: more than {MAX_UPSTREAMS} upstreams", hint="remove some of them"
        )
    upstreams = cast("dict[str, object]", document.get("upstreams", {}))

    def place(name: str) -> Where:
        above = ("upstreams",) if name in upstreams else ("mcp", "servers")
        return lambda *keys: where(*above, name, *keys)

    return {name: parse_order(name, table, where=place(name)) for name, table in found.items()}


Where = Callable[..., str]
"""File and line of what stands below these keys; it is asked only when something is wrong there."""


def named_tables(document: Mapping[str, object], where: Where) -> dict[str, object]:
    """What stands at `upstreams` and at `mcp.servers`, by name.

    Raises:
        BadSetting: if one of them is no table, or a name stands at both.
    """
    mcp = document.get("mcp", {})
    servers: object = {}
    if isinstance(mcp, dict):
        servers = cast("dict[str, object]", mcp).get("servers", {})
    found: dict[str, object] = {}
    for place, tables in (("upstreams", document.get("upstreams", {})), ("mcp.servers", servers)):
        keys = place.split(".")
        if not isinstance(tables, dict):
            raise BadSetting(
                f"{where(*keys)}: {place} must be tables", hint=f"write [{place}.NAME]"
            )
        for name, table in cast("dict[str, object]", tables).items():
            if name in found:
                raise BadSetting(
                    f"{where(*keys, name)}: {name!r} stands at upstreams and at mcp.servers",
                    hint="remove one of them",
                )
            found[name] = table
    return found


def parse_order(name: str, table: object, *, where: Where) -> UpstreamOrder:
    """One table, checked.

    Raises:
        BadSetting: naming what is wrong with it, never a value that may be a secret.
    """
    if not NAME.fullmatch(name):
        raise BadSetting(
            f"{where()}: {name!r} cannot name an upstream",
            hint="use up to 32 lower-case letters, digits, '-' and single '_' between them",
        )
    if not isinstance(table, dict):
        raise BadSetting(
            f"{where()}: upstream {name!r} is no table",
            hint="give it command, which starts it, or url, which reaches it",
        )
    return _Table(name, cast("dict[str, object]", table), where).order()


class _Table:
    """Reads one table; every message says where it stands."""

    def __init__(self, name: str, fields: dict[str, object], where: Where) -> None:
        self._name = name
        self._fields = fields
        self._where = where

    def order(self) -> UpstreamOrder:
        self._check_keys()
        has_url = "url" in self._fields
        start = self._text("start") or "eager"
        if start not in ("eager", "lazy"):
            raise self._bad("start must be eager or lazy", None, "start")
        if start == "eager" and "idle_timeout" in self._fields:
            raise self._bad(
                "idle_timeout goes with start = lazy",
                "another is never ended for it",
                "idle_timeout",
            )
        tools, trust = self._tools(), self._trust()
        if trust == "sandbox" and has_url:
            raise self._bad(
                "trust_level sandbox needs a command",
                "what runs elsewhere cannot be confined",
                "permissions",
                "trust_level",
            )
        target = self._address() if has_url else self._program()
        if trust == "sandbox" and isinstance(target, Program) and target.sandbox in (None, "none"):
            target = replace(target, sandbox="any")
        return UpstreamOrder(
            name=self._name,
            target=target,
            trust=trust,
            timeout_s=self._seconds("timeout", 300.0),
            start_timeout_s=self._seconds("start_timeout", 60.0),
            is_lazy=start == "lazy",
            has_roots=self._bool("roots", default=False) is True,
            may_sample=self._bool("sampling", default=False) is True,
            may_elicit=self._bool("elicitation", default=False) is True,
            idle_s=self._seconds("idle_timeout", 600.0) if "idle_timeout" in self._fields else None,
            enabled=self._bool("enabled", default=True) is not False,
            allow=tools.get("allow", ("*",)),
            deny=tools.get("deny", ()),
        )

    def _check_keys(self) -> None:
        """Raises: BadSetting for a key that is none, or that another excludes."""
        for key in self._fields:
            if key not in KEYS:
                near = get_close_matches(key, KEYS, n=1)
                raise self._bad(
                    f"an upstream has no {key!r}",
                    f"did you mean {near[0]!r}?" if near else f"there are {', '.join(KEYS)}",
                    key,
                )
        has_command, has_url = "command" in self._fields, "url" in self._fields
        if has_command == has_url:
            raise self._bad("give either command or url", "command starts it, url reaches it")
        other = _HTTP_KEYS if has_command else _STDIO_KEYS
        if wrong := [key for key in self._fields if key in other]:
            with_what = "command" if has_command else "url"
            raise self._bad(
                f"{wrong[0]} does not go with {with_what}", f"leave {wrong[0]} out", wrong[0]
            )
        transport = self._text("transport")
        if transport is not None and transport not in _TRANSPORTS:
            raise self._bad(
                "transport must be stdio or http",
                "HTTP with SSE alone is not spoken",
                "transport",
            )
        if transport is not None and _TRANSPORTS[transport] not in self._fields:
            raise self._bad(
                f"transport {transport} needs {_TRANSPORTS[transport]}",
                "transport may be left out",
                "transport",
            )

    def _program(self) -> Program:
        sandbox = self._text("sandbox")
        if sandbox is not None and sandbox not in REQUESTED_LEVELS:
            raise self._bad(
                f"sandbox must be one of {', '.join(REQUESTED_LEVELS)}", None, "sandbox"
            )
        env = self._texts_by_name("env")
        for variable in env:
            if not _ENV_NAME.fullmatch(variable):
                raise self._bad(
                    f"{variable!r} cannot name a variable",
                    "use letters, digits and _",
                    "env",
                    variable,
                )
        command = self._text("command")
        if not command:
            raise self._bad("command is empty", "name the program", "command")
        workspaces = self._texts("workspaces") if "workspaces" in self._fields else None
        return Program(
            command=command,
            args=self._texts("args"),
            env=env,
            cwd=self._text("cwd"),
            sandbox=next((each for each in REQUESTED_LEVELS if each == sandbox), None),
            workspaces=workspaces,
            network=self._bool("network"),
        )

    def _address(self) -> Address:
        url = self._text("url") or ""
        parts = urlsplit(_VARIABLE.sub("x", url))
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise self._bad("url must be http:// or https://", "and have the server's name", "url")
        if parts.username is not None or parts.password is not None:
            raise self._bad(
                "url must hold no password", "use token_file, token_env or headers", "url"
            )
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            raise self._bad(
                "http:// would carry the token readable over the network", "use https://", "url"
            )
        headers = self._texts_by_name("headers")
        for header, value in headers.items():
            if not _HEADER_NAME.fullmatch(header) or not value.isprintable():
                raise self._bad(
                    f"{header!r} is no header that can be sent",
                    "names have no spaces, values are one line",
                    "headers",
                    header,
                )
        token_file, token_env = self._text("token_file"), self._text("token_env")
        if token_file is not None and token_env is not None:
            raise self._bad(
                "give token_file or token_env, not both", "remove one of them", "token_env"
            )
        if token_env is not None and not _ENV_NAME.fullmatch(token_env):
            raise self._bad(
                "token_env must be the name of a variable",
                "the value stands in the server's environment",
                "token_env",
            )
        certificate, key = self._text("client_cert"), self._text("client_key")
        if key is not None and certificate is None:
            raise self._bad(
                "client_key needs client_cert", "name the certificate's file", "client_key"
            )
        verify = self._bool("verify", default=True) is not False
        ca_file = self._text("ca_file")
        if not verify and ca_file is not None:
            raise self._bad(
                "ca_file means nothing with verify = false", "remove one of them", "ca_file"
            )
        found = Address(
            url=url,
            headers=headers,
            token_file=token_file,
            token_env=token_env,
            ca_file=ca_file,
            client_cert=certificate,
            client_key=key,
            verify=verify,
        )
        return replace(found, oauth=self._sign_in(found)) if "oauth" in self._fields else found

    def _sign_in(self, address: Address) -> OAuth:
        given = self._fields["oauth"]
        if not isinstance(given, dict):
            raise self._bad(
                "oauth must be a table", f"write [upstreams.{self._name}.oauth]", "oauth"
            )
        if address.has_token:
            raise self._bad("give a token or oauth, not both", "remove one of them", "oauth")
        fields = cast("dict[str, object]", given)
        return _Table(self._name, fields, lambda *keys: self._where("oauth", *keys)).oauth()

    def oauth(self) -> OAuth:
        """Of a table that is an upstream's `oauth`."""
        fields = self._fields
        if wrong := [key for key in fields if key not in _OAUTH_KEYS]:
            raise self._bad(
                f"oauth has no {wrong[0]!r}", f"there are {', '.join(_OAUTH_KEYS)}", wrong[0]
            )
        grant = self._text("grant") or "authorization_code"
        if grant not in ("authorization_code", "client_credentials"):
            raise self._bad(
                "oauth.grant must be authorization_code or client_credentials", None, "grant"
            )
        port = fields.get("redirect_port")
        if port is not None and (
            isinstance(port, bool) or not isinstance(port, int) or not 1024 <= port <= 65535
        ):
            raise self._bad("oauth.redirect_port must be a port above 1023", None, "redirect_port")
        found = OAuth(
            scopes=self._texts("scopes"),
            client_id=self._text("client_id"),
            client_secret=self._text("client_secret"),
            client_metadata_url=self._text("client_metadata_url"),
            issuer=self._text("issuer"),
            is_own=grant == "client_credentials",
            redirect_port=port,
        )
        if found.client_secret is not None and not _VARIABLE.search(found.client_secret):
            raise self._bad(
                "oauth.client_secret stands in the file",
                'write "${NAME_OF_A_VARIABLE}"',
                "client_secret",
            )
        if found.client_id is None and (found.client_secret is not None or found.is_own):
            raise self._bad("oauth.client_id is missing", "client_secret and grant go with it")
        if found.is_own and found.client_secret is None:
            raise self._bad(
                "client_credentials need oauth.client_secret",
                'write client_secret = "${NAME_OF_A_VARIABLE}"',
                "grant",
            )
        page = urlsplit(found.client_metadata_url or "https://x/y")
        if page.scheme != "https" or page.path in ("", "/"):
            raise self._bad(
                "oauth.client_metadata_url must be https:// with a path",
                None,
                "client_metadata_url",
            )
        return found

    def _trust(self) -> Trust:
        given = self._fields.get("permissions", {})
        if not isinstance(given, dict):
            raise self._bad(
                "permissions must be a table",
                'write permissions = { trust_level = "untrusted" }',
                "permissions",
            )
        table = cast("dict[str, object]", given)
        if wrong := [key for key in table if key != "trust_level"]:
            raise self._bad(
                f"permissions has no {wrong[0]!r}", "there is trust_level", "permissions", wrong[0]
            )
        level = table.get("trust_level", "untrusted")
        for known in TRUST:
            if known == level:
                return known
        raise self._bad(
            f"trust_level must be one of {', '.join(TRUST)}", None, "permissions", "trust_level"
        )

    def _tools(self) -> dict[str, tuple[str, ...]]:
        given = self._fields.get("tools", {})
        if not isinstance(given, dict):
            raise self._bad(
                "tools must be a table", 'write tools = { allow = ["read_*"] }', "tools"
            )
        table = cast("dict[str, object]", given)
        if wrong := [key for key in table if key not in ("allow", "deny")]:
            raise self._bad(
                f"tools has no {wrong[0]!r}", "there are allow and deny", "tools", wrong[0]
            )
        return {key: self._list(f"tools.{key}", value) for key, value in table.items()}

    def _text(self, key: str) -> str | None:
        value = self._fields.get(key)
        if value is None:
            return None
        if not isinstance(value, str) or "\0" in value:
            raise self._bad(f"{key} must be text", f'write {key} = "…"', key)
        return value

    def _texts(self, key: str) -> tuple[str, ...]:
        return self._list(key, self._fields.get(key, []))

    def _list(self, key: str, value: object) -> tuple[str, ...]:
        if isinstance(value, list):
            items = cast("list[object]", value)
            if all(isinstance(each, str) and "\0" not in each for each in items):
                return tuple(cast("list[str]", items))
        raise self._bad(f"{key} must be a list of texts", 'write ["one", "two"]', *key.split("."))

    def _texts_by_name(self, key: str) -> dict[str, str]:
        value = self._fields.get(key, {})
        if isinstance(value, dict):
            table = cast("dict[str, object]", value)
            if all(isinstance(each, str) and "\0" not in each for each in table.values()):
                return cast("dict[str, str]", table)
        raise self._bad(f"{key} must be a table of texts", 'write { NAME = "text" }', key)

    def _seconds(self, key: str, default: float) -> float:
        value = self._fields.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._bad(f"{key} takes seconds", f"write {key} = {default:g}", key)
        if not 0 < value <= MAX_TIMEOUT_S:
            raise self._bad(f"{key} must be between 0 and {MAX_TIMEOUT_S} seconds", None, key)
        return float(value)

    def _bool(self, key: str, *, default: bool | None = None) -> bool | None:
        value = self._fields.get(key, default)
        if value is not None and not isinstance(value, bool):
            raise self._bad(f"{key} takes true or false", "without quotes", key)
        return value

    def _bad(self, message: str, hint: str | None, *keys: str) -> BadSetting:
        """About what stands at these keys of the table."""
        return BadSetting(f"{self._where(*keys)}: upstream {self._name!r}: {message}", hint=hint)


def is_loopback(host: str) -> bool:
    """Whether it is this machine by its name or number."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _without_secrets(args: tuple[str, ...]) -> list[str]:
    """Arguments for show: what follows a word like `--token`, and what stands behind `token=`, is left out."""
    shown: list[str] = []
    hides_next = False
    for word in args:
        name, sign, _value = word.partition("=")
        if hides_next and not word.startswith("-"):
            shown.append(_HIDDEN)
        elif sign and _SECRET_WORD.search(name):
            shown.append(f"{name}={_HIDDEN}")
        elif "@" in word and "://" in word:
            shown.append(re.sub(r"://[^@/]*@", f"://{_HIDDEN}@", word))
        else:
            shown.append(word)
        hides_next = not sign and word.startswith("-") and bool(_SECRET_WORD.search(word))
    return shown


def as_toml(name: str, table: Mapping[str, Any]) -> str:
    """The table as text for the settings file; only of what `parse_order` takes."""
    lines = [f"[upstreams.{name}]"]
    lines += [f"{key} = {_toml(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case str():
            return dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list() | tuple():
            return f"[{', '.join(_toml(each) for each in cast('list[object]', value))}]"
        case dict():
            pairs = cast("dict[str, object]", value).items()
            return "{ " + ", ".join(f"{_toml(key)} = {_toml(each)}" for key, each in pairs) + " }"
        case _:
            raise TypeError(type(value).__name__)
