"""The SDK's server without its clients: half as much to load when a host waits for the first answer.

`import mcp` loads everything that the SDK has. Here the packages `mcp` and
`mcp.server` are put in place unfilled, so that the modules below them can be had one
by one; the first who asks such a package for a name of its own fills it, and finds
what the SDK's own `__init__` makes of it. The shapes of each revision of the protocol, some
hundreds, are made ready one by one when they are first met.
"""

import gc
import importlib
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from types import ModuleType

PACKAGES = ("mcp", "mcp.server")


@contextmanager
def loading() -> Generator[None]:
    """Nothing made by an import is garbage: it is neither looked for meanwhile nor ever after."""
    was_on, is_first = gc.isenabled(), "mcp_types" not in sys.modules
    gc.disable()
    try:
        yield
    finally:
        if is_first:
            gc.freeze()
        if was_on:
            gc.enable()


def prepare() -> None:
    """Before anything of the SDK is imported; does nothing afterwards."""
    if PACKAGES[0] not in sys.modules:
        for name in PACKAGES:
            sys.modules[name] = _unfilled(name)
        _defer_shapes()


def _defer_shapes() -> None:
    if "mcp_types.methods" not in sys.modules:  # which loads the revisions
        base = importlib.import_module("mcp_types._wire_base").WireModel
        base.model_config["defer_build"] = True


def _unfilled(name: str) -> ModuleType:
    spec = find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    package, loader = module_from_spec(spec), spec.loader

    def fill(wanted: str) -> object:
        if wanted.startswith("__"):
            raise AttributeError(wanted)
        if find_spec(f"{name}.{wanted}") is not None:
            return importlib.import_module(f"{name}.{wanted}")
        package.__dict__.pop("__getattr__", None)
        loader.exec_module(package)
        return getattr(package, wanted)

    package.__dict__["__getattr__"] = fill
    return package
