"""A run is exactly its text: no history expansion, no alias of a comment sign, whichever shell."""

import pytest

from duetty.blocks import Phase
from tests.engine import AGENT, Engine, wait_phase

pytestmark = [pytest.mark.anyio, pytest.mark.shells]

EDITORS = ["bash", "zsh", "fish"]
LINES = [
    ('echo "hi!there"', "hi!there"),
    ("echo a !nosuch b", "a !nosuch b"),
    ("echo feat!: it", "feat!: it"),
    ("echo one # two", "one"),
    ("echo !!", "!!"),
    ("cat <<'E'\nwow! # no comment\n!x\nE", "wow! # no comment\n!x"),
    ("echo x && echo 'y!'\necho z!", "x\ny!\nz!"),
]


@pytest.mark.parametrize("shell", [*EDITORS, "dash"])
async def test_a_run_is_exactly_its_text(engine: Engine, shell: str) -> None:
    await engine.open(command=shell)
    lines = [each for each in LINES if shell != "fish" or "<<" not in each[0]]

    answers = [await engine.run(line) for line, _ in lines]

    for (line, output), answer in zip(lines, answers, strict=True):
        assert (answer.exit_code, answer.output.strip()) == (0, output), line


@pytest.mark.parametrize(
    ("shell", "options", "text"),
    [
        ("bash", "set -o | grep histexpand", "on"),
        ("zsh", "echo $histchars$options[interactivecomments]", "!^#off"),
    ],
)
async def test_a_person_has_the_history_back_after_a_run(
    engine: Engine, shell: str, options: str, text: str
) -> None:
    session = await engine.open(command=shell)
    await engine.run("echo 'wow!' # done")
    await wait_phase(session, Phase.INPUT)

    session.write(f"{options} >seen\r".encode(), actor=AGENT)
    await engine.run("true")
    seen = await engine.run("cat seen")

    assert text in seen.output


@pytest.mark.parametrize("keys", ["set -o vi", "set -o emacs"])
async def test_the_editing_mode_of_bash_does_not_matter(engine: Engine, keys: str) -> None:
    await engine.open(command="bash")
    await engine.run(keys)

    answer = await engine.run('echo "hi!there"')

    assert answer.output.strip() == "hi!there"


@pytest.mark.parametrize("keys", ["bindkey -v", "bindkey -e"])
async def test_the_editing_mode_of_zsh_does_not_matter(engine: Engine, keys: str) -> None:
    await engine.open(command="zsh")
    await engine.run(keys)

    answer = await engine.run('echo "hi!there" # x')

    assert answer.output.strip() == "hi!there"
