"""Servers that a project's file names: offered, and started only as a person accepted the file.

What is accepted is one content of one file: when it changes, what it names is offered anew.
A project can add servers, never more than its person gives: no trust, no wider sandbox, no
name that the person's own settings have.
"""

import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, cast

from duetty.errors import BadSetting, DuettyError, FingerprintChanged, NotFound, StateUnwritable
from duetty.file_lines import json_line, mistake
from duetty.private_file import read_private
from duetty.upstreams.upstream_settings import (
    KEYS,
    NAME,
    Address,
    Program,
    UpstreamOrder,
    Where,
    named_tables,
    parse_order,
)

FILES = (".duetty/settings.json", ".elwood/settings.json", ".mcp.json")
MAX_BYTES = 256 * 1024
MAX_DEPTH = 64
MAX_SERVERS = 32
VERSION = 1


class OfferNotFound(NotFound):
    """No such file of a project names servers."""

    code = "offer_not_found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What one file of a project names."""

    file: str
    fingerprint: str
    servers: Mapping[str, UpstreamOrder] = field(default_factory=dict[str, UpstreamOrder])
    problems: tuple[str, ...] = ()
    """Why others of its servers cannot be started."""


def read_offer(file: Path) -> Offer | None:
    """None where there is no such file, or it names no servers."""
    raw = _bytes(file)
    if raw is None:
        return None
    offer = Offer(file=str(file), fingerprint=sha256(raw).hexdigest())
    if len(raw) > MAX_BYTES:
        return replace(offer, problems=(f"it has more than {MAX_BYTES} bytes",))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return replace(offer, problems=(f"{file}: it is not UTF-8: byte {error.start + 1}",))
    try:
        tables, where = _tables(file, text)
    except (ValueError, RecursionError) as error:
        return replace(offer, problems=(f"{mistake(file, text, error)}; the file is JSON",))
    except BadSetting as error:
        return replace(offer, problems=(with_hint(error),))
    if not tables:
        return None
    servers: dict[str, UpstreamOrder] = {}
    problems: list[str] = []
    for original, table in list(tables.items())[:MAX_SERVERS]:
        name = original if NAME.fullmatch(original) else sanitised(original)
        if name is None or name in servers:
            problems.append(
                f"{where(original)}: no name for an upstream can be made of {original[:100]!r};"
                " rename it: each needs one of its own"
            )
            continue

        def here(*keys: str, above: str = original) -> str:
            return where(above, *keys)

        try:
            order = parse_order(name, _as_ours(file, table), where=here)
            servers[name] = _restricted(order, file, here)
        except BadSetting as error:
            problems.append(with_hint(error))
    if len(tables) > MAX_SERVERS:
        problems.append(f"only {MAX_SERVERS} servers of a file are looked at")
    return replace(offer, servers=servers, problems=tuple(problems))


def with_hint(error: DuettyError) -> str:
    """What is wrong, and what to do."""
    return error.message if error.hint is None else f"{error.message}; {error.hint}"


def _tables(file: Path, text: str) -> tuple[dict[str, object], Where]:
    """What the file names, and where what stands below a name is."""
    document: object = json.loads(text)
    above = ("mcpServers",) if file.name == ".mcp.json" else ("mcp", "servers")

    def where(*keys: str) -> str:
        return f"{file}:{json_line(text, keys)}"

    def below(*keys: str) -> str:
        return where(*above, *keys)

    if not isinstance(document, dict):
        raise BadSetting(
            f"{where()}: it must be a JSON object", hint='write {"mcpServers": {"NAME": {…}}}'
        )
    known = cast("dict[str, object]", document)
    servers = known.get(above[0], {})
    if not isinstance(servers, dict):
        raise BadSetting(f"{where(above[0])}: {above[0]} must be an object", hint="write {…}")
    if above == ("mcpServers",):
        return cast("dict[str, object]", servers), below
    return named_tables({"mcp": cast("object", servers)}, where), below


def _as_ours(file: Path, table: object) -> object:
    """As other hosts write it: `type` is their word for the transport, and other keys are their own."""
    if not isinstance(table, dict):
        return table
    fields = dict(cast("dict[str, object]", table))
    if "type" in fields and "transport" not in fields:
        fields["transport"] = fields.pop("type")
    if file.name != ".mcp.json":
        return fields
    if fields.get("disabled") is True:
        fields["enabled"] = False
    return {key: each for key, each in fields.items() if key in KEYS}


