import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from duetty.errors import UnknownKey
from duetty.vt import KEY_NAMES, encode_keys, encode_paste
from tests.vt.drawn import fed

LEGACY = {
    "Enter": b"\r",
    "enter": b"\r",
    "Return": b"\r",
    "Tab": b"\t",
    "Escape": b"\x1b",
    "esc": b"\x1b",
    "Backspace": b"\x7f",
    "Space": b" ",
    "Delete": b"\x1b[3~",
    "Insert": b"\x1b[2~",
    "Home": b"\x1b[H",
    "End": b"\x1b[F",
    "PageUp": b"\x1b[5~",
    "PgDn": b"\x1b[6~",
    "Up": b"\x1b[A",
    "ArrowDown": b"\x1b[B",
    "Right": b"\x1b[C",
    "left": b"\x1b[D",
    "F1": b"\x1bOP",
    "f5": b"\x1b[15~",
    "F12": b"\x1b[24~",
    "C-c": b"\x03",
    "Ctrl-C": b"\x03",
    "Ctrl+c": b"\x03",
    "c-[": b"\x1b",
    "C-\\": b"\x1c",
    "C-]": b"\x1d",
    "C-^": b"\x1e",
    "C-_": b"\x1f",
    "C-@": b"\x00",
    "C-Space": b"\x00",
    "C- ": b"\x00",
    "C-?": b"\x7f",
    "M-C-_": b"\x1b\x1f",
    "Alt-x": b"\x1bx",
    "M-X": b"\x1bX",
    "C-M-a": b"\x1b\x01",
    "Shift-a": b"A",
    "S-Tab": b"\x1b[Z",
    "Shift-Up": b"\x1b[1;2A",
    "C-Right": b"\x1b[1;5C",
    "Alt-Left": b"\x1b[1;3D",
    "C-S-End": b"\x1b[1;6F",
    "S-F5": b"\x1b[15;2~",
    "Alt-Enter": b"\x1b\r",
    "a": b"a",
    "A": b"A",
    "-": b"-",
    "+": b"+",
    "C": b"C",
    "!": b"!",
    "é": b"\xc3\xa9",
    "日": "日".encode(),
    "S-ß": "ß".encode(),
    "Keypad5": b"5",
    "KeypadEnter": b"\r",
}


@pytest.mark.parametrize(("name", "expected"), LEGACY.items())
def test_a_key_sends_what_terminals_send(name: str, expected: bytes) -> None:
    assert encode_keys([name], fed()) == expected


@pytest.mark.parametrize(
    ("modes", "name", "expected"),
    [
        ("\x1b[?1h", "Up", b"\x1bOA"),
        ("\x1b[?1h", "Home", b"\x1bOH"),
        ("\x1b[?1h", "C-Up", b"\x1b[1;5A"),
        ("\x1b[>1u", "Escape", b"\x1b[27u"),
        ("\x1b[>1u", "C-c", b"\x1b[99;5u"),
        ("\x1b[>1u", "C-[", b"\x1b[91;5u"),
        ("\x1b[>1u", "a", b"a"),
        ("\x1b[>9u", "a", b"\x1b[97u"),
        ("\x1b[>9u", "A", b"\x1b[97;2u"),
        ("\x1b[>9u", "?", b"\x1b[47;2u"),
        ("\x1b[>9u", "7", b"\x1b[55u"),
    ],
)
def test_a_key_follows_the_mode_the_program_asked_for(
    modes: str, name: str, expected: bytes
) -> None:
    assert encode_keys([name], fed(modes)) == expected


def test_application_keypad_changes_the_keypad() -> None:
    assert encode_keys(["Keypad5"], fed("\x1b=\x1b[?1035l")) == b"\x1bOu"


def test_keys_are_sent_in_order() -> None:
    assert encode_keys(["l", "s", "Enter"], fed()) == b"ls\r"
    assert encode_keys([], fed()) == b""


def test_every_named_key_sends_something() -> None:
    terminal = fed()

    silent = [name for name in KEY_NAMES if not encode_keys([name], terminal)]

    assert silent == []


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("PageUpp", "PageUp"), ("C-entr", "Enter"), ("arowup", "Up"), ("", None), ("zzzzzz", None)],
)
def test_an_unknown_key_is_refused_with_the_nearest_one(name: str, nearest: str | None) -> None:
    with pytest.raises(UnknownKey) as refused:
        encode_keys(["Enter", name], fed())

    assert refused.value.details == {"place": 2, "nearest": nearest}


def test_the_refusal_does_not_repeat_what_may_be_a_secret() -> None:
    with pytest.raises(UnknownKey) as refused:
        encode_keys(["hunter2"], fed())

    assert "hunter2" not in f"{refused.value} {refused.value.hint}"


@settings(max_examples=150, deadline=None)
@given(st.characters(exclude_categories=["Cs", "Cc"]))
def test_any_character_is_sent_as_itself_or_refused(character: str) -> None:
    if character.isprintable():
        assert encode_keys([character], fed()) == character.encode()
    else:
        with pytest.raises(UnknownKey):
            encode_keys([character], fed())


def test_a_paste_ends_its_lines_with_enter() -> None:
    assert encode_paste("one\ntwo\r\nthree\rfour", fed()) == b"one\rtwo\rthree\rfour"


def test_a_paste_is_marked_as_one_when_the_program_asked() -> None:
    terminal = fed("\x1b[?2004h")

    assert encode_paste("one\ntwo é", terminal) == b"\x1b[200~one\ntwo \xc3\xa9\x1b[201~"


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(["\x1b", "[", "2", "0", "1", "~", "\x1b[201~", "\x9b"])).map("".join)
)
@example("\x1b[20\x1b[201~1~")  # what is left comes together
def test_a_paste_cannot_end_itself(text: str) -> None:
    pasted = encode_paste(text, fed("\x1b[?2004h"))

    inside = pasted.removeprefix(b"\x1b[200~").removesuffix(b"\x1b[201~").decode()
    assert "\x1b[201~" not in inside
    assert "\x9b201~" not in inside
