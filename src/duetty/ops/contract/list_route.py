"""The list route: the caller's own, of one mode."""

from duetty.ops.contract.owners import processes_of, sessions_of
from duetty.ops.contract.steps import Doing, Outcome
from duetty.wire.contract import Listed, Listing


async def list_terminals(doing: Doing) -> Outcome:
    sessions = sessions_of(doing.services, doing.actor)
    processes = processes_of(doing.services, doing.actor)
    listed = await (_headless(doing) if doing.request.mode == "headless" else _interactive(doing))
    counts = {"interactive": len(sessions), "headless": len(processes)}
    return None, Listing(terminals=listed, counts=counts)  # type: ignore[arg-type]  # the two modes


async def _interactive(doing: Doing) -> list[Listed]:
    own = {each.profile.id: each for each in sessions_of(doing.services, doing.actor)}
    return [
        Listed(
            session=info.name,
            mode="interactive",
            state=info.state,
            command=info.command,
            cwd=info.cwd,
            created_at=info.created_at,
            exit_code=info.exit_code,
            viewers=info.clients,
            sandbox=info.sandbox,
            opened_by_you=own[info.id].profile.owner == doing.actor.identity,
        )
        for info in await doing.call("session.list", {})
        if info.id in own
    ]


async def _headless(doing: Doing) -> list[Listed]:
    own = {each.id: each for each in processes_of(doing.services, doing.actor)}
    if not own:
        return []  # a token for one session may not even ask
    return [
        Listed(
            session=info.id,
            mode="headless",
            state="running" if info.state == "running" else "exited",
            command=info.command,
            cwd=info.cwd,
            created_at=info.started_at,
            exit_code=info.exit_code,
            viewers=None,
            sandbox=info.sandbox,
            opened_by_you=own[info.id].owner == doing.actor.identity,
        )
        for info in await doing.call("process.list", {})
        if info.id in own
    ]
