"""The SDK's server without its clients: a third less to load when a host waits for the first answer.

`import mcp` loads everything that the SDK has. Here the packages `mcp` and
`mcp.server` are put in place unfilled, so that the modules below them can be had one
by one; the first who asks such a package for a name of its own fills it, and finds
what the SDK's own `__init__` makes of it.
"""

import importlib
import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType

PACKAGES = ("mcp", "mcp.server")


def prepare() -> None:
    """Before anything of the SDK is imported; does nothing afterwards."""
    if PACKAGES[0] not in sys.modules:
        for name in PACKAGES:
            sys.modules[name] = _unfilled(name)


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
