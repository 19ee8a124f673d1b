"""The gate: a shell asks before it runs a line, and waits for the answer.

The question is a mark with the line as it is about to run, so keys, history,
completion and paste cannot disguise it. The answer comes through a FIFO. Only
whoever knows the nonce can give one; the shell and the server do.

    <gate>          the FIFO: `<nonce> <question> allow` or `<nonce> <question> deny <why>`
    <gate>.armed    `2` lets every line pass unasked; anything else, or no file, asks

bash takes a line back by sending itself SIGINT from the expansion of PS0, zsh
likewise from a preexec function; fish asks when Enter is pressed.
"""

from pathlib import Path

PASS, ASK = "2", "1"

MAX_WHY = 400
"""Characters of a reason; a FIFO takes 4,096 bytes in one piece."""


def armed_path(gate: Path) -> Path:
    return gate.with_name(f"{gate.name}.armed")


def answer_line(*, nonce: str, question: str, refusal: str | None) -> bytes:
    """The answer as the shell reads it."""
    if refusal is None:
        return f"{nonce} {question} allow\n".encode()
    why = "".join(each if each.isprintable() else " " for each in refusal[:MAX_WHY])
    return f"{nonce} {question} deny {why}\n".encode()
