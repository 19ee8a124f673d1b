"""What `packaging/` holds, started as far as it can be without Docker and without being root."""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from duetty.cli.commands import hub
from tests.hub.conftest import wait_for
from tests.hub.nats_server import nats_server
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

PACKAGING = Path(__file__).parents[2] / "packaging"
COMPOSE: dict[str, Any] = yaml.safe_load((PACKAGING / "compose.yaml").read_text())


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="duetty hub")
    hub.add_arguments(made)
    return made


def test_each_example_of_the_hubs_help_is_one_that_it_takes() -> None:
    for example, _ in hub.EXAMPLES:
        words = [each for each in shlex.split(example) if "=" not in each]
        assert words[:2] == ["duetty", "hub"]
        assert parser().parse_args(words[2:]).act, example


def test_the_hubs_help_says_what_to_do_first(tmp_path: Path) -> None:
    text = ServerProcess(tmp_path).command("hub", "--help").stdout

    assert all(f"duetty hub {word}" in text for word in ("user add", "token create", "machines"))
    assert "duetty join HUB" in text


def test_the_systemd_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd here")
    text = (PACKAGING / "duetty-hub.service").read_text()
    [command] = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    assert parser().parse_args(shlex.split(command)[2:]).act == "serve"
    unit = tmp_path / "duetty-hub.service"
    unit.write_text(text.replace("/usr/local/bin/duetty", sys.executable))

    done = subprocess.run([analyze, "verify", unit], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_the_compose_file_names_files_that_are_there_and_services_that_it_has() -> None:
    services = COMPOSE["services"]
    mounted = [each for one in services.values() for each in one.get("volumes", [])]
    files = {each.partition(":")[0] for each in mounted if each.startswith("./")}

    assert services.keys() == {"nats", "hub-1", "hub-2", "proxy"}
    assert files - {"./certs"} == {"./nats.conf", "./nginx.conf"}
    assert all((PACKAGING / each).is_file() for each in files - {"./certs"})
    for one in services.values():
        assert set(one.get("depends_on", ())) <= services.keys()


def test_a_hub_runs_by_the_command_and_the_check_of_the_compose_file(tmp_path: Path) -> None:
    given = COMPOSE["services"]["hub-1"]
    with nats_server() as engine:
        swaps = {"0.0.0.0:9320": "127.0.0.1:0", "nats://nats:4222": engine.url}
        words: list[str] = [swaps.get(each, each) for each in map(str, given["command"])]
        assert words[0] == "duetty"
        here = ServerProcess(tmp_path)
        process = subprocess.Popen(
            [sys.executable, "-m", *words], env=here.env, stdout=subprocess.DEVNULL
        )
        try:
            address = here.paths.address_file.parents[1] / "hub" / here.paths.address_file.name
            url = wait_for(lambda: address.read_text().strip() if address.exists() else None)
            check = given["healthcheck"]["test"]
            code = check[-1].replace("http://127.0.0.1:9320", url)
            done = subprocess.run([sys.executable, *check[2:-1], code], check=False)
            ready = httpx.get(f"{url}/ready").json()
        finally:
            process.terminate()
            ended = process.wait(60)
            here.command("-L", "hub", "stop")

    assert done.returncode == 0
    assert ready["engine"] == "connected"
    assert ended == 0


def test_nats_takes_the_configuration(tmp_path: Path) -> None:
    program = shutil.which("nats-server") or str(Path(sys.executable).parent / "nats-server")
    text = (PACKAGING / "nats.conf").read_text().replace("/data", str(tmp_path))
    file = tmp_path / "nats.conf"
    file.write_text(text)

    done = subprocess.run(
        [program, "-t", "-c", file], capture_output=True, text=True, check=False, env=os.environ
    )

    assert done.returncode == 0, done.stderr
