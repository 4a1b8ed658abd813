"""Tables fit the terminal: nothing in them is lost, and where there is no terminal they are as wide as they are."""

import io
import sys

import pytest

from flowsched_gym.core.tables import Table

WIDE = Table(
    columns=("policy", "actions", "deadlines met, %", "better than reference, %", "a column that is never empty"),
    rows=(
        ("feasible-first", "grant", "76.9 [71.9, 81.9]", "93.3 [81.7, 100.0]", "+1.0 [+0.7, +1.3] skip-late"),
        ("postpone-late:base=feasible-first,margin_ms=4", "grant, postpone", "81.3 [77.0, 85.1]", "", "x" * 45),
    ),
)


class Terminal(io.StringIO):
    """Standard output that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [80, 100, 200])
def test_a_table_fits_the_width_and_every_cell_is_there(width: int) -> None:
    text = WIDE.text(width)
    assert max(map(len, text.splitlines())) <= width
    cells = (cell for row in (WIDE.columns, *WIDE.rows) for cell in row)
    words = {word for cell in cells for word in cell.split() if len(word) < 30}
    assert words <= set(text.split())


def test_a_word_that_is_wider_than_a_column_is_folded_and_whole() -> None:
    text = WIDE.text(80)
    assert text.count("x") == 45
    lines = text.splitlines()
    assert [line.split()[0] for line in lines if "81.3" in line] == ["postpone-late:base=feasible-"]
    assert any(line.startswith("first,margin_ms=4") for line in lines)


def test_what_markdown_prints_in_bold_is_plain_on_a_terminal() -> None:
    table = Table(columns=("verdict", "p"), rows=(("**better**", "0.01"),))
    assert table.text(80) == "verdict     p\nbetter   0.01\n"
    assert "| **better** | 0.01 |" in table.markdown()


def test_columns_that_do_not_fit_stand_below_the_others_beside_the_same_first_one() -> None:
    table = Table(columns=("name", "one", "two"), rows=(("a", "1" * 6, "2" * 6), ("b", "3", "4")))
    assert table.text(20) == "name     one     two\na     111111  222222\nb          3       4\n"
    assert table.text(19) == "name     one\na     111111\nb          3\n\nname     two\na     222222\nb          4\n"


def test_the_width_is_that_of_the_terminal_or_of_columns_else_there_is_none(monkeypatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    whole = max(map(len, WIDE.text().splitlines()))
    assert whole > 150, "piped output is not folded"
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setattr("os.get_terminal_size", lambda *_: (_ for _ in ()).throw(OSError))
    assert max(map(len, WIDE.text().splitlines())) <= 80, "a terminal that tells no width"
    monkeypatch.setenv("COLUMNS", "100")
    assert 80 < max(map(len, WIDE.text().splitlines())) <= 100
