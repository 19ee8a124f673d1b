"""What the server keeps on disk for its owner alone."""

import logging
import os
from pathlib import Path

import pytest

from duetty.errors import BadSetting
from duetty.startup import log_files
from duetty.startup.log_files import log_to
from duetty.startup.private_files import write_private
from duetty.startup.token_file import load_token


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


@pytest.mark.parametrize(
    "text", [b"\xff\xfe" * 20, "é".encode() * 20, b"a token " * 5, b"x" * 20 + b"\x00" * 9]
)
def test_a_token_that_cannot_be_sent_is_refused_by_name_of_its_file(
    tmp_path: Path, text: bytes
) -> None:
    (tmp_path / "token").write_bytes(text)

    with pytest.raises(BadSetting, match="token"):
        load_token(tmp_path / "token")


def test_the_log_is_its_owners_alone_one_of_an_earlier_version_too(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.touch(mode=0o644)
    path.chmod(0o644)
    root = logging.getLogger()
    before = root.handlers[:], root.level, logging.raiseExceptions, logging._srcfile  # type: ignore[attr-defined]
    mask = os.umask(0)
    try:
        log_to(path)
        logging.getLogger("duetty.test").warning("told")
        [mine] = [each for each in logging.getLogger().handlers if each not in before[0]]
        mine.close()
    finally:
        os.umask(mask)
        logging.getLogger().handlers[:], logging.raiseExceptions = before[0], before[2]
        logging.getLogger().setLevel(before[1])
        logging.setLogRecordFactory(logging.LogRecord)
        logging._srcfile = before[3]  # type: ignore[attr-defined]

    assert path.stat().st_mode & 0o777 == 0o600
    assert "told" in path.read_text()


def test_a_full_log_is_put_aside_and_the_oldest_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_files, "LOG_BYTES", 400)
    handler = log_files.PrivateLog(tmp_path / "server.log")
    handler.setFormatter(log_files.FieldsFormatter())
    for number in range(40):
        handler.emit(logging.makeLogRecord({"msg": f"line {number}", "name": "n"}))
    handler.close()

    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == ["server.log", *(f"server.log.{n}" for n in range(1, log_files.LOG_FILES + 1))]
    assert "line 39" in (tmp_path / "server.log").read_text()
    assert all(each.stat().st_size <= 400 for each in tmp_path.iterdir())
    assert all(each.stat().st_mode & 0o777 == 0o600 for each in tmp_path.iterdir())
