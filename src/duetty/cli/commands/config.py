"""`duetty config`."""

import argparse
import os
from dataclasses import fields

from duetty.cli.reach import add_instance, paths_of
from duetty.cli.show import add_json, as_json, as_table
from duetty.config import Settings, load_settings

EXAMPLES = (
    ("duetty config", "every setting, its value and where that came from"),
    ("duetty config path", "the file; it need not exist"),
    ("duetty config check", "whether the file and the environment are right"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser, hub=False)
    parser.add_argument(
        "action",
        nargs="?",
        choices=("show", "path", "check"),
        default="show",
        help="show (the default), path or check",
    )
    parser.add_argument("--changed", action="store_true", help="only what is not the default")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    paths = paths_of(arguments)
    if arguments.action == "path":
        print(paths.config_file)
        return 0
    loaded = load_settings(paths, os.environ)
    if arguments.action == "check":
        there = paths.config_file if paths.config_file.exists() else "no file, only defaults"
        print(f"All settings are right ({there}).")
        return 0
    rows = [
        (
            setting.name.replace("_", ".", 1),
            getattr(loaded.settings, setting.name),
            loaded.origins[setting.name],
            str(setting.metadata["meaning"]),
        )
        for setting in fields(Settings)
        if not arguments.changed or loaded.origins[setting.name] != "default"
    ]
    if arguments.json:
        as_json({name: {"value": value, "from": origin} for name, value, origin, _ in rows})
    elif rows:
        as_table(
            ("SETTING", "VALUE", "FROM", "MEANING"),
            [(name, _value_text(value), origin, meaning) for name, value, origin, meaning in rows],
        )
    else:
        print("Every setting has its default.")
    return 0


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return ", ".join(str(each) for each in value) or "-"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - any setting's
    return str(value) or "-"
