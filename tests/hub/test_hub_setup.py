"""A hub is set up with what it prints itself: each command and hint works as it stands there."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from duetty.client import Client
from duetty.config import find_paths
from tests.server_process import START_S, ServerProcess

pytestmark = [pytest.mark.pty]


class HubProcess:
    """`duetty hub` as a person starts it, and what it printed."""

    def __init__(self, home: Path) -> None:
        self.here = ServerProcess(home, DUETTY_KEYRING="no")
        self.paths = find_paths(self.here.env, instance="hub")
        self.client = Client(self.paths.server_socket)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "duetty", "hub", "--bind", "127.0.0.1:0"],
            env=self.here.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None
        self.banner = ""
        while "hub token create" not in self.banner:
            line = self._process.stdout.readline()
            assert line, self.banner
            self.banner += line
        self.url = re.findall(r"running at (\S+)", self.banner)[0]

    def typed(self, line: str) -> subprocess.CompletedProcess[str]:
        """Run a command as the banner or a hint shows it."""
        words = shlex.split(line)
        assert words[0].endswith("duetty"), line
        return self.here.command(*words[1:], input="")

    def end(self) -> None:
        self.here.command("stop", "-L", "hub")
        self._process.wait(START_S)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def hub(home: Path) -> Iterator[HubProcess]:
    hub = HubProcess(home)
    yield hub
    hub.here.command("stop")
    hub.end()


def shown(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    assert found is not None, text
    return found[1]


def test_the_banner_of_a_hub_says_the_next_two_steps_and_they_work(hub: HubProcess) -> None:
    added = hub.typed(shown(hub.banner, r"1\. .*:  (.*)"))
    joined = hub.here.command(*shown(hub.banner, r"2\. .*: +duetty (.*)").split(), input=added.stdout)
    token = hub.typed(shown(hub.banner, r"The hub.s own token: +(.*)"))
    agent = hub.typed(shown(hub.banner, r"\n +(\S.* hub token create ann)"))

    assert (added.returncode, joined.returncode) == (0, 0), added.stderr + joined.stderr
    assert "joined as a machine of ann" in joined.stdout
    assert (token.returncode, token.stdout.strip()) == (0, hub.paths.token_file.read_text().strip())
    assert (agent.returncode, "read" in agent.stderr) == (0, True)


def test_a_second_hub_names_the_hub_that_runs_and_not_the_persons_own_server(
    hub: HubProcess,
) -> None:
    own = hub.here.command("new", "-d", "--name", "mine", "cat")
    assert own.returncode == 0, own.stderr

    second = hub.here.command("hub", "--bind", "127.0.0.1:0")
    stopped = hub.typed(shown(second.stderr, r"end it with `(.*?)`"))

    assert "[instance_busy]" in second.stderr
    assert "duetty server" not in second.stderr
    assert stopped.stdout == "Stopped.\n"
    assert hub.here.command("list", "--names").stdout == "mine\n"
    assert not hub.client.is_up()
