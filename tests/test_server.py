"""What the server keeps on disk for its owner alone."""

import os
from pathlib import Path

import pytest

from duetty.errors import BadSetting
from duetty.server import load_token, write_private


def test_a_private_file_is_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        write_private(tmp_path / "secret", "text")
    finally:
        os.umask(mask)

    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "secret").read_text() == "text\n"


def test_a_token_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = load_token(path)
    path.chmod(0o644)

    assert load_token(path) == token
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_token_that_could_be_guessed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("password\n")

    with pytest.raises(BadSetting):
        load_token(tmp_path / "token")
