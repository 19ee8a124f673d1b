"""Writing files is ordinary work: large here-documents with every awkward character run unasked and arrive whole."""

from pathlib import Path

import anyio
import pytest

from duetty.config import Settings
from tests.engine import running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.shells]

AWKWARD = """\
import os, shutil  # rm -rf / is only text here, so is $(reboot) and `halt` !! !x ^a^b
shutil.rmtree("/"); os.system("rm -rf ~")
print('it''s "quoted" \\\\ \\t %s {} $HOME ${x:-y} (parentheses) [brackets] & | ; < > ~ #')
emoji = "\N{WARNING SIGN}\N{VARIATION SELECTOR-16} grüße 日本語"
\tindented with a tab
"""


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize("kib", [1, 12, 200])
async def test_a_large_quoted_here_document_is_written_unasked(
    home: Path, shell: str, kib: int
) -> None:
    text = AWKWARD * (kib * 1024 // len(AWKWARD.encode()) + 1)
    guarded = Settings(session_grace_ms=300, policy_profile="guarded")
    async with running_engine(home, settings=guarded) as engine:
        with anyio.fail_after(120):
            await engine.call("session.open", name="s", command=shell)
            answer = await engine.run(f"cat > app.py <<'EOF'\n{text}EOF", max_wait_ms=100_000)
            after = await engine.run("wc -c < app.py")

    assert answer.exit_code == 0
    assert (home / "app.py").read_text() == text
    assert int(after.output) == len(text.encode())
