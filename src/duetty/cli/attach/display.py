"""What the person's terminal shows: which screen, which modes, which frame."""

from collections.abc import Sequence

from duetty.cli.attach import modes
from duetty.cli.attach.frame import Frame, typed_onto
from duetty.cli.attach.keyboard import Place
from duetty.cli.attach.mirror import Mirror
from duetty.cli.attach.modes import NO_WISHES, Wishes, wishes_of
from duetty.cli.attach.outer import Outer
from duetty.cli.attach.paint import Abilities, Painter, safe_title
from duetty.cli.attach.scene import Surface
from duetty.vt.values import Modes


class Showing:
    """Brings the session's screen onto the terminal, and the terminal back to what it was."""

    def __init__(
        self, outer: Outer, mirror: Mirror, surface: Surface, abilities: Abilities
    ) -> None:
        self._outer = outer
        self._mirror = mirror
        self._surface = surface
        self._painter = Painter(abilities)
        self._start()
        self.has_kitty = False
        """Whether the terminal knows the kitty keyboard."""

    def _start(self) -> None:
        self._wishes: Wishes = NO_WISHES
        self._asked: tuple[Modes, bool, bool] | None = None
        """What the wishes were made of: most keys change nothing of it."""
        self._primary: Frame | None = None
        """What the primary screen shows while the other one is seen."""
        self._expected: Frame | None = None
        """What the next frame is if the program prints as plainly as it looks."""
        self._prints_plainly = False
        """What it printed last was shown just so."""
        self._is_bare = False
        """There is nothing on the screen but the program."""
        self._is_fresh = True
        """The primary screen still shows what the person's shell had printed."""
        self._painter.forget()

    def begin(self, also: bytes = b"") -> None:
        self._start()
        self._outer.write(modes.begin() + also)

    def resized(self) -> None:
        """The terminal has moved its rows by rules of its own."""
        self._painter.forget()
        self._primary = None

    def echo(self, data: bytes) -> None:
        """Print a few characters where the cursor stands, before anything is known of them.

        The person who types waits for them. The next frame from the server puts right what was
        guessed wrong (another colour, other characters); after one that was, the next is not guessed.
        """
        shown = self._painter.shown
        self._expected = None
        if shown is not None and self._is_bare and shown.cursor_visible:
            self._expected = typed_onto(shown, data)
        if self._expected is not None and self._prints_plainly:
            self._outer.write(data)
            self._painter.assume(self._expected)

    def show(self, *, notice: str | None, title: str, question: Sequence[str] = ()) -> Place:
        """Paint what is new; says where the program's screen is, for the mouse."""
        mirror = self._mirror
        scrolled = mirror.take_scrolled()
        seen = mirror.screen()
        out: list[bytes] = []
        asked = seen.modes, seen.alternate, self.has_kitty
        if asked != self._asked:
            self._asked = asked
            wishes = wishes_of(seen.modes, alternate=seen.alternate, kitty=self.has_kitty)
            out.append(self._switch(wishes))
        if self._is_fresh and not seen.alternate:
            # What the person's shell had printed goes up, out of our way, and is not lost.
            out.append(b"\x1b[%d;1H" % self._surface.rows + b"\n" * self._surface.rows)
            self._is_fresh = False
        if mirror.title_changed:
            mirror.title_changed = False
            out.append(safe_title(mirror.title or title))
        if mirror.bells:
            mirror.bells = 0
            out.append(b"\a")
        frame = self._surface.frame(seen, notice=notice, question=question)
        scroll = None if seen.alternate else self._surface.scroll(scrolled)
        out.append(self._painter.paint(frame, scroll))
        if painted := b"".join(out):
            self._outer.write(painted)
        self._is_bare = notice is None and not question and self._surface.is_bare(seen)
        if self._expected is not None:
            self._prints_plainly, self._expected = self._expected == frame, None
        return self._surface.place(seen)

    def _switch(self, wishes: Wishes) -> bytes:
        """Modes of the terminal; changing screens, remember what the other one shows."""
        if wishes == self._wishes:
            return b""
        switches = modes.switch(self._wishes, wishes)
        if wishes.alternate and not self._wishes.alternate:
            self._primary = self._painter.shown
            self._painter.forget()
        elif self._wishes.alternate and not wishes.alternate:
            shown = self._primary
            # Where the cursor is and how it looks is one thing for both screens: say it anew.
            self._painter.assume(None if shown is None else shown._replace(cursor_shape=-1))
        self._wishes = wishes
        return switches

    def end(self) -> None:
        """The terminal as it was, with the program's last screen above the next prompt.

        Raises:
            EOFError: if the terminal is gone.
        """
        out = b""
        shown = self._painter.shown
        if self._wishes.alternate:
            shown = self._primary
        elif shown is not None:
            shown = self._surface.bare_frame(self._mirror.screen())
            out = self._painter.paint(shown)
        out += modes.end(self._wishes)
        self._outer.write(out + (_below(shown) if shown is not None else b""))


def _below(frame: Frame) -> bytes:
    """The cursor to the first row under everything that is shown."""
    used = [at for at, row in enumerate(frame.rows) if any(each.text.strip() for each in row)]
    last = max([*used, -1])
    if last + 1 < len(frame.rows):
        return b"\x1b[%d;1H\x1b[J" % (last + 2)
    return b"\x1b[%d;1H\r\n" % len(frame.rows)
