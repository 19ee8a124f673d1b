"""Build step: parse libghostty-vt's declarations once, so that no start has to."""

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class DeclarationsHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        place = Path(self.root) / "src/duetty/vt"
        # By path: the package itself needs what is made here, or the slow way around it.
        spec = importlib.util.spec_from_file_location("abi", place / "abi.py")
        assert spec is not None
        assert spec.loader is not None
        abi = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(abi)
        abi.prepare(place / "_declarations.py")
