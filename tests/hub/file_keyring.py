"""A keyring of the `keyring` library that keeps its secrets in a file, for processes that tests start."""

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError


class FileKeyring(KeyringBackend):
    priority = 5  # pyright: ignore[reportAssignmentType] - a class property there

    def _kept(self) -> dict[str, str]:
        file = Path(os.environ["TEST_KEYRING_FILE"])
        return json.loads(file.read_text()) if file.exists() else {}

    def _save(self, kept: dict[str, str]) -> None:
        Path(os.environ["TEST_KEYRING_FILE"]).write_text(json.dumps(kept))

    def get_password(self, service: str, username: str) -> str | None:
        return self._kept().get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._save({**self._kept(), f"{service} {username}": password})

    def delete_password(self, service: str, username: str) -> None:
        kept = self._kept()
        if kept.pop(f"{service} {username}", None) is None:
            raise PasswordDeleteError(username)
        self._save(kept)
