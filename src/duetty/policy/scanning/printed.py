"""What `echo`, `printf` and their like print, as far as words tell: for the scan only."""

import re

from duetty.policy.scanning.reading import UNKNOWN, Reading, Simple

_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_ANSI_LETTERS = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "v": "\v",
}

_OCTAL = re.compile(r"\\0([0-7]{1,3})")
"""`%b` writes octal with a leading nought."""


def decode_ansi(text: str) -> str:
    """The inside of `$'…'`."""

    def char(found: "re.Match[str]") -> str:
        hexadecimal, short, long, octal, control, letter = found.groups()
        if digits := hexadecimal or short or long:
            code = int(digits, 16)
            return chr(code) if code < 0x110000 else UNKNOWN
        if octal:
            return chr(int(octal, 8))
        if control:
            return chr(ord(control) & 31)
        return _ANSI_LETTERS.get(letter, letter)

    return _ANSI.sub(char, text)


def printed_by(reading: Reading) -> str | None:
    """What `echo` or `printf` with literal words prints; None when that is not all there is."""
    if not reading.commands or reading.unreadable:
        return None
    *others, last = reading.commands
    if others:
        inner = {id(each): len(each.commands) for word in last.words for each in word.inner}
        if len(others) != sum(inner.values()):
            return None  # not only those that print its words
    return printed(last)


def printed(simple: Simple) -> str | None:
    """What this command alone prints, if it is `echo` or `printf` and its words are known."""
    if (
        not simple.words
        or simple.producers
        or simple.redirects
        or not all(word.known for word in simple.words)
    ):
        return None
    program, *words = (word.text for word in simple.words)
    if program == "echo":
        escaped = False
        while words and re.fullmatch(r"-[neE]+", words[0]):
            escaped = escaped or "e" in words[0]
            del words[0]
        if words and re.fullmatch(r"-[nsEe]*s[nsEe]*", words[0]):
            return None  # to fish: without blanks between
        text = " ".join(words)
        return decode_ansi(text) if escaped else text
    if program == "printf" and words and not words[0].startswith("-"):
        return formatted(decode_ansi(words[0]), words[1:])
    if program in ("which", "command", "type", "whence") and words:
        operands = [word for word in words if word[:1] != "-"]
        # Where a program is: as good as its name.
        return (
            operands[0] if len(operands) == 1 and (program == "which" or len(words) > 1) else None
        )
    return None


def formatted(form: str, values: list[str]) -> str:
    """`printf`: the format is used again while words remain."""
    printed = ""
    remaining = iter(values)
    for _ in range(max(len(values), 1)):
        used = 0

        def value(found: "re.Match[str]") -> str:
            nonlocal used
            if found[1] == "%":
                return "%"
            used += 1
            text = next(remaining, "")
            return decode_ansi(_OCTAL.sub(r"\\\1", text)) if found[1] == "b" else text

        printed += re.sub(r"%[-0-9.]*([a-zA-Z%])", value, form)
        values = values[used:]
        if not used or not values:
            break
    return printed
