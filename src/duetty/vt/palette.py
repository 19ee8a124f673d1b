"""The colours that pictures and pages use where the program left the choice to the terminal."""

from duetty.vt.values import Colour, Indexed

FOREGROUND = "#d8dee9"
BACKGROUND = "#15181e"

_BASE = (
    "#20242c", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4",
    "#5c6370", "#ff7a85", "#b5e890", "#ffd68a", "#7cc3ff", "#dc8cf2", "#6fd3df", "#ffffff",
)  # fmt: skip
_STEPS = (0, 95, 135, 175, 215, 255)


def _indexed(index: int) -> str:
    """As xterm has them: sixteen of our own, a cube of 216, 24 greys."""
    if index < 16:
        return _BASE[index]
    if index < 232:
        red, rest = divmod(index - 16, 36)
        green, blue = divmod(rest, 6)
        return f"#{_STEPS[red]:02x}{_STEPS[green]:02x}{_STEPS[blue]:02x}"
    grey = 8 + 10 * (index - 232)
    return f"#{grey:02x}{grey:02x}{grey:02x}"


PALETTE: tuple[str, ...] = tuple(_indexed(index) for index in range(256))


def hex_of(colour: Colour) -> str:
    match colour:
        case Indexed(index):
            return PALETTE[index]
        case _:
            return f"#{colour.r:02x}{colour.g:02x}{colour.b:02x}"
