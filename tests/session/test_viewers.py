"""Who looks at a session sets its size, by the rule."""

from duetty.session.viewers import Size, SizeRule, Viewer, Viewers


def three(rule: SizeRule = "smallest") -> tuple[Viewers, Viewer, Viewer, Viewer]:
    viewers = Viewers(rule)
    return (
        viewers,
        viewers.add(kind="attach", name="wide", size=Size(200, 30)),
        viewers.add(kind="page", name="tall", size=Size(100, 60)),
        viewers.add(kind="page", name="small", size=Size(90, 40)),
    )


def test_the_smallest_rule_takes_the_least_of_each() -> None:
    viewers, *_ = three()

    assert viewers.wanted_size() == Size(90, 30)
    assert viewers.holder is None


def test_a_viewer_that_leaves_gives_its_size_up() -> None:
    viewers, wide, tall, small = three()

    viewers.remove(small)
    assert viewers.wanted_size() == Size(100, 30)
    viewers.remove(wide)
    assert viewers.wanted_size() == Size(100, 60)
    viewers.remove(tall)
    assert viewers.wanted_size() is None


def test_a_viewer_without_a_size_takes_no_part() -> None:
    viewers, *_ = three()

    viewers.add(kind="api", name="agent")

    assert viewers.wanted_size() == Size(90, 30)


def test_whoever_holds_the_size_sets_it_until_it_lets_go_or_leaves() -> None:
    viewers, wide, tall, _ = three()

    viewers.hold(tall, on=True)
    assert (viewers.wanted_size(), viewers.holder) == (Size(100, 60), tall)
    viewers.hold(wide, on=False)  # not its to give up
    assert viewers.holder is tall
    viewers.hold(tall, on=False)
    assert viewers.wanted_size() == Size(90, 30)
    viewers.hold(wide, on=True)
    viewers.remove(wide)
    assert viewers.wanted_size() == Size(90, 40)


def test_by_the_holder_rule_the_oldest_holds_until_another_takes_it() -> None:
    viewers, wide, tall, _ = three("holder")

    assert (viewers.holder, viewers.wanted_size()) == (wide, Size(200, 30))
    viewers.hold(tall, on=True)
    assert viewers.wanted_size() == Size(100, 60)
    viewers.remove(tall)
    assert viewers.holder is wide
    viewers.remove(wide)
    assert viewers.wanted_size() == Size(90, 40)


def test_detaching_is_for_attached_terminals_only() -> None:
    viewers, wide, tall, small = three()

    assert viewers.detach() == [wide]
    assert (wide.ended, tall.ended, small.ended) == ("detached", None, None)
