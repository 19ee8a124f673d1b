"""What the program asked of its terminal that the person's own terminal has to do for it.

Pure: the wishes of before and now in, the bytes that make the difference out. Only
modes listed here are ever switched; anything else a program sets stays in our emulator.
"""

from dataclasses import dataclass

from duetty.vt.values import Modes, MouseTracking

_BEGIN = b"\x1b[?7l"
"""No wrapping: a terminal that thinks a character wider than we do must not break the next row."""

_END = b"\x1b[?7h"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    alternate: bool = False
    application_cursor: bool = False
    application_keypad: bool = False
    bracketed_paste: bool = False
    focus_reporting: bool = False
    mouse: MouseTracking = MouseTracking.NONE
    kitty_keyboard: int = 0
    reverse_video: bool = False
    grapheme_clusters: bool = False


NO_WISHES = Wishes()


def wishes_of(modes: Modes, *, alternate: bool, kitty: bool) -> Wishes:
    """`kitty`: whether the person's terminal knows that keyboard protocol."""
    return Wishes(
        alternate=alternate,
        application_cursor=modes.application_cursor,
        application_keypad=modes.application_keypad,
        bracketed_paste=modes.bracketed_paste,
        focus_reporting=modes.focus_reporting,
        # X10 tracking tells presses only; so does what we drop from the other kind.
        mouse=modes.mouse_tracking,
        kitty_keyboard=modes.kitty_keyboard if kitty else 0,
        reverse_video=modes.reverse_video,
        grapheme_clusters=modes.grapheme_clusters,
    )


def switch(before: Wishes, now: Wishes) -> bytes:
    """Bytes for the person's terminal. The alternate screen comes first: it has a pen of its own."""
    if before == now:
        return b""
    out = [_alternate(before, now)]
    flags = (
        (1, before.application_cursor, now.application_cursor),
        (2004, before.bracketed_paste, now.bracketed_paste),
        (1004, before.focus_reporting, now.focus_reporting),
        (5, before.reverse_video, now.reverse_video),
        (2027, before.grapheme_clusters, now.grapheme_clusters),
    )
    out += [b"\x1b[?%d%c" % (mode, b"h" if to else b"l") for mode, was, to in flags if was != to]
    if before.application_keypad != now.application_keypad:
        out.append(b"\x1b=" if now.application_keypad else b"\x1b>")
    out.append(_mouse(before.mouse, now.mouse))
    return b"".join(out)


def _alternate(before: Wishes, now: Wishes) -> bytes:
    """The kitty keyboard has a stack for each screen: leave one tidy before entering the other."""
    if before.alternate == now.alternate:
        return _kitty(before.kitty_keyboard, now.kitty_keyboard)
    enter_or_leave = b"\x1b[m" + (b"\x1b[?1049h" if now.alternate else b"\x1b[?1049l")
    return _kitty(before.kitty_keyboard, 0) + enter_or_leave + _kitty(0, now.kitty_keyboard)


def _kitty(before: int, now: int) -> bytes:
    if before == now:
        return b""
    if not now:
        return b"\x1b[<u"
    return b"\x1b[=%du" % now if before else b"\x1b[>%du" % now


def _mouse(before: MouseTracking, now: MouseTracking) -> bytes:
    """Always asked for as SGR, which has no bound on columns; the keyboard translates it back."""
    if before is now:
        return b""
    out = b"" if before is MouseTracking.NONE else b"\x1b[?%dl\x1b[?1006l" % before.value
    if now is not MouseTracking.NONE:
        out += b"\x1b[?%dh\x1b[?1006h" % now.value
    return out


def begin() -> bytes:
    """Before the first frame."""
    return _BEGIN + b"\x1b[22;0t"


def end(wishes: Wishes) -> bytes:
    """After the last: as it was before, whatever the program had asked for."""
    return (
        switch(wishes, NO_WISHES)
        + b"\x1b[r\x1b[m\x1b]8;;\x1b\\\x1b[?2026l\x1b[?25h\x1b[0 q"
        + _END
        + b"\x1b[23;0t"
    )
