"""What waits for the disk, and what is given up first."""

from duetty.store import Limits
from duetty.store.pending import Pending
from tests.store.records import a_block

LIMITS = Limits(queued_blocks=3, queued_texts=2, queued_text_chars=10)


def ids(*numbers: int) -> list[str]:
    return [a_block(number).id for number in numbers]


def test_the_oldest_text_is_given_up_before_any_block() -> None:
    pending = Pending()

    for number in (1, 2, 3):
        pending.put_block(a_block(number), "text", LIMITS)

    assert list(pending.blocks) == ids(1, 2, 3)
    assert list(pending.texts) == ids(2, 3)
    assert (pending.dropped_texts, pending.dropped_blocks) == (1, 0)


def test_blocks_are_given_up_last() -> None:
    pending = Pending()

    for number in (1, 2, 3, 4):
        pending.put_block(a_block(number), None, LIMITS)

    assert list(pending.blocks) == ids(2, 3, 4)
    assert (pending.dropped_texts, pending.dropped_blocks) == (0, 1)


def test_a_block_that_is_given_up_takes_its_text_along() -> None:
    pending = Pending()
    pending.put_block(a_block(1), "text", LIMITS)

    for number in (2, 3, 4):
        pending.put_block(a_block(number), None, LIMITS)

    assert (list(pending.texts), pending.text_chars) == ([], 0)
    assert (pending.dropped_texts, pending.dropped_blocks) == (1, 1)


def test_long_text_is_bounded_by_its_length() -> None:
    pending = Pending()
    pending.put_block(a_block(1), "x" * 6, LIMITS)

    pending.put_block(a_block(2), "x" * 6, LIMITS)

    assert list(pending.texts) == ids(2)
    assert (pending.text_chars, pending.dropped_texts) == (6, 1)


def test_a_newer_text_takes_the_place_of_an_older_one() -> None:
    pending = Pending()
    pending.put_block(a_block(1), "x" * 9, LIMITS)

    pending.put_block(a_block(1), "y" * 8, LIMITS)

    assert list(pending.texts.values()) == ["y" * 8]
    assert (pending.text_chars, pending.dropped_texts) == (8, 0)


def test_a_batch_given_back_stands_in_front_and_yields_to_newer_writes() -> None:
    pending = Pending()
    pending.put_block(a_block(1), "old", LIMITS)
    pending.put_block(a_block(2), "two", LIMITS)
    taken = pending.take()
    pending.put_block(a_block(3), None, LIMITS)
    pending.put_block(a_block(1, "newer"), None, LIMITS)

    pending.give_back(taken, LIMITS)

    assert list(pending.blocks.values()) == [a_block(1, "newer"), a_block(2), a_block(3)]
    assert list(pending.texts.values()) == ["old", "two"]
    assert pending.text_chars == 6


def test_an_older_fact_never_overwrites_a_newer_one() -> None:
    pending = Pending()
    pending.put_fact(("token", "t"), lambda _: None)
    taken = pending.take()
    newer = pending.facts[("token", "t")] = lambda _: None

    pending.give_back(taken, LIMITS)

    assert pending.facts == {("token", "t"): newer}
