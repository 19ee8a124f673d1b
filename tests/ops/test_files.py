"""Files of a workspace: what is read, and what no path leads to."""

import base64
import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from duetty.ops.files import FileMissing, FileRefused, Read, list_files, read_file


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    (place / "src").mkdir(parents=True)
    (place / "src/main.py").write_text("print('ä')\n")
    (tmp_path / "outside").write_text("no\n")
    return place


def read(workspace: Path, path: str, *, cwd: str = "", max_bytes: int = 1_000) -> Read:
    return read_file(str(workspace), cwd or str(workspace), path, max_bytes)


def test_a_file_is_read_relative_to_the_directory_and_told_relative_to_the_workspace(
    workspace: Path,
) -> None:
    found = read(workspace, "main.py", cwd=str(workspace / "src"))

    assert found == Read(
        path="src/main.py",
        media_type="text/x-python",
        encoding="utf8",
        data="print('ä')\n",
        size_bytes=12,
        truncated=False,
    )
    assert read(workspace, "src/main.py", cwd="/etc").path == "src/main.py"
    assert read(workspace, "../src/main.py", cwd=str(workspace / "src")).path == "src/main.py"


def test_a_long_file_is_cut_between_characters_and_bytes_come_as_base64(workspace: Path) -> None:
    (workspace / "raw").write_bytes(b"\0\xff")

    cut = read(workspace, "src/main.py", max_bytes=8)
    raw = read(workspace, "raw")

    assert (cut.data, cut.size_bytes, cut.truncated) == ("print('", 12, True)
    assert (raw.encoding, base64.b64decode(raw.data)) == ("base64", b"\0\xff")
    assert raw.media_type == "application/octet-stream"


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "~/x",
        "../outside",
        "src/../../outside",
        "link-out",
        "linked/outside",
        "pipe",
        "src",
        ".",
        ".env",
        "keys/id_rsa",
        ".git/config",
        "to-secret",
    ],
)
def test_what_is_outside_no_plain_file_or_secret_is_refused(workspace: Path, path: str) -> None:
    (workspace / "link-out").symlink_to(workspace.parent / "outside")
    (workspace / "linked").symlink_to(workspace.parent)
    (workspace / "keys").mkdir()
    for secret in (".env", "keys/id_rsa"):
        (workspace / secret).write_text("secret\n")
    (workspace / "to-secret").symlink_to(".env")
    (workspace / ".git").mkdir()
    (workspace / ".git/config").write_text("")
    os.mkfifo(workspace / "pipe")

    with pytest.raises(FileRefused):
        read(workspace, path)


def test_a_link_inside_is_followed_and_what_is_not_there_is_missing(workspace: Path) -> None:
    (workspace / "link").symlink_to("src/main.py")

    assert read(workspace, "link").path == "src/main.py"
    with pytest.raises(FileMissing):
        read(workspace, "src/none.py")
    with pytest.raises(FileMissing):
        read(workspace, "src/main.py/below")


def test_a_directory_that_is_exchanged_for_a_link_meanwhile_leads_nowhere_else(
    workspace: Path,
) -> None:
    (workspace.parent / "main.py").write_text("outside\n")
    source, aside = workspace / "src", workspace / "aside"
    is_over = threading.Event()

    def exchange() -> None:
        while not is_over.is_set():
            source.rename(aside)
            source.symlink_to(workspace.parent)
            source.unlink()
            aside.rename(source)

    exchanging = threading.Thread(target=exchange)
    exchanging.start()
    try:
        for _ in range(2_000):
            with suppress(FileMissing, FileRefused):
                assert read(workspace, "src/main.py").data != "outside\n"
    finally:
        is_over.set()
        exchanging.join()


def test_a_directory_is_listed_without_secrets(workspace: Path) -> None:
    (workspace / ".env").write_text("")
    (workspace / "link").symlink_to("src")

    assert list_files(str(workspace), "/", ".") == (
        ".",
        [("link", "link"), ("src", "directory")],
        False,
    )
    with pytest.raises(FileRefused):
        list_files(str(workspace), "/", "..")
