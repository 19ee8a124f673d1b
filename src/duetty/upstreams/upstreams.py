"""All upstreams of this node: their state, and calls to them.

Nothing is decided here: a call that comes in was decided on, asked about and is
being recorded by `ops`. What holds here holds for all callers: a tool is called only
as a person accepted it.
"""

import logging
import re
import secrets
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Any, Literal, cast

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from duetty.clock import Clock, SystemClock
from duetty.errors import (
    BadArguments,
    DuettyError,
    FingerprintChanged,
    StateUnwritable,
    ToolNotFound,
    UpstreamFault,
    UpstreamMayNotAsk,
    UpstreamNotFound,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from duetty.tool_schemas import problem_of
from duetty.upstreams.link import (
    LEVELS,
    Hears,
    Link,
    LoginAttempt,
    Progress,
    Surroundings,
    Timing,
)
from duetty.upstreams.pins import Pins
from duetty.upstreams.projects import Accepted
from duetty.upstreams.questions import Questions
from duetty.upstreams.tools import ALIAS_DIGITS, Difference, Risk, Tool, Wire, shown
from duetty.upstreams.upstream import Asking, Open, Upstream, coded
from duetty.upstreams.upstream_settings import Trust, UpstreamOrder, load_upstreams

MAX_KEPT = 16
MAX_LOGGED = 1_000
MAX_USES = 200
MAX_LOG_CHARS = 4_000
MAX_STDERR_BYTES = 65_536
MAX_COMPLETIONS = 100
COMPLETE_S = 5.0
COUNT_S = 60.0
"""Between two counts of what is used most: each may change lists that clients keep."""

LOGIN_PAGE_S = 30.0
LOGIN_S = 900.0
"""For a person to sign in."""

END_S = 15.0
"""How long an ending upstream is waited for; its own ladder ends in KILL well before."""

_ALIAS = re.compile(rf".*-[0-9a-f]{{{ALIAS_DIGITS}}}", re.DOTALL)

log = logging.getLogger("duetty.upstreams")


def _jitter() -> float:
    return secrets.randbelow(1_000) / 1_000


LogIn = Callable[[UpstreamOrder, LoginAttempt], Awaitable[None]]
Unowned = Callable[[str, str, Mapping[str, Any]], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMessage:
    """An upstream's log message, in its own words, with hidden characters made visible."""

    seq: int
    upstream: str
    at_ns: int
    level: str
    logger: str | None
    text: str


class Upstreams:
    def __init__(
        self,
        orders: Mapping[str, UpstreamOrder],
        *,
        pins: Pins,
        open_link: Open,
        reload: Callable[[], Mapping[str, UpstreamOrder]],
        clock: Clock | None = None,
        timing: Timing | None = None,
        accepted: Accepted | None = None,
        log_in: LogIn | None = None,
        logins: Path | None = None,
    ) -> None:
        self.accepted = accepted
        self._log_in = log_in
        self._logins_at = logins
        self._logins: dict[str, LoginAttempt] = {}
        self.answer_unowned: Unowned = self._refuse_unowned
        """Answers what an upstream asks for outside of any call, or of several callers' calls."""

        self._pins = pins
        self._open = open_link
        self._reload = reload
        self._clock = clock or SystemClock()
        self._timing = timing or Timing(jitter=_jitter)
        self._used: Counter[tuple[str, str]] = Counter()
        self._counted = 0
        self._counted_s = self._clock.monotonic_s()
        self.logs_at: Path | None = None
        """Where their programs' errors are kept."""

        self.questions = Questions(self._clock, self._note)
        self._logs: deque[LogMessage] = deque(maxlen=MAX_LOGGED)
        self._log_seq = 0
        self._logged = anyio.Event()
        self._all = {name: self._make(order) for name, order in orders.items()}
        self._running: dict[str, tuple[anyio.CancelScope, anyio.Event]] = {}
        self._tasks: TaskGroup | None = None
        self._turning = anyio.Lock()
        self._seq = 0
        self.kept: dict[object, Any] = {}
        """Values that callers derived from all of them; dropped when something changes."""

        self._changed = anyio.Event()

    def _make(self, order: UpstreamOrder) -> Upstream:
        return Upstream(
            order,
            open_link=self._open,
            pins=self._pins,
            clock=self._clock,
            timing=self._timing,
            changed=self._note,
            logged=self._note_log,
            unowned=self._answer_unowned,
        )

    async def _answer_unowned(
        self, name: str, method: str, params: Mapping[str, Any]
    ) -> dict[str, Any]:
        return await self.answer_unowned(name, method, params)

    async def _refuse_unowned(
        self, name: str, method: str, params: Mapping[str, Any]
    ) -> dict[str, Any]:
        raise UpstreamMayNotAsk("no host or person can be asked")

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Owns their tasks; all have ended when it is left."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            for upstream in self._all.values():
                if upstream.is_on:
                    self._start(upstream)
            try:
                yield
            finally:
                self._tasks = None
                self._keep_uses()
                tasks.cancel_scope.cancel()

    async def serve(self) -> None:
        """Until cancelled."""
        async with self.running():
            await anyio.sleep_forever()

    def _start(self, upstream: Upstream) -> None:
        if self._tasks is None or upstream.name in self._running:
            return
        scope, done = anyio.CancelScope(), anyio.Event()
        self._running[upstream.name] = scope, done
        upstream.begin()
        self._tasks.start_soon(self._live, upstream, scope, done, name=f"upstream {upstream.name}")

    async def _live(self, upstream: Upstream, scope: anyio.CancelScope, done: anyio.Event) -> None:
        try:
            with scope:
                await upstream.live()
        except Exception:
            log.exception("upstream_crashed", extra={"upstream": upstream.name})
        finally:
            self._running.pop(upstream.name, None)
            done.set()

    async def _stop(self, upstream: Upstream) -> None:
        if (running := self._running.get(upstream.name)) is not None:
            scope, done = running
            scope.cancel()
            with anyio.move_on_after(END_S):
                await done.wait()
        upstream.turn_off()

    # --- state ----------------------------------------------------------------

    @property
    def seq(self) -> int:
        """How many changes there were."""
        return self._seq

    async def wait_change(self, after: int) -> None:
        while self._seq <= after:
            await self._changed.wait()

    def keep(self, key: object, made: Any) -> None:
        if len(self.kept) >= MAX_KEPT:
            self.kept.clear()
        self.kept[key] = made

    def _note(self) -> None:
        self._seq += 1
        self.kept.clear()
        self._changed.set()
        self._changed = anyio.Event()

    # --- what they log ----------------------------------------------------------------

    def _note_log(self, name: str, level: str, logger: str | None, message: object) -> None:
        self._log_seq += 1
        text = (
            message if isinstance(message, str) else dumps(message, ensure_ascii=False, default=str)
        )
        self._logs.append(
            LogMessage(
                seq=self._log_seq,
                upstream=name,
                at_ns=self._clock.wall_ns(),
                level=level if level in LEVELS else "info",
                logger=None if logger is None else shown(logger)[:100],
                text=shown(text)[:MAX_LOG_CHARS],
            )
        )
        self._logged.set()
        self._logged = anyio.Event()

    @property
    def log_seq(self) -> int:
        return self._log_seq

    def logs(
        self, *, after: int = 0, upstream: str | None = None, level: str = "debug"
    ) -> list[LogMessage]:
        """Messages after this number, oldest first, of this level and graver; the last thousand are kept."""
        least = LEVELS.index(level)
        return [
            each
            for each in self._logs
            if each.seq > after
            and upstream in (None, each.upstream)
            and LEVELS.index(each.level) >= least
        ]

    async def wait_log(self, after: int) -> None:
        while self._log_seq <= after:
            await self._logged.wait()

    def stderr_of(self, name: str) -> str:
        """The end of what its program printed as errors, with everything that hides made visible."""
        if self.logs_at is None:
            return ""
        parts: list[bytes] = []
        for each in (f"{name}.log.1", f"{name}.log"):
            with suppress(OSError):
                parts.append((self.logs_at / each).read_bytes())
        return shown(b"".join(parts)[-MAX_STDERR_BYTES:].decode("utf-8", "replace"))

    async def want_level(self, level: str, upstream: str | None = None) -> None:
        """From now on upstreams are asked for messages of this level too."""
        for each in self.all():
            if upstream in (None, each.name):
                with suppress(DuettyError):
                    await each.want_level(level)

    # --- which there are --------------------------------------------------------------

    def all(self) -> list[Upstream]:
        return [self._all[name] for name in sorted(self._all)]

    def find(self, name: str) -> Upstream:
        """Raises:
        UpstreamNotFound: if none has that name.
        """
        upstream = self._all.get(name)
        if upstream is None:
            raise UpstreamNotFound(name)
        return upstream

    def usable(self) -> list[Tool]:
        """Tools that can be called now."""
        return [
            tool
            for upstream in self.all()
            for tool in upstream.offered.values()
            if upstream.refusal(tool) is None
        ]

    def uses(self, upstream: str, tool: str) -> int:
        """How often it was called, by all callers."""
        return self._pins.uses(upstream).get(tool, 0) + self._used[upstream, tool]

    def recount(self) -> None:
        """For lists of the most used: as they are used by now, where the last count is old."""
        now_s, used = self._clock.monotonic_s(), self._used.total()
        if used != self._counted and now_s - self._counted_s >= COUNT_S:
            self._counted, self._counted_s = used, now_s
            self._note()

    def is_marked(self, upstream: str, tool: str) -> bool:
        return self._pins.is_marked(upstream, tool)

    async def mark(self, name: str, tool: str, *, on: bool) -> Upstream:
        """Have it listed always, however many there are.

        Raises:
            UpstreamNotFound, ToolNotFound, StateUnwritable: nothing is marked then.
        """
        async with self._turning:
            upstream = self.find(name)
            if on and tool not in upstream.offered:
                raise ToolNotFound(name, tool)
            await anyio.to_thread.run_sync(lambda: self._pins.mark(name, tool, on=on))
            self._note()
            return upstream

    def _keep_uses(self) -> None:
        for name in {upstream for upstream, _ in self._used}:
            used = Counter(self._pins.uses(name))
            used.update({tool: count for (each, tool), count in self._used.items() if each == name})
            with suppress(StateUnwritable):
                self._pins.note_uses(name, dict(used.most_common(MAX_USES)))
        self._used.clear()

    def differences(self, upstream: Upstream, tool: Tool) -> list[Difference]:
        return self._pins.differences(upstream.order.identity, tool)

    def namesakes(self, tool: Tool) -> list[str]:
        """Other upstreams with a tool of this name: one may be meant for the other."""
        return [
            each.name
            for each in self.all()
            if each.name != tool.upstream and tool.name in each.tools
        ]

    def named(self, upstream: str, tool: str) -> str:
        """The tool's own name, where its alias is given."""
        if upstream not in self._all:
            return tool
        offered = self._all[upstream].offered
        if tool in offered or not _ALIAS.fullmatch(tool):
            return tool
        return next((each.name for each in offered.values() if each.alias == tool), tool)

    def risk_of(self, upstream: str, tool: str) -> Risk:
        found = self._all[upstream].offered.get(tool) if upstream in self._all else None
        return "unknown" if found is None else found.risk

    def trust_of(self, upstream: str) -> Trust:
        found = self._all.get(upstream)
        return "untrusted" if found is None else found.order.trust

    def check(self, upstream: str, tool: str) -> None:
        """Raises:
        UpstreamNotFound, ToolNotFound, ToolOff, ToolNotTrusted: if a call cannot but fail.
        """
        found = self.find(upstream)
        if found.link is not None:
            found.usable(self.named(upstream, tool))

    async def wait_settled(self, *, at_most_s: float) -> None:
        """Until none is just starting."""
        with anyio.move_on_after(at_most_s):
            while any(each.state == "starting" for each in self._all.values()):
                await self._changed.wait()

    # --- what a person says -----------------------------------------------------------

    async def turn(self, name: str, *, on: bool, tool: str | None = None) -> Upstream:
        async with self._turning:
            upstream = self.find(name)
            if tool is not None and on and upstream.link is not None and tool not in upstream.tools:
                raise ToolNotFound(name, tool)
            await anyio.to_thread.run_sync(lambda: self._pins.turn(name, on=on, tool=tool))
            if tool is None:
                if on:
                    self._start(upstream)
                else:
                    await self._stop(upstream)
            self._note()
            return upstream

    async def restart(self, name: str) -> Upstream | None:
        """End it, and start it as the settings file says now; None if that has it no more.

        Raises:
            UpstreamNotFound: if it neither was nor is there.
            BadSetting: if the file is wrong; everything goes on as it was.
        """
        async with self._turning:
            orders = await anyio.to_thread.run_sync(self._reload)
            if name not in orders and name not in self._all:
                raise UpstreamNotFound(name)
            if (before := self._all.get(name)) is not None:
                await self._stop(before)
            if name not in orders:
                del self._all[name]
                await anyio.to_thread.run_sync(self._pins.forget, name)
                if self._logins_at is not None:
                    (self._logins_at / f"{name}.json").unlink(missing_ok=True)
                self._note()
                return None
            upstream = self._all[name] = self._make(orders[name])
            if upstream.is_on:
                self._start(upstream)
            self._note()
            return upstream

    # --- a person signs in ------------------------------------------------------------

    async def begin_login(self, name: str) -> str:
        """The page on which a person signs in; what comes of it is in the upstream's state.

        Raises:
            UpstreamNotFound, DuettyError: why there is no such page.
        """
        upstream = self.find(name)
        if self._tasks is None or self._log_in is None:
            raise UpstreamUnavailable("upstreams are not running")
        if (before := self._logins.get(name)) is not None:
            before.scope.cancel()
        attempt = self._logins[name] = LoginAttempt()
        self._tasks.start_soon(self._finish_login, upstream, attempt, self._log_in)
        with anyio.move_on_after(LOGIN_PAGE_S):
            await attempt.shown.wait()
        if attempt.url is None:
            attempt.scope.cancel()
            raise attempt.error or UpstreamTimeout("it did not say in time where to sign in")
        return attempt.url

    async def _finish_login(self, upstream: Upstream, attempt: LoginAttempt, log_in: LogIn) -> None:
        try:
            with attempt.scope, anyio.fail_after(LOGIN_S):
                await log_in(upstream.order, attempt)
                await self.restart(upstream.name)
        except TimeoutError:
            upstream.note_login(UpstreamTimeout("no person signed in"))
        except Exception as error:  # noqa: BLE001 - shown with the upstream
            attempt.error = coded(error)
            upstream.note_login(attempt.error)
        finally:
            attempt.shown.set()
            if self._logins.get(upstream.name) is attempt:
                del self._logins[upstream.name]

    def end_login(self, name: str, address: str) -> None:
        """A browser was sent there, on another machine than this one.

        Raises:
            UpstreamNotFound, BadArguments: it is no answer to a sign-in that goes on.
        """
        self.find(name)
        attempt = self._logins.get(name)
        if attempt is None or not attempt.come(address):
            raise BadArguments(
                "this is not where the sign-in page sent a browser",
                hint=f"begin again: `duetty upstreams login {name}`",
            )

    async def accept(self, file: str, fingerprint: str) -> list[Upstream]:
        """Start what this file of a project names, as it was shown.

        Raises:
            OfferNotFound, FingerprintChanged, StateUnwritable: nothing is started then.
        """
        assert self.accepted is not None
        accepted = self.accepted
        before = {each.name for each in self.all() if each.order.project == file}
        offer = await anyio.to_thread.run_sync(accepted.accept, file, fingerprint)
        return await self._as_accepted(before | offer.servers.keys())

    async def withdraw(self, file: str) -> None:
        """End what this file of a project names, and forget that it was accepted.

        Raises:
            OfferNotFound, StateUnwritable: everything goes on then.
        """
        assert self.accepted is not None
        await anyio.to_thread.run_sync(self.accepted.withdraw, file)
        await self._as_accepted({each.name for each in self.all() if each.order.project == file})

    async def _as_accepted(self, names: set[str]) -> list[Upstream]:
        """These, as files and settings say now; those of the person's own settings are left alone."""
        changed: list[Upstream] = []
        for name in sorted(names):
            known = self._all.get(name)
            if known is not None and known.order.project is None:
                continue
            with suppress(UpstreamNotFound):
                if (upstream := await self.restart(name)) is not None:
                    changed.append(upstream)
        return changed

    async def trust(self, name: str, *, fingerprint: str, tools: list[str] | None) -> Upstream:
        """Accept tools as they were shown.

        Raises:
            FingerprintChanged: if they are others by now; nothing is accepted.
            ToolNotFound: if one of them is not there.
        """
        async with self._turning:
            upstream = self.find(name)
            await upstream.connected()
            if fingerprint != upstream.fingerprint:
                raise FingerprintChanged(
                    f"the tools of {name!r} are not those that were shown",
                    hint="look at them again",
                )
            if missing := [each for each in tools or () if each not in upstream.tools]:
                raise ToolNotFound(name, missing[0])
            accepted = [
                tool for tool in upstream.tools.values() if tools is None or tool.name in tools
            ]
            identity = upstream.order.identity
            await anyio.to_thread.run_sync(lambda: self._pins.accept(name, identity, accepted))
            upstream.judge_pins()
            return upstream

    # --- calls ------------------------------------------------------------------------

    async def call(
        self,
        name: str,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_s: float | None = None,
        progress: Progress | None = None,
        asking: Asking | None = None,
    ) -> dict[str, Any]:
        """What the tool answered, as it stands.

        Raises:
            DuettyError: if it could not be called, or did not answer.
        """
        upstream = self.find(name)
        with upstream.using():
            link = await upstream.connected()
            tool = self.named(name, tool)
            wire = upstream.usable(tool).wire
            self._used[name, tool] += 1
            if (problem := _misfit(wire.get("inputSchema"), arguments)) is not None:
                raise BadArguments(
                    f"the arguments do not fit {tool!r} of {name!r}: {shown(problem)}",
                    hint="its input schema says what it takes",
                )
            bound_s = upstream.order.timeout_s if timeout_s is None else timeout_s
            execution = wire.get("execution")
            as_task = isinstance(execution, dict) and "required" in execution.values()
            with upstream.asking(asking) as asked:
                answer = await link.call(
                    tool,
                    arguments,
                    timeout_s=bound_s,
                    progress=progress,
                    asked=asked,
                    as_task=as_task,
                )
            self._check_answer(name, tool, wire, answer)
            return answer

    @staticmethod
    def _check_answer(name: str, tool: str, wire: Wire, answer: Mapping[str, Any]) -> None:
        """Raises:
        UpstreamFault: if it does not fit what the tool says it answers with.
        """
        schema = wire.get("outputSchema")
        if not isinstance(schema, dict) or answer.get("isError") is True:
            return
        problem: str | None = "it has no structured content"
        if "structuredContent" in answer:
            problem = problem_of(schema, answer["structuredContent"])  # pyright: ignore[reportUnknownArgumentType] - of whatever it holds
        if problem is not None:
            raise UpstreamFault(
                f"the answer of {tool!r} of {name!r} does not fit its own output schema: {shown(problem)}"
            )

    async def complete(
        self,
        name: str,
        kind: Literal["prompt", "resource"],
        about: str,
        argument: tuple[str, str],
        given: Mapping[str, str],
    ) -> list[str]:
        """What may stand there, in its words."""
        with self.find(name).using():
            link = await self._trusted(name)
            found = await link.complete(kind, about, argument, given=given, timeout_s=COMPLETE_S)
        values = found.get("values")
        if not isinstance(values, list):
            return []
        return [str(each) for each in cast("list[object]", values)[:MAX_COMPLETIONS]]

    async def resources(
        self, name: str, *, late_s: float | None = None
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        await self._trusted(name)
        return await self.find(name).listed("resources", late_s=late_s)

    async def read(self, name: str, uri: str, *, asking: Asking | None = None) -> dict[str, Any]:
        upstream = self.find(name)
        with upstream.using(), upstream.asking(asking) as asked:
            link = await self._trusted(name)
            return await link.read(uri, timeout_s=upstream.order.timeout_s, asked=asked)

    async def wait_update(self, name: str, uri: str, *, after: int | None, within_s: float) -> int:
        """How often the upstream reported a change of this resource; waits for more than `after`."""
        upstream = self.find(name)
        with upstream.using():
            await self._trusted(name)
            known = await upstream.wait_update(uri, None)
            with anyio.move_on_after(within_s):
                return await upstream.wait_update(uri, known if after is None else after)
            return known

    async def prompts(self, name: str, *, late_s: float | None = None) -> list[dict[str, Any]]:
        await self._trusted(name)
        return await self.find(name).listed("prompts", late_s=late_s)

    async def prompt(
        self,
        name: str,
        prompt: str,
        arguments: Mapping[str, str],
        *,
        asking: Asking | None = None,
    ) -> dict[str, Any]:
        upstream = self.find(name)
        with upstream.using(), upstream.asking(asking) as asked:
            link = await self._trusted(name)
            bound_s = upstream.order.timeout_s
            return await link.prompt(prompt, arguments, timeout_s=bound_s, asked=asked)

    async def _trusted(self, name: str) -> Link:
        """Its connection, unless a person has still to look at it."""
        upstream = self.find(name)
        link = await upstream.connected()
        if upstream.state == "quarantined":
            tool = next(iter(upstream.tools.values()))
            refusal = upstream.refusal(tool)
            assert refusal is not None
            raise refusal
        return link


def _misfit(schema: object, arguments: Mapping[str, Any]) -> str | None:
    """What is wrong with these arguments; `null` for one that is not required is as good as none."""
    plain: dict[str, Any] = cast("Any", schema) if isinstance(schema, dict) else {}
    required: object = plain.get("required")
    needed = cast("list[object]", required) if isinstance(required, list) else []
    given = {name: each for name, each in arguments.items() if each is not None or name in needed}
    return problem_of(plain, given)


def open_upstreams(
    config_file: Path,
    pins_file: Path,
    surroundings: Surroundings,
    *,
    clock: Clock | None = None,
    accepted: Accepted,
) -> Upstreams:
    """As the settings file orders them, and accepted files of projects.

    Raises:
        BadSetting: if a table is wrong.
    """

    def orders() -> Mapping[str, UpstreamOrder]:
        return accepted.orders(load_upstreams(config_file))

    opened = Upstreams(
        orders(),
        pins=Pins(pins_file),
        open_link=connecting(surroundings),
        reload=orders,
        clock=clock,
        accepted=accepted,
        log_in=logging_in(surroundings),
        logins=surroundings.logins,
    )
    opened.logs_at = surroundings.logs
    return opened


def connecting(surroundings: Surroundings) -> Open:
    """Opens connections. The SDK takes most of a second and 35 MB to import: the first one loads it."""

    @asynccontextmanager
    async def open_link(order: UpstreamOrder, hears: Hears) -> AsyncGenerator[Link]:
        module = await anyio.to_thread.run_sync(_load, abandon_on_cancel=True)
        async with module.connect(order, surroundings, hears) as link:
            yield link

    return open_link


def logging_in(surroundings: Surroundings) -> LogIn:
    async def log_in(order: UpstreamOrder, attempt: LoginAttempt) -> None:
        module = await anyio.to_thread.run_sync(_load, abandon_on_cancel=True)
        await module.log_in(order, surroundings, attempt)

    return log_in


def _load() -> Any:
    from duetty.upstreams import connection

    return connection


def no_upstreams() -> Upstreams:
    """Of a server whose settings name none, and which never will."""

    @asynccontextmanager
    async def open_link(order: UpstreamOrder, hears: Hears) -> AsyncGenerator[Link]:
        raise DuettyError("there is nothing to connect to")
        yield

    return Upstreams({}, pins=Pins(Path("/nonexistent")), open_link=open_link, reload=dict)