def _restricted(order: UpstreamOrder, file: Path, where: Where) -> UpstreamOrder:
    """With nothing in it that only a person may say."""
    root = file.parent if file.name == ".mcp.json" else file.parent.parent
    target = order.target
    match target:
        case Program():
            sandbox = None if target.sandbox == "none" else target.sandbox
            cwd = root if target.cwd is None else root / Path(target.cwd).expanduser()
            network = None if target.network else target.network
            target = replace(
                target, sandbox=sandbox, network=network, workspaces=None, cwd=str(cwd)
            )
        case Address():
            if (
                target.token_file
                or target.client_cert
                or target.ca_file
                or not target.verify
                or target.oauth
            ):
                raise BadSetting(
                    f"{where()}: upstream {order.name!r}: a project names no token_file, certificate, verify or oauth",
                    hint="use headers with a variable; the rest belongs in your own settings",
                )
    trust = "untrusted" if order.trust == "trusted" else order.trust
    return replace(
        order,
        target=target,
        trust=trust,
        has_roots=False,
        may_sample=False,
        may_elicit=False,
        project=str(file),
    )


def _bytes(file: Path) -> bytes | None:
    """Of a plain file only, and through no link: anything else may wait, or be another's."""
    try:
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
        descriptor = os.open(file, flags)
    except (OSError, ValueError):
        return None
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return opened.read(MAX_BYTES + 1)


def offers_for(places: Iterable[tuple[str, str]]) -> list[Offer]:
    """What files of projects name, for directories each with its workspace; for worker threads."""
    files: dict[Path, None] = {}
    for directory, workspace in places:
        if not directory.startswith("/"):
            continue
        for place in _up_to(Path(os.path.normpath(directory)), workspace):
            files |= dict.fromkeys(place / name for name in FILES)
    found = [read_offer(file) for file in files]
    return [each for each in found if each is not None]


def _up_to(directory: Path, workspace: str) -> list[Path]:
    """The directory, and those above it within its workspace."""
    if not workspace or not directory.is_relative_to(workspace):
        return [directory]
    above = [each for each in directory.parents if each.is_relative_to(workspace)]
    return [directory, *above[:MAX_DEPTH]]


class Accepted:
    """Files of projects that a person accepted, each with the fingerprint that was shown."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept = _read(path)

    def state(self, offer: Offer) -> Literal["offered", "accepted", "changed"]:
        kept = self._kept.get(offer.file)
        if kept is None:
            return "offered"
        return "accepted" if kept == offer.fingerprint else "changed"

    def orders(self, own: Mapping[str, UpstreamOrder]) -> dict[str, UpstreamOrder]:
        """The person's own, and those of accepted files that are still as they were accepted."""
        found = dict(own)
        for file, fingerprint in sorted(self._kept.items()):
            offer = read_offer(Path(file))
            if offer is not None and offer.fingerprint == fingerprint:
                found = {**offer.servers, **found}
        return found

    def accept(self, file: str, fingerprint: str) -> Offer:
        """Raises:
        OfferNotFound: if there is no such file.
        FingerprintChanged: if it is not what was shown.
        StateUnwritable: nothing is accepted then.
        """
        offer = read_offer(Path(file)) if Path(file).name in _LAST else None
        if offer is None or not file.startswith("/"):
            raise OfferNotFound(f"{file!r} names no servers")
        if offer.fingerprint != fingerprint:
            raise FingerprintChanged(
                f"{file} is not what was shown", hint="look at it again: `duetty upstreams offers`"
            )
        self._write({**self._kept, file: fingerprint})
        return offer

    def withdraw(self, file: str) -> None:
        """Raises:
        OfferNotFound: if it was not accepted.
        """
        if file not in self._kept:
            raise OfferNotFound(f"{file!r} was not accepted")
        self._write({name: each for name, each in self._kept.items() if name != file})

    def _write(self, kept: dict[str, str]) -> None:
        temporary = self._path.with_name(f"{self._path.name}.new")
        try:
            fd = os.open(
                temporary,
                os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_TRUNC | os.O_CLOEXEC,
                0o600,
            )
            with open(fd, "w", encoding="utf-8", errors="surrogatepass") as file:
                json.dump({"version": VERSION, "files": kept}, file)
                file.flush()
                os.fsync(fd)
            temporary.replace(self._path)
        except OSError as error:
            raise StateUnwritable(f"cannot write {self._path}: {error.strerror}") from error
        self._kept = kept


_LAST = frozenset(Path(each).name for each in FILES)


def _read(path: Path) -> dict[str, str]:
    """What is there; a file that cannot be read accepts nothing."""

    def shape(kept: Any) -> dict[str, str]:
        return {str(file): str(fingerprint) for file, fingerprint in kept["files"].items()}

    return read_private(path, shape) or {}


def sanitised(name: str) -> str | None:
    """A name as other hosts have them, as an upstream can be called; None if nothing is left."""
    text = "".join(char if char.isalnum() and char.isascii() else "-" for char in name.lower())
    text = "-".join(part for part in text.split("-") if part)[:32].strip("-")
    return text if text and NAME.fullmatch(text) else None
