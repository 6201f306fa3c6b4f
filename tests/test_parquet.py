"""Names of columns of which a byte changed: no checksum of Parquet is of them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from drurank.errors import InputError
from drurank.report import report_predictions
from drurank.run_folder.group_counts import read_counts, write_checked
from drurank.run_folder.weights import WEIGHED, weights_of, weights_table
from drurank.tabular.reading import read_table
from drurank.tabular.writing import write_table

COLUMNS = {
    "label": ["1", "0", "1", "0"],
    "prediction": ["1", "1", "1", "0"],
    "group": ["g", "g", "h", "h"],
    "seen_in_training": [True, True, False, False],
}


def places_of(data, name):
    """Where a name stands in a file, as it is."""
    found, at = [], data.find(name.encode())
    while at >= 0:
        found.append(at)
        at = data.find(name.encode(), at + 1)
    assert found
    return found


def changed(file, name, letter):
    """The file with another first letter in a name, once for each place where it stands."""
    whole = file.read_bytes()
    for place in places_of(whole, name):
        file.write_bytes(whole[:place] + bytes([letter]) + whole[place + 1 :])
        yield
    file.write_bytes(whole)


def outcomes(file, name, letter, read):
    """What reading gives with each of these changes: what it should, or a sentence that names the file."""
    wanted, found = read(), []
    for _ in changed(file, name, letter):
        try:
            found.append("same" if read() == wanted else "other")
        except InputError as error:
            found.append("refused" if file.name in str(error) else str(error))
    return set(found)


@pytest.mark.parametrize("letter", [ord("r"), ord("S"), 0xF5, 0])
def test_a_changed_name_of_an_optional_column_does_not_go_unnoticed(letter):
    write_table(pa.table(COLUMNS), Path("p.parquet"))

    def read():
        return report_predictions("p.parquet", overwrite=True)["splits"]["all"]

    assert read()["groups_unseen_in_training"] == 1
    for look in (read, lambda: read_table("p.parquet")):
        assert "refused" in outcomes(Path("p.parquet"), "seen_in_training", letter, look) <= {"refused", "same"}


@pytest.mark.parametrize("name", ["split", "group", "count", "correct"])
def test_a_name_that_is_no_text_is_answered_in_a_sentence(name):
    file, table = Path("g.parquet"), pa.table({"split": ["a"], "group": ["g"], "count": [2], "correct": [1]})
    write_checked(table, file)
    found = outcomes(file, name, 0xF5, lambda: read_counts(file, ("split", "group"), "do that"))
    assert "refused" in found <= {"refused", "same"}


@pytest.mark.parametrize("name", WEIGHED)
@pytest.mark.parametrize("letter", [0xF5, ord("z")])
def test_names_of_weights_too(tmp_path, name, letter):
    table = weights_table(tmp_path, "parquet")
    table.path.mkdir()
    table.write(0, pa.table({key: [1.0] for key in WEIGHED}))
    file = table.path / "epoch_0000.parquet"
    found = outcomes(file, name, letter, lambda: [one[1].tolist() for one in weights_of(tmp_path).epochs()])
    assert "refused" in found <= {"refused", "same"}


def test_a_table_that_was_renamed_selected_or_added_to_is_read():
    write_table(pa.table(COLUMNS), Path("p.parquet"))
    table = pa_parquet.read_table("p.parquet").rename_columns({"label": "y"}).append_column("x", pa.array([1] * 4))
    pa_parquet.write_table(table, "q.parquet")
    assert read_table("q.parquet").column_names == ["y", "prediction", "group", "seen_in_training", "x"]
    pa_parquet.write_table(table, "r.parquet", store_schema=False)
    assert read_table("r.parquet").num_columns == 5
