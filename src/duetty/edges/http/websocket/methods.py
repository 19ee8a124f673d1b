"""Names of the JSON WebSockets' methods, and the operation behind each.

Every operation is reachable under its own name. Those below are the published
names of the contract that clients know; a name and its parameters are mapped
here and nowhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from duetty.ops import OPERATIONS, Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    operation: str
    renames: Mapping[str, str] = field(default_factory=dict[str, str])
    """Published parameter and the argument that it is here."""

    empty: bool = False
    """The published answer is `{}`, whatever the operation says."""

    def arguments(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {self.renames.get(name, name): value for name, value in params.items()}


METHODS: Mapping[str, Method] = {
    # of a session
    "await_idle": Method(operation="session.idle"),
    "await_quiesce": Method(operation="session.idle"),
    "get_screen": Method(operation="screen.get"),
    "get_scrollback": Method(operation="scrollback.get"),
    "send_input": Method(operation="input.write", empty=True),
    "resize": Method(operation="session.resize", empty=True),
    "get_input_mode": Method(operation="input.mode"),
    "capture_input": Method(operation="input.capture"),
    "release_input": Method(operation="input.release"),
    "focus": Method(operation="input.focus"),
    "unfocus": Method(operation="input.unfocus"),
    "get_focus": Method(operation="input.focused"),
    "create_overlay": Method(operation="overlay.create"),
    "list_overlays": Method(operation="overlay.list"),
    "get_overlay": Method(operation="overlay.get"),
    "update_overlay": Method(operation="overlay.update"),
    "patch_overlay": Method(operation="overlay.patch"),
    "delete_overlay": Method(operation="overlay.delete"),
    "clear_overlays": Method(operation="overlay.clear"),
    "update_overlay_spans": Method(operation="overlay.spans"),
    "overlay_region_write": Method(operation="overlay.write"),
    "create_panel": Method(operation="panel.create"),
    "list_panels": Method(operation="panel.list"),
    "get_panel": Method(operation="panel.get"),
    "update_panel": Method(operation="panel.update"),
    "patch_panel": Method(operation="panel.patch"),
    "delete_panel": Method(operation="panel.delete"),
    "clear_panels": Method(operation="panel.clear"),
    "update_panel_spans": Method(operation="panel.spans"),
    "panel_region_write": Method(operation="panel.write"),
    "batch_update": Method(operation="elements.batch"),
    "get_screen_mode": Method(operation="screen_mode.get"),
    "enter_alt_screen": Method(operation="screen_mode.enter_alt"),
    "exit_alt_screen": Method(operation="screen_mode.exit_alt"),
    # of the server
    "list_sessions": Method(operation="session.list"),
    "create_session": Method(operation="session.open"),
    "kill_session": Method(operation="session.remove", renames={"name": "session"}),
    "detach_session": Method(operation="session.detach", renames={"name": "session"}),
    "rename_session": Method(
        operation="session.update", renames={"name": "session", "new_name": "name"}
    ),
    "update_tags": Method(
        operation="session.update", renames={"add": "add_tags", "remove": "remove_tags"}
    ),
    "update_session": Method(operation="session.update"),
    "set_server_mode": Method(operation="server.persist"),
}

SUPERSEDING = frozenset({"await_idle", "await_quiesce"})
"""A second call makes the first one answer that it was superseded."""


def find_method(name: str) -> tuple[Method, Operation[Any, Any]] | None:
    """The method of this name and what it does; None if there is none."""
    method = METHODS.get(name) or Method(operation=name)
    operation = OPERATIONS.get(method.operation)
    return None if operation is None else (method, operation)


def is_of_session(operation: Operation[Any, Any]) -> bool:
    """Whether it cannot do without the name of a session."""
    wanted = operation.params.model_fields.get("session")
    return wanted is not None and wanted.is_required()
