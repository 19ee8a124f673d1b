"""One upstream, supervised: started, listed, watched, started again after a failure, ended.

Its task owns the connection. Calls of others go over the connection while it is
there, and end with a coded error when it goes.
"""

import logging
import math
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal, cast

import anyio

from duetty.clock import Clock
from duetty.errors import (
    BadArguments,
    DuettyError,
    Exhausted,
    SandboxUnavailable,
    ToolNotFound,
    ToolNotTrusted,
    ToolOff,
    UpstreamFault,
    UpstreamNeedsLogin,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from duetty.upstreams.link import LEVELS, Asked, Hears, Link, Timing
from duetty.upstreams.pins import Pins, PinState
from duetty.upstreams.tools import Tool, fingerprint_of, shown, tools_of
from duetty.upstreams.upstream_settings import Address, Program, UpstreamOrder

State = Literal["off", "starting", "idle", "ready", "failed", "quarantined", "needs_login"]
Listing = Literal["resources", "prompts"]
Open = Callable[[UpstreamOrder, Hears], AbstractAsyncContextManager[Link]]

MAX_TOOLS = 5_000
MAX_INSTRUCTIONS = 8_000
SETTLE_S = 0.05
"""Changes of its lists that come together are looked at together."""

LOOK_S = 0.25
LINGER_S = 20.0
"""How long a resource stays subscribed to after its last waiter."""

MAX_WATCHED = 1_000
LISTINGS: tuple[Listing, ...] = ("resources", "prompts")

FINAL = (BadArguments, SandboxUnavailable, UpstreamNeedsLogin)
"""Failures that another try does not mend: a person has to change something."""

log = logging.getLogger("duetty.upstreams")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asking:
    """Who answers what an upstream asks for during a call."""

    caller: str
    """Who calls, and through which client: calls of one caller have one who answers."""

    answer: Asked


@dataclass(slots=True)
class _Watched:
    """A resource that is subscribed to."""

    lookers: int = 0
    updates: int = 0
    left_s: float = 0.0


class Upstream:
    def __init__(
        self,
        order: UpstreamOrder,
        *,
        open_link: Open,
        pins: Pins,
        clock: Clock,
        timing: Timing,
        changed: Callable[[], None],
        logged: Callable[[str, str, str | None, object], None],
        unowned: Callable[[str, str, Mapping[str, Any]], Awaitable[dict[str, Any]]],
    ) -> None:
        """`logged` and `unowned` are given this upstream's name first; `unowned` answers what it asks
        while it is not known which of its calls is meant.
        """
        self.order = order
        self.tools: Mapping[str, Tool] = {}
        self.since_ns = clock.wall_ns()
        self.error: DuettyError | None = None
        self.restarts = 0
        self.retry_at_ns: int | None = None
        self.link: Link | None = None
        self.resource_changes = 0
        self.prompt_changes = 0
        self._open = open_link
        self._pins = pins
        self._clock = clock
        self._timing = timing
        self._changed = changed
        self._relist = anyio.Event()
        self._wake = anyio.Event()
        self._uses = 0
        self._unowned = unowned
        self._asking: list[Asking] = []
        self._hears = Hears(
            changed=self._note_change,
            asked=self._asked,
            logged=lambda level, logger, data: logged(order.name, level, logger, data),
            updated=self._note_update,
        )
        self._level = LEVELS.index("info")
        self._watched: dict[str, _Watched] = {}
        self._updated = anyio.Event()
        self._used_s = self._linked_s = clock.monotonic_s()
        self._lists: dict[Listing, Any] = {}
        self._listed_once: dict[Listing, anyio.Event] = {}
        self._stale: dict[Listing, anyio.Event] = {}
        self._settled = anyio.Event()
        self.state: State = "starting" if self.is_on else "off"
        """A server that has just started answers before its upstreams do: who calls then waits."""

    @property
    def name(self) -> str:
        return self.order.name

    @property
    def is_on(self) -> bool:
        pinned = self._pins.is_on(self.name)
        return self.order.enabled if pinned is None else pinned

    @property
    def fingerprint(self) -> str | None:
        return fingerprint_of(self.tools) if self.link is not None else None

    @property
    def instructions(self) -> str | None:
        """How it wants to be used, in its own words, with everything that hides made visible."""
        instructions = None if self.link is None else self.link.instructions
        return shown(instructions)[:MAX_INSTRUCTIONS] if instructions else None

    @property
    def may_ask(self) -> list[Literal["sampling", "elicitation"]]:
        found: list[Literal["sampling", "elicitation"]] = []
        if self.order.may_sample:
            found.append("sampling")
        if self.order.may_elicit:
            found.append("elicitation")
        return found

    @property
    def offered(self) -> Mapping[str, Tool]:
        """Its tools; of one that is not connected to yet those that a person accepted of it."""
        if self.link is not None:
            return self.tools
        if self.state in ("starting", "idle", "needs_login"):
            return self._pins.remembered(self.name, self.order.identity)
        return {}

    # --- its life, as one task ------------------------------------------------------

    def begin(self) -> None:
        """Its task is about to run: calls from here on wait for it."""
        self._become("starting")

    async def live(self) -> None:
        """Until cancelled, or until only a person can help."""
        failures = 0
        try:
            while True:
                if self.order.is_lazy and not failures and self.offered:
                    self._wake = anyio.Event()
                    self._become("idle")
                    await self._wake.wait()
                self._become("starting")
                began_s = self._clock.monotonic_s()
                error = await self._once()
                if error is None:
                    failures = 0
                    continue  # ended because it was idle
                if self._clock.monotonic_s() - began_s >= self._timing.stable_s:
                    failures = 0
                failures += 1
                wait_s = self._retry_s(failures, error)
                self.retry_at_ns = (
                    None if wait_s is None else self._clock.wall_ns() + int(wait_s * 1e9)
                )
                needs_login = isinstance(error, UpstreamNeedsLogin)
                self._become("needs_login" if needs_login else "failed", error)
                log.warning(
                    "upstream_failed",
                    extra={"upstream": self.name, "code": error.code, "retry_s": wait_s},
                )
                if wait_s is None:
                    return
                await anyio.sleep(wait_s)
                self.restarts += 1
        finally:
            self.link = None
            self.tools = {}
            self._settled.set()

    async def _once(self) -> DuettyError | None:
        """Connect and serve until it is lost; what ended it, None where it was only unused."""
        is_unused = False
        for kind in LISTINGS:
            self._listed_once[kind], self._stale[kind] = anyio.Event(), anyio.Event()
        limit = anyio.CancelScope(deadline=anyio.current_time() + self.order.start_timeout_s)
        try:
            with limit:
                async with self._open(self.order, self._hears) as link:
                    self.tools = await self._listed(link)
                    limit.deadline = math.inf
                    self.link = link
                    self._linked_s = self._clock.monotonic_s()
                    self.retry_at_ns = None
                    await self._begin_again(link)
                    self._become(self._standing())
                    is_unused = await self._serve(link)
        except Exception as error:  # noqa: BLE001 - whatever it did wrong is its own failure
            return coded(error)
        finally:
            self.link = None
            self.tools = {}
            self._lists.clear()
            for event in self._listed_once.values():
                event.set()
        if is_unused:
            self.state = "starting"  # who calls now waits for what comes next
            return None
        if limit.cancelled_caught:
            return UpstreamTimeout(
                f"it did not say which tools it has within {self.order.start_timeout_s:g} s",
                hint=_slow_start_hint(self.order.target),
            )
        return UpstreamUnavailable("it closed the connection")

    async def _serve(self, link: Link) -> bool:
        """Until it is lost, or (True) unused for as long as its table says."""
        is_unused = False
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow_lists, link)
            tasks.start_soon(self._unsubscribe_unwatched, link)
            for kind in LISTINGS:
                tasks.start_soon(self._keep_list, link, kind)

            async def end_unused() -> None:
                nonlocal is_unused
                await self._wait_unused()
                is_unused = True
                tasks.cancel_scope.cancel()

            tasks.start_soon(end_unused)
            await link.wait_lost()
            tasks.cancel_scope.cancel()
        return is_unused

    async def _wait_unused(self) -> None:
        idle_s = self.order.idle_s
        if not self.order.is_lazy or idle_s is None:
            await anyio.sleep_forever()
            return
        self._used_s = self._clock.monotonic_s()
        while True:
            left_s = self._used_s + idle_s - self._clock.monotonic_s()
            if left_s <= 0 and not self._is_needed:
                return
            await anyio.sleep(max(left_s, LOOK_S))

    @property
    def _is_needed(self) -> bool:
        """It is in use, or nothing of it was accepted yet, by which it could be listed."""
        return self._uses > 0 or not self._pins.remembered(self.name, self.order.identity)

    @contextmanager
    def using(self) -> Generator[None]:
        """While inside it is not ended for want of use."""
        self._uses += 1
        try:
            yield
        finally:
            self._uses -= 1
            self._used_s = self._clock.monotonic_s()

    # --- what it asks for, tells and is watched for -----------------------------------

    @contextmanager
    def asking(self, asking: "Asking | None") -> Generator[Asked | None]:
        """While inside, what it asks for may be meant for who calls it here."""
        if asking is None:
            yield None
            return
        self._asking.append(asking)
        try:
            yield asking.answer
        finally:
            self._asking.remove(asking)

    async def _asked(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Of the handshake era, where a request does not say to which call it belongs."""
        if self._asking and len({each.caller for each in self._asking}) == 1:
            return await self._asking[-1].answer(method, params)
        return await self._unowned(self.name, method, params)

    async def want_level(self, level: str) -> None:
        """Hear of this level too, from now on; what others want is heard of as well."""
        wanted = LEVELS.index(level)
        if wanted < self._level:
            self._level = wanted
            if self.link is not None:
                await self.link.set_level(level)

    async def _begin_again(self, link: Link) -> None:
        """A new connection knows nothing of what was wanted of the one before."""
        with suppress(DuettyError):
            await link.set_level(LEVELS[self._level])
        for uri in list(self._watched):
            with suppress(DuettyError):
                await link.subscribe(uri, on=True)
            self._note_update(uri)

    async def wait_update(self, uri: str, after: int | None) -> int:
        """How often the upstream reported a change of this resource; waits for more than `after`.

        It stays subscribed to for a while, so that who waits again has missed nothing.

        Raises:
            UpstreamUnavailable, UpstreamFault, UpstreamTimeout: if it cannot be watched.
            Exhausted: too many of its resources are watched.
        """
        link = await self.connected()
        if not link.can_subscribe:
            raise UpstreamFault(f"{self.name!r} does not tell of changes of its resources")
        watched = self._watched.get(uri)
        if watched is None:
            if len(self._watched) >= MAX_WATCHED:
                raise Exhausted(f"{MAX_WATCHED} resources of {self.name!r} are watched already")
            watched = self._watched[uri] = _Watched()
            try:
                await link.subscribe(uri, on=True)
            except BaseException:
                self._watched.pop(uri, None)
                raise
        watched.lookers += 1
        try:
            while after is not None and watched.updates <= after:
                await self._updated.wait()
            return watched.updates
        finally:
            watched.lookers -= 1
            watched.left_s = self._clock.monotonic_s()

    def _note_update(self, uri: str) -> None:
        if (watched := self._watched.get(uri)) is not None:
            watched.updates += 1
            self._updated.set()
            self._updated = anyio.Event()

    async def _unsubscribe_unwatched(self, link: Link) -> None:
        while True:
            await anyio.sleep(LINGER_S / 2)
            before_s = self._clock.monotonic_s() - LINGER_S
            unwatched = [
                uri
                for uri, each in self._watched.items()
                if not each.lookers and each.left_s < before_s
            ]
            for uri in unwatched:
                del self._watched[uri]
                with suppress(DuettyError):
                    await link.subscribe(uri, on=False)

    async def _keep_list(self, link: Link, kind: Listing) -> None:
        """Fetched once it runs and whenever it announces a change; readers find the last one."""
        while True:
            self._stale[kind] = anyio.Event()
            try:
                if kind == "prompts":
                    self._lists[kind] = await link.prompts()
                else:
                    self._lists[kind] = await link.resources(), await link.templates()
            except DuettyError as error:
                self._lists[kind] = error
            self._listed_once[kind].set()
            self._count_change(kind)
            await self._stale[kind].wait()
            await anyio.sleep(SETTLE_S)

    async def listed(self, kind: Listing, *, late_s: float | None = None) -> Any:
        """Its list, as it was when it was last asked for; `late_s` after its start none is waited for.

        Raises:
            DuettyError: if there is none.
        """
        await self.connected()
        bound_s = self.order.start_timeout_s
        if late_s is not None:
            bound_s = max(0.0, self._linked_s + late_s - self._clock.monotonic_s())
        if not self._listed_once[kind].is_set():
            with anyio.move_on_after(bound_s):
                await self._listed_once[kind].wait()
        found = self._lists.get(kind)
        if found is None:
            raise UpstreamTimeout(f"it has not listed its {kind} yet")
        if isinstance(found, DuettyError):
            raise found
        return found

    async def _follow_lists(self, link: Link) -> None:
        while True:
            await self._relist.wait()
            await anyio.sleep(SETTLE_S)
            self._relist = anyio.Event()
            self.tools = await self._listed(link)
            self._become(self._standing())

    async def _listed(self, link: Link) -> Mapping[str, Tool]:
        return tools_of(self.name, (await link.tools())[:MAX_TOOLS])

    def _note_change(self, what: Literal["tools", "resources", "prompts"]) -> None:
        if what == "tools":
            self._relist.set()
            return
        if (stale := self._stale.get(what)) is not None:
            stale.set()

    def _count_change(self, kind: Listing) -> None:
        if kind == "resources":
            self.resource_changes += 1
        else:
            self.prompt_changes += 1
        self._changed()

    def _retry_s(self, failures: int, error: DuettyError) -> float | None:
        timing = self._timing
        if isinstance(error, FINAL):
            return None
        if self.order.transport == "stdio" and failures > timing.retries:
            return None
        wait_s = min(timing.first_retry_s * 2 ** min(failures - 1, 20), timing.last_retry_s)
        return wait_s * (0.5 + timing.jitter())

    def _become(self, state: State, error: DuettyError | None = None) -> None:
        if state != self.state:
            self.since_ns = self._clock.wall_ns()
        self.state = state
        if state != "starting":
            self.error = error
            self._settled.set()
        elif self._settled.is_set():
            self._settled = anyio.Event()
        self._changed()

    def note_login(self, error: DuettyError) -> None:
        """A person tried to sign in, and it came to this."""
        if self.state == "needs_login":
            self._become("needs_login", UpstreamNeedsLogin(self.name, failed=error.message))

    def turn_off(self) -> None:
        self.retry_at_ns = None
        self.restarts = 0
        self._become("off")

    # --- trust ----------------------------------------------------------------------

    def _standing(self) -> State:
        """Quarantined: it has tools, and none that a person accepted."""
        pins = [self.pin(tool) for tool in self.tools.values()]
        return "quarantined" if pins and "known" not in pins else "ready"

    def judge_pins(self) -> None:
        """Something was accepted."""
        if self.link is not None:
            self._become(self._standing())

    def pin(self, tool: Tool) -> PinState:
        return self._pins.state(self.order.identity, tool)

    def is_tool_on(self, tool: str) -> bool:
        return self.order.allows(tool) and self._pins.is_tool_on(self.name, tool)

    def refusal(self, tool: Tool) -> DuettyError | None:
        """Why a call would not reach it."""
        if tool.can_pass_for_another or (tool.alias in self.offered and tool.name != tool.alias):
            return ToolOff(f"{tool.name!a} cannot be called: its name could mean another tool")
        if not self.order.allows(tool.name):
            return ToolOff(f"the settings of {self.name!r} do not allow {tool.name!r}")
        if not self._pins.is_tool_on(self.name, tool.name):
            return ToolOff(f"{tool.name!r} of {self.name!r} is turned off")
        pin = self.pin(tool)
        if pin != "known":
            what = "is new" if pin == "new" else "is not what a person accepted"
            return ToolNotTrusted(
                f"{tool.name!r} of {self.name!r} {what}: a person has to look at it first",
                hint=f"on the page, or with `duetty upstreams trust {self.name}`",
                details={"pin": pin},
            )
        return None

    # --- for calls ------------------------------------------------------------------

    async def connected(self) -> Link:
        """Its connection; one that is just starting is waited for, one that sleeps woken.

        Raises:
            UpstreamUnavailable: if there is none.
        """
        with anyio.move_on_after(self.order.start_timeout_s):
            while self.state in ("starting", "idle"):
                if self.state == "idle":
                    self._become("starting")
                    self._wake.set()
                await self._settled.wait()
        if self.link is None and isinstance(self.error, UpstreamNeedsLogin):
            raise self.error
        if self.link is None:
            raise UpstreamUnavailable(
                f"upstream {self.name!r} is {self.state}"
                + (f": {self.error.message}" if self.error is not None else ""),
                hint="turn it on"
                if self.state == "off"
                else f"duetty upstreams restart {self.name}",
                details={"state": self.state},
            )
        return self.link

    def usable(self, name: str) -> Tool:
        """Raises:
        ToolNotFound, ToolOff, ToolNotTrusted: if it cannot be called as it is now.
        """
        tool = self.tools.get(name)
        if tool is None:
            raise ToolNotFound(self.name, name)
        if (refusal := self.refusal(tool)) is not None:
            raise refusal
        return tool


def _slow_start_hint(target: Program | Address) -> str:
    """What most likely keeps it: `npx` and `uvx` fetch what they run, and a sandbox has no network."""
    longer = "start_timeout in its table gives it longer"
    if isinstance(target, Address) or target.network or target.sandbox == "none":
        return longer
    return f"if it fetches what it runs (npx, uvx), a sandbox needs network = true; {longer}"


def coded(error: BaseException) -> DuettyError:
    """The coded error in what went wrong; task groups wrap what they raise."""
    if isinstance(error, DuettyError):
        return error
    if isinstance(error, BaseExceptionGroup):
        found = [coded(each) for each in cast("BaseExceptionGroup[Any]", error).exceptions]
        return next(
            (each for each in found if type(each) is not UpstreamUnavailable),
            found[0] if found else UpstreamUnavailable("it failed"),
        )
    return UpstreamUnavailable(f"it failed: {type(error).__name__}")
