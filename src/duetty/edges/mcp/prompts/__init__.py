"""Documents that teach a model to work with terminals here, each a prompt to be asked for by name.

Knows no tool but by its name in the text.
"""

from pathlib import Path

from duetty.edges.mcp.dialect import Prompt

_ABOUT = {
    "core": "The loop of run, read and decide; states, waits and every tool in short",
    "drive-process": "Running command-line programs: long ones, prompts, passwords, failures",
    "tui": "Operating full-screen programs: vim, less, htop, menus and dialogs",
    "multi-session": "Working in several sessions at once",
    "agent-orchestration": "Driving other AI agents in terminals",
    "monitor": "Watching what happens in a terminal and helping at the right moment",
    "visual-feedback": "Overlays and panels that people see",
    "input-capture": "Taking keys from people: questions, menus, text",
    "generative-ui": "Building small interactive interfaces in a terminal",
}


def _prompt(name: str, description: str) -> Prompt:
    text = (Path(__file__).parent / f"{name}.md").read_text(encoding="utf-8")
    title = text.partition("\n")[0].removeprefix("# ")
    return Prompt(name=f"wsh:{name}", title=title, description=description, text=text)


PROMPTS = tuple(_prompt(name, description) for name, description in _ABOUT.items())
