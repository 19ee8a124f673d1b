"""The README's figures of the guardrail are those of the policy that it stands beside."""

from pathlib import Path

import pytest

from benchmarks.guardrail import BEGIN, END, only_writes_a_document, readme_table, write_into

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.skipif(BEGIN not in README.read_text(), reason="the README claims nothing")
def test_the_readme_has_the_figures_of_this_policy() -> None:
    text = README.read_text()
    _, _, rest = text.partition(BEGIN)
    shown, mark, _ = rest.partition(END)

    assert mark, f"{BEGIN} without {END}"
    assert shown.strip() == readme_table(), "python -m benchmarks.guardrail README.md"


def test_the_table_is_written_between_its_marks_and_nowhere_else(tmp_path: Path) -> None:
    page, plain = tmp_path / "page.md", tmp_path / "plain.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    plain.write_text("nothing here\n")

    assert (write_into(page), write_into(plain)) == (True, False)

    assert page.read_text() == f"before\n{BEGIN}\n{readme_table()}\n{END}\nafter\n"
    assert plain.read_text() == "nothing here\n"


def test_only_a_line_that_does_nothing_else_counts_as_a_written_document() -> None:
    assert only_writes_a_document("cat <<'EOF' > app.py\nrm -rf /\nEOF")
    assert only_writes_a_document('cat > src/app.py << "END"\nx\n\nEOF\nEND\n')
    assert not only_writes_a_document("cat <<'EOF' > app.py\nx\nEOF\npython3 app.py")
    assert not only_writes_a_document("cat <<EOF > app.py\n$(date)\nEOF")
    assert not only_writes_a_document("cat <<'EOF' | sh\nx\nEOF")
    assert not only_writes_a_document("cat <<'EOF' > a\nx\nEOF\nrm -rf /\nEOF")
