"""The link that signs a browser in is handed over where nobody else can read it."""

import os
import stat
from pathlib import Path
from urllib.parse import unquote, urlsplit

import anyio
import pytest

from duetty.clock import SystemClock
from duetty.ops import page_opening
from duetty.ops.page_opening import PageOpening

pytestmark = pytest.mark.anyio

LINK = 'http://127.0.0.1:9315/login?a=1&code=SECRET"><script>x</script>'


@pytest.fixture
def desktop(tmp_path: Path) -> dict[str, str]:
    """Its browser keeps what it was told, and the file that it was told of."""
    program = tmp_path / "xdg-open"
    program.write_text(
        f"#!/bin/sh\ntr '\\0' ' ' </proc/$$/cmdline >{tmp_path}/cmdline\nenv >{tmp_path}/env\n"
        f'cat "${{1#file://}}" >{tmp_path}/read; echo "$1" >{tmp_path}/new; mv {tmp_path}/new {tmp_path}/given\n'
    )
    program.chmod(0o755)
    return {"DISPLAY": ":0", "PATH": f"{tmp_path}:{os.environ['PATH']}"}


async def test_the_link_stands_in_a_private_file_and_on_no_command_line(
    tmp_path: Path, desktop: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_opening, "READ_S", 0.2)
    place = tmp_path / "run dir"
    place.mkdir(mode=0o700)
    page, mode = place, 0
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            opening = PageOpening(desktop, SystemClock(), directory=place, tasks=tasks)
            await opening.open(lambda: LINK)
            [page] = place.iterdir()
            mode = stat.S_IMODE(page.stat().st_mode)
            while not (tmp_path / "given").exists():
                await anyio.sleep(0.01)
        left = list(place.iterdir())

    told = (tmp_path / "cmdline").read_text() + (tmp_path / "env").read_text()
    assert "SECRET" not in told
    assert unquote(urlsplit((tmp_path / "given").read_text().strip()).path) == str(page)
    assert mode == 0o600
    assert left == []


async def test_the_file_leads_to_the_link_whatever_it_holds(
    tmp_path: Path, desktop: dict[str, str]
) -> None:
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            opening = PageOpening(desktop, SystemClock(), directory=tmp_path, tasks=tasks)
            await opening.open(lambda: LINK)
            while not (tmp_path / "given").exists():
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()

    read = (tmp_path / "read").read_text()
    assert "0;url=http://127.0.0.1:9315/login?a=1&amp;code=SECRET&quot;&gt;&lt;script" in read
    assert "<script" not in read
    assert list(tmp_path.glob("page-*")) == []  # the end of the server removes it, too


async def test_what_a_killed_server_left_is_removed_at_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "page-old.html").write_text("SECRET")
    (tmp_path / "other.html").write_text("")
    async with anyio.create_task_group() as tasks:
        PageOpening({}, SystemClock(), directory=tmp_path, tasks=tasks)

    assert [each.name for each in tmp_path.iterdir()] == ["other.html"]
