"""`duetty keeper`."""

import argparse
import sys

from duetty.cli.reach import add_instance, paths_of
from duetty.config import make_private
from duetty.keeper.process import main


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)


def run(arguments: argparse.Namespace) -> int:
    paths = paths_of(arguments)
    make_private(paths.state)
    make_private(paths.runtime)
    sys.argv[0] = "duetty keeper"
    return main(["--socket", str(paths.keeper_socket), "--log", str(paths.keeper_log)])
