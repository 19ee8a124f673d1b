"""The engine in process: real keeper, real PTYs, real store, no HTTP."""

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from duetty.agent import open_agents
from duetty.blocks import Phase
from duetty.calls import Actor
from duetty.clock import SystemClock
from duetty.config import Paths, Settings, find_paths, make_private
from duetty.hub import Address, Hub, IpRules, Joining, Membership, Network, Rooms, Users
from duetty.ops import Access, AgentHands, Dispatcher, Node, PageOpening, Services, open_oversight
from duetty.processes import Processes
from duetty.session import Keeping, Registry, Session
from duetty.store import Store
from tests.homes import settle_home

AGENT = Actor(kind="agent", name="test")


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    paths: Paths
    registry: Registry
    store: Store
    services: Services
    dispatcher: Dispatcher

    async def call(self, operation: str, **arguments: object) -> Any:
        return await self.dispatcher.call(AGENT, operation, arguments)

    async def open(self, name: str = "s", **arguments: object) -> Session:
        opened = await self.call("session.open", name=name, **arguments)
        return self.registry.find(opened.name)

    async def run(self, line: str, *, session: str = "s", **arguments: object) -> Any:
        return await self.call("command.run", session=session, input=line, **arguments)


def child_env(home: Path) -> dict[str, str]:
    """A plain environment, so that nobody's own rc files take part."""
    return {
        "HOME": str(settle_home(home)),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
        "PS1": "$ ",
    }


@asynccontextmanager
async def running_engine(
    home: Path,
    *,
    settings: Settings | None = None,
    env: Mapping[str, str] | None = None,
    keep_sessions: bool = False,
) -> AsyncGenerator[Engine]:
    """`home` is both DUETTY_HOME and the child's HOME."""
    # Tests of terminals are about terminals; those of policy say which profile they mean.
    settings = settings or Settings(session_grace_ms=300, policy_profile="open")
    paths = find_paths({"DUETTY_HOME": str(home)})
    for place in (paths.state, paths.runtime, paths.journals, paths.scratch):
        make_private(place)
    clock = SystemClock()
    async with anyio.create_task_group() as tasks:
        with Store.open(paths.database) as store, ExitStack() as stack:
            registry = Registry(
                keeping=Keeping(paths.keeper_socket, paths.keeper_log),
                store=store,
                journals=paths.journals,
                scratch=paths.scratch,
                settings=settings,
                clock=clock,
                environment=env or child_env(home),
                url=lambda: "http://127.0.0.1:0",
                tasks=tasks,
            )
            processes = Processes(
                directory=paths.state / "processes",
                environment=env or child_env(home),
                most=settings.process_max,
                output_bytes=settings.process_output_mib * 1024 * 1024,
                clock=clock,
                tasks=tasks,
            )
            oversight = stack.enter_context(
                open_oversight(paths, settings, clock, store=store, registry=registry)
            )
            await registry.restore(oversight.runs_of)
            node = Node(
                hostname="test",
                identify=lambda: "0",
                instance=paths.instance,
                version="0",
                started_s=clock.monotonic_s(),
                address=lambda: "",
                new_link=lambda user: "",
                stop=lambda keep: None,
                is_persistent=lambda: True,
                persist=lambda stays: None,
                put_aside=list,
            )
            services = Services(
                node=node,
                settings=settings,
                clock=clock,
                registry=registry,
                store=store,
                access=Access(store, clock, own_token="own"),
                processes=processes,
                approvals=oversight.approvals,
                trail=oversight.trail,
                deciding=oversight.deciding,
                page_opening=PageOpening(
                    env or child_env(home), clock, directory=paths.runtime, tasks=tasks
                ),
                agents=open_agents(
                    settings, env or child_env(home), store=store, clock=clock, tasks=tasks
                ),
                hub=Hub(
                    file=paths.state / "servers.json",
                    hostname=node.hostname,
                    identify=node.identify,
                    network=Network(IpRules()),
                    tasks=tasks,
                ),
                rooms=Rooms(),
                users=Users(paths.users_file, clock),
                membership=Membership(file=paths.join_file, tasks=tasks, link=_no_hub),
            )
            dispatcher = Dispatcher(services)
            services.agents.hands = AgentHands(dispatcher, services)
            try:
                yield Engine(
                    paths=paths,
                    registry=registry,
                    store=store,
                    services=services,
                    dispatcher=dispatcher,
                )
            finally:
                with anyio.CancelScope(shield=True):
                    await processes.shut_down(grace_s=0.3)
                    await registry.shut_down(keep_sessions=keep_sessions, grace_s=0.3)
        tasks.cancel_scope.cancel()


def _no_hub(address: Address, token: str) -> Joining:
    raise AssertionError("no hub is joined here")


async def wait_phase(session: Session, phase: Phase) -> None:
    with anyio.fail_after(60):
        while session.prompt.phase is not phase:
            await session.pulse.wait()
