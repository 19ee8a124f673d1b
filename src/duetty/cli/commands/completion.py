"""`duetty completion`."""

import argparse

from duetty.cli.completion_scripts import SCRIPTS

EXAMPLES = (
    ('eval "$(duetty completion bash)"', "in ~/.bashrc"),
    ('eval "$(duetty completion zsh)"', "in ~/.zshrc, after compinit"),
    ("duetty completion fish > ~/.config/fish/completions/duetty.fish", "once"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=sorted(SCRIPTS))


def run(arguments: argparse.Namespace) -> int:
    print(SCRIPTS[arguments.shell]())
    return 0
