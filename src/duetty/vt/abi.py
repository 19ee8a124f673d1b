"""libghostty-vt's declarations and the loaded library.

pyghostty carries the library and its C declarations as text; parsing the text
takes half a second, at every start. So it is parsed once, when Duetty is built
(`hatch_build.py`), and `_declarations.py` holds the result. Where that file is
missing, or was made for another version, the text is parsed as ever.
"""

import importlib
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PACKAGE = "pyghostty"

TWINS = """
typedef struct { uint16_t x; uint32_t y; uint64_t padding; } DuettyPointValue;
typedef struct { GhosttyPointTag tag; DuettyPointValue value; } DuettyPoint;
typedef struct { int tag; size_t row; uint64_t padding; } DuettyScrollViewport;
"""
"""Structs laid out as two tagged unions that the library takes by value, which cffi cannot pass.

They are larger than 16 bytes, and x86-64 and arm64 pass such a struct and such a union alike.
"""

SAME_SIZE = {
    "DuettyPoint": "GhosttyPoint",
    "DuettyScrollViewport": "GhosttyTerminalScrollViewport",
}


def declarations() -> str:
    """The C text: pyghostty's and our twins."""
    # Importing it parses it: only for the build and the slow way.
    from pyghostty._cdef import CDEF  # pyright: ignore[reportMissingTypeStubs]

    return CDEF + TWINS


def prepare(target: Path) -> None:
    """Write `_declarations.py`; for the build."""
    import cffi

    ffi: Any = cffi.FFI()
    ffi.cdef(declarations())
    ffi.set_source("duetty.vt._declarations", None)
    ffi.emit_python_code(str(target))
    with target.open("a", encoding="utf-8") as file:
        file.write(f"MADE_FOR = {version(PACKAGE)!r}\n")


def load() -> tuple[Any, Any]:
    """Cffi's `ffi` and `lib`.

    Raises:
        ImportError: if the library is not there, or laid out otherwise than we know.
    """
    ffi = _prepared() or _parsed()
    for twin, original in SAME_SIZE.items():
        if ffi.sizeof(twin) != ffi.sizeof(original):
            raise ImportError(f"{PACKAGE} changed {original}")
    return ffi, ffi.dlopen(str(_library()))


def _prepared() -> Any:
    try:
        module: Any = importlib.import_module("duetty.vt._declarations")
    except ImportError:
        return None
    return module.ffi if version(PACKAGE) == module.MADE_FOR else None


def _parsed() -> Any:
    import cffi

    ffi: Any = cffi.FFI()
    ffi.cdef(declarations())
    return ffi


def _library() -> Path:
    # Not imported: its `__init__` would parse the text.
    spec = find_spec(PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for name in ("libghostty-vt.so", "libghostty-vt.dylib"):
            path = Path(place) / "_lib" / name
            if path.exists():
                return path
    raise ImportError(f"{PACKAGE} carries no library for this system")
