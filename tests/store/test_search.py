"""What a person types in, and what is found."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duetty.ids import SessionId
from duetty.store import Hit, Snippet, SnippetPart, Store
from duetty.store.search import SNIPPET_CHARS
from tests.store.records import a_block

COMMANDS = {
    1: ("cargo build --release", "Compiling src/main.rs\nwarning: unused variable"),
    2: (
        "python src/main.py --verbose",
        "Traceback (most recent call last)\nKeyError: 'naïve café'",
    ),
    3: ("grep -rn TODO_LATER src | head", "src/app/main.py:12: # TODO_LATER"),
    4: ("echo Straße ÜBER 日本語", "Straße über 日本語\ne\u0301te\u0301"),
    5: ('psql -c "DROP TABLE users; --"', "permission denied for table users"),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("search") / "store.db") as store:
        for number, (command_line, output) in COMMANDS.items():
            store.save_block(a_block(number, command_line), output)
        assert store.flush()
        yield store


def numbers(hits: list[Hit]) -> list[int]:
    return [hit.block.number for hit in hits]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("cargo", [1]),
        ("CARGO Build", [1]),
        ("build cargo", [1]),
        ("cargo python", []),
        ("src", [3, 2, 1]),
        ("cargo warning", [1]),  # one word in the command line, one in the output
        ("", [5, 4, 3, 2, 1]),
    ],
)
def test_words_are_anded_over_command_line_and_output(
    store: Store, query: str, found: list[int]
) -> None:
    assert numbers(store.search(query)) == found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("src/main.py", [2]),
        ("main.py", [3, 2]),
        ("src/main", [2, 1]),
        ("--verbose", [2]),
        ("--cargo", []),
        ("-rn", [3]),
        ("main.py:12", [3]),
        ("TODO_LATER", [3]),
        ("LATER", [3]),
        ("(most", [2]),
        ("|", [3]),
        ("| head", [3]),
        ("--", [5, 2, 1]),
        ("#", []),  # punctuation alone is sought in command lines only
    ],
)
def test_punctuation_stands_for_itself(store: Store, query: str, found: list[int]) -> None:
    assert numbers(store.search(query)) == found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('"permission denied"', [5]),
        ('"denied permission"', []),
        ('"permission denied" psql', [5]),
        ('"permission denied', [5]),  # the closing quote is still to come
        ('"src/main.py --verbose"', [2]),
        ('"last KeyError"', [2]),  # over the end of a line, where output wraps
        ('""', [5, 4, 3, 2, 1]),
    ],
)
def test_quoted_words_stand_next_to_each_other(store: Store, query: str, found: list[int]) -> None:
    assert numbers(store.search(query)) == found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("comp*", [1]),
        ("comp", []),
        ('"unused var"*', [1]),
        ("src/ma*", [2, 1]),
        ("src/*", [3, 2, 1]),
    ],
)
def test_a_star_at_the_end_finds_what_begins_so(store: Store, query: str, found: list[int]) -> None:
    assert numbers(store.search(query)) == found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("uber", [4]),
        ("über", [4]),
        ("cafe", [2]),
        ("CAFÉ", [2]),
        ("cafe'", [2]),
        ("été", [4]),
        ("STRASSE", []),
        ("straße", [4]),
        ("日本語", [4]),
        ("日本*", [4]),
    ],
)
def test_case_and_accents_do_not_matter(store: Store, query: str, found: list[int]) -> None:
    assert numbers(store.search(query)) == found


@pytest.mark.parametrize(
    "query",
    [
        "' OR 1=1 --",
        "'; DROP TABLE blocks; --",
        "command_line:cargo",
        "cargo NEAR(build, 1) ^x",
        "cargo AND NOT",
        "{command_line output}:cargo",
        "cargo\0build\0nothing",
        '*" OR "cargo',
        "\ud800",
    ],
)
def test_no_query_is_syntax(store: Store, query: str) -> None:
    assert store.search(query) == []
    assert len(store.blocks()) == len(COMMANDS)


def test_a_very_long_query_is_cut_not_refused(store: Store) -> None:
    assert numbers(store.search("cargo " * 10_000)) == [1]


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(query=st.text(alphabet=st.characters() | st.sampled_from('"*()-:^{}+/\\ \0aes')))
def test_any_text_is_a_query(store: Store, query: str) -> None:
    hits = store.search(query)

    for hit in hits:
        assert any(part.text for part in hit.snippet.parts)


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    session=st.none() | st.text(),
    cwd=st.none() | st.text(),
    failed=st.none() | st.booleans(),
    since_ns=st.none() | st.integers(),
    limit=st.integers(),
)
def test_any_filters_are_filters(
    store: Store,
    session: str | None,
    cwd: str | None,
    failed: bool | None,
    since_ns: int | None,
    limit: int,
) -> None:
    hits = store.search(
        "src", session=session, cwd=cwd, failed=failed, since_ns=since_ns, limit=limit
    )

    assert len(hits) <= len(COMMANDS)


def test_filters_narrow_the_hits(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        store.save_block(a_block(1, cwd="/srv", exit_code=0))
        store.save_block(a_block(2, cwd="/srv/app", exit_code=2))
        store.save_block(a_block(3, cwd="/srv-old", exit_code=None))
        store.save_block(a_block(4, cwd=None, session=SessionId("0ther"), session_name="other"))
        assert store.flush()

        assert numbers(store.search("make", cwd="/srv")) == [2, 1]
        assert numbers(store.search("make", cwd="/srv/")) == [2, 1]
        assert numbers(store.search("make", cwd="/")) == [3, 2, 1]
        assert numbers(store.search("make", failed=True)) == [2]
        assert numbers(store.search("make", failed=False)) == [4, 1]
        assert numbers(store.search("make", since_ns=3_000)) == [4, 3]
        assert numbers(store.search("make", session="other")) == [4]
        assert numbers(store.search("make", session="0ther")) == [4]
        assert numbers(store.search("", failed=True, cwd="/srv")) == [2]
        assert numbers(store.search("make", limit=2)) == [4, 3]


def test_a_hit_in_the_command_line_marks_the_match(store: Store) -> None:
    [hit] = store.search("release")

    assert hit == Hit(
        block=a_block(1, "cargo build --release"),
        snippet=Snippet(
            parts=(
                SnippetPart(text="cargo build --", matched=False),
                SnippetPart(text="release", matched=True),
            ),
            cut_before=False,
            cut_after=False,
        ),
        field="command",
    )


def test_a_hit_in_the_output_marks_every_match_as_it_was_printed(store: Store) -> None:
    [hit] = store.search('traceback "KEYERROR: \'naive"')

    assert hit.field == "output"
    assert [part.text for part in hit.snippet.parts if part.matched] == [
        "Traceback",
        "KeyError: 'naïve",
    ]


def test_a_hit_deep_in_the_output_shows_its_surroundings(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        store.save_block(a_block(1), "before " * 100 + "the Näedle" + " after" * 100)
        assert store.flush()

        [hit] = store.search("naedle")

    assert hit.field == "output"
    assert [part.text for part in hit.snippet.parts if part.matched] == ["Näedle"]
    assert (hit.snippet.cut_before, hit.snippet.cut_after) == (True, True)
    assert sum(len(part.text) for part in hit.snippet.parts) == SNIPPET_CHARS


def test_text_in_the_output_cannot_pretend_to_be_a_match(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        store.save_block(a_block(1), "<b>needle</b> \x01\x02 [needles]")
        assert store.flush()

        [hit] = store.search("needle")

    assert hit.snippet.parts == (
        SnippetPart(text="<b>", matched=False),
        SnippetPart(text="needle", matched=True),
        SnippetPart(text="</b> \x01\x02 [needles]", matched=False),
    )
