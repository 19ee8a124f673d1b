"""Upstreams with real programs behind them, without a server in front."""

import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from duetty.sandbox import SandboxRequest
from duetty.upstreams import Surroundings, Timing, Upstream, UpstreamOrder, Upstreams
from duetty.upstreams.pins import Pins
from duetty.upstreams.upstream_settings import Program, parse_order
from duetty.upstreams.upstreams import connecting, logging_in

HERE = Path(__file__).parent
WAIT_S = 60

SOON = Timing(first_retry_s=0.05, last_retry_s=0.2, retries=3, jitter=lambda: 0.5)


def plain(**plan: Any) -> dict[str, Any]:
    """The table of an upstream that starts at once; `trust` is its level, else it is trusted."""
    trust = plan.pop("trust", "trusted")
    return {
        "command": sys.executable,
        "args": ["-I", "-S", str(HERE / "plain_server.py"), json.dumps(plan)],
        "permissions": {"trust_level": trust},
    }


def official(**env: str) -> dict[str, Any]:
    """The table of one that is made with the official SDK."""
    return {
        "command": sys.executable,
        "args": [str(HERE / "server.py"), "stdio"],
        "env": env,
        "permissions": {"trust_level": "trusted"},
    }


def named(*tools: str) -> list[dict[str, Any]]:
    return [{"name": each, "description": f"Does {each}."} for each in tools]


class Home:
    """Where upstreams keep their things; what starts there a second time knows the first."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.tables: dict[str, dict[str, Any]] = {}
        self.environment = {
            "HOME": str(directory),
            "PATH": os.environ["PATH"],
            "SECRET_OF_THE_SERVER": "hunter2",
        }

    def orders(self) -> dict[str, UpstreamOrder]:
        return {
            name: parse_order(name, table, where=lambda *_: "test")
            for name, table in self.tables.items()
        }

    @asynccontextmanager
    async def running(
        self,
        *,
        timing: Timing = SOON,
        sandbox: Callable[[Program], SandboxRequest] | None = None,
        sign_in: Callable[[str], Awaitable[str]] | None = None,
        **tables: dict[str, Any],
    ) -> AsyncGenerator[Upstreams]:
        self.tables = {name.replace("_", "-"): table for name, table in tables.items()}
        surroundings = Surroundings(
            environment=self.environment,
            logs=self.directory / "logs",
            logins=self.directory / "logins",
            sign_in=sign_in,
            sandbox=sandbox or (lambda program: SandboxRequest(asked=program.sandbox or "none")),
        )
        upstreams = Upstreams(
            self.orders(),
            pins=Pins(self.directory / "pins.json"),
            open_link=connecting(surroundings),
            reload=self.orders,
            timing=timing,
            log_in=logging_in(surroundings),
            logins=surroundings.logins,
        )
        async with upstreams.running():
            await upstreams.wait_settled(at_most_s=WAIT_S)
            yield upstreams


async def trusted(upstreams: Upstreams, name: str = "it") -> Upstream:
    """The upstream, after a person looked at all of its tools."""
    upstream = upstreams.find(name)
    await upstream.connected()
    assert upstream.fingerprint is not None
    await upstreams.trust(name, fingerprint=upstream.fingerprint, tools=None)
    return upstream


async def until(upstreams: Upstreams, fact: Callable[[], bool]) -> None:
    with anyio.fail_after(WAIT_S):
        while not fact():
            await upstreams.wait_change(upstreams.seq)


async def until_true(fact: Callable[[], bool]) -> None:
    with anyio.fail_after(WAIT_S):
        while not fact():
            await anyio.sleep(0.02)
