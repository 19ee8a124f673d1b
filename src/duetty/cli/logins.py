"""Hubs that this user logged in to: the tokens in the system's keyring, or in a file only they can read."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from duetty.client.hub_address import HubAddress
from duetty.config import Paths
from duetty.errors import BadArguments, StateUnwritable
from duetty.private_file import write_private

SERVICE = "duetty hub"


def file_of(paths: Paths) -> Path:
    return paths.config_file.parent / "hubs.json"


def known(paths: Paths) -> dict[str, str]:
    """Token by address; empty where the keyring has it."""
    try:
        kept = json.loads(file_of(paths).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, str]", kept) if isinstance(kept, dict) else {}


def store(paths: Paths, url: str, token: str) -> str:
    """Where it was put: `keyring` or the file.

    Raises:
        StateUnwritable: if neither can be written.
    """
    ring = _keyring()
    in_ring = ring is not None and _put(ring, url, token)
    _save(paths, {**known(paths), url: "" if in_ring else token})
    return "the system's keyring" if in_ring else str(file_of(paths))


def forget(paths: Paths, url: str) -> None:
    """Raises:
    BadArguments: if there is no login for that hub.
    """
    kept = known(paths)
    if kept.pop(url, None) is None:
        raise BadArguments(f"not logged in to {url}")
    if (ring := _keyring()) is not None:
        with suppress(Exception):  # each backend fails in its own way; the file is what counts
            ring.delete_password(SERVICE, url)
    _save(paths, kept)


def address_of(paths: Paths, url: str) -> HubAddress:
    """Raises:
    BadArguments: if there is no login for that hub.
    """
    url = url.rstrip("/")
    kept = known(paths)
    token = os.environ.get("DUETTY_HUB_TOKEN", "") or kept.get(url)
    if token is None:
        raise BadArguments(f"not logged in to {url}", hint=f"duetty login {url}")
    if not token and (ring := _keyring()) is not None:
        token = ring.get_password(SERVICE, url) or ""
    if not token:
        raise BadArguments(f"the keyring has no token for {url}", hint=f"duetty login {url}")
    return HubAddress(url=url, token=token, ca_file=os.environ.get("DUETTY_HUB_TLS_CA", ""))


def _keyring() -> Any:
    """The system's keyring, where there is one that keeps anything."""
    if os.environ.get("DUETTY_KEYRING") == "no":
        return None
    try:
        import keyring

        backend = keyring.get_keyring()
    except Exception:  # noqa: BLE001 - not installed, or no session bus: the file does
        return None
    return backend if backend.priority >= 1 else None


def _put(ring: Any, url: str, token: str) -> bool:
    try:
        ring.set_password(SERVICE, url, token)
        return ring.get_password(SERVICE, url) == token
    except Exception:  # noqa: BLE001 - a locked keyring: the file does
        return False


def _save(paths: Paths, kept: Mapping[str, str]) -> None:
    file = file_of(paths)
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(file, kept)
    except OSError as error:
        raise StateUnwritable(f"cannot write {file}: {error.strerror}") from error
