"""The weights of a run by epoch: files that go on, are damaged, are large, and the forms that they have."""

import csv
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from drurank.errors import InputError
from drurank.run_folder.weights import COLUMNS, WeightsCsv, WeightsParquet, weights_of, weights_table

FORMS = pytest.mark.parametrize("form", ["csv", "parquet"])


def _write(file, rows):
    with file.open("w", newline="", encoding="utf-8") as lines:
        csv.writer(lines).writerows([COLUMNS, *rows])


def _row(epoch, name):
    return [str(epoch), name, "1", "0.5", "0", "1.0", "1.0"]


def _table(epoch, names, rank, weight):
    size = len(names)
    columns = [[epoch] * size, names, [1] * size, [0.5] * size, pa.array(rank, pa.float64()), weight, weight]
    return pa.table(dict(zip(COLUMNS, columns, strict=True)))


def _read(table):
    return [(epoch, rank.tolist(), weight.tolist()) for epoch, rank, weight in table.epochs()]


def test_rows_of_epochs_that_are_trained_again_go_and_so_does_a_torn_one(tmp_path):
    file = tmp_path / "weights.csv"
    kept = [_row(0, 'a, "b"'), _row(0, "two\nlines"), _row(1, "é"), _row(1, "f")]
    _write(file, [*kept, _row(2, "a")])
    with file.open("a") as lines:
        lines.write("2,torn,1")
    WeightsCsv(tmp_path).begin(2)
    with file.open(newline="", encoding="utf-8") as lines:
        assert list(csv.reader(lines)) == [list(COLUMNS), *kept]


def test_file_is_not_held_in_memory(tmp_path):
    _write(tmp_path / "weights.csv", (_row(0, f"group {number}") for number in range(20_000)))
    tracemalloc.start()
    try:
        WeightsCsv(tmp_path).begin(1)
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()
    lines = [",".join(COLUMNS), *(f'0,"group {number}",1,0.5,0,1.0,1.0' for number in range(20_000))]
    assert (tmp_path / "weights.csv").read_bytes() == "".join(f"{line}\n" for line in lines).encode()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text + b"\xff",
        lambda text: text + "²,a,1,1,1,1,1\r\n".encode(),
        lambda text: text + b"x,a,1,1,1,1,1\r\n",
        lambda text: text.replace(b"1.0", b"1.o", 1),
        lambda text: text.replace(b"0,b", b"0;b", 1),
        lambda text: text.replace(b"0,b", b'0,"b', 1),
        lambda text: text.replace(b"rank", b"rang"),
        lambda text: text.partition(b"\r\n")[2],
        lambda text: text[:-40],
        lambda text: text.replace(b"0,c", b"\x00,c", 1),
    ],
)
def test_damaged_file_is_named(tmp_path, damage):
    file = tmp_path / "weights.csv"
    _write(file, [_row(epoch, name) for epoch in (0, 1) for name in "abc"])
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(InputError, match=r"weights\.csv is damaged: .* move it away"):
        WeightsCsv(tmp_path).begin(2)


@FORMS
def test_each_form_gives_the_epochs_back_and_goes_on(tmp_path, form):
    names = ["two\nlines", 'a, "b"', "é"]
    table = weights_table(tmp_path, form)
    table.begin(0)
    for epoch in range(12):
        table.write(epoch, _table(epoch, names, [None] * 3 if epoch == 0 else [0, 50, 25], [1.0, 2.0, 3.0 + epoch]))
    found = _read(weights_of(tmp_path))
    np.testing.assert_array_equal(found[0][1], [np.nan] * 3)
    assert found[1:] == [(epoch, [0, 50, 25], [1, 2, 3 + epoch]) for epoch in range(1, 12)]
    assert (table.count(11), table.count(12), table.groups()) == (3, 0, 3)
    table.begin(11)
    assert [epoch for epoch, _, _ in table.epochs()] == list(range(11))


@FORMS
def test_nothing_is_written_yet(tmp_path, form):
    table = weights_table(tmp_path, form)
    assert (_read(table), table.count(0), table.groups()) == ([], 0, 0)


def test_csv_removed_on_the_way_has_its_head_again(tmp_path):
    table = WeightsCsv(tmp_path)
    table.begin(0)
    table.path.unlink()
    table.write(3, _table(3, ["a"], [0], [2.0]))
    assert _read(table) == [(3, [0], [2])]


def test_csv_that_a_resumed_run_goes_on_in_has_the_bytes_of_a_straight_one(tmp_path):
    names = ["a", 'b "x", y', "7", "Zoë"]
    written = []
    for epochs in ([0, 1, 2], [0, 1, 2, 1, 2]):
        folder = tmp_path / str(len(epochs))
        folder.mkdir()
        table = WeightsCsv(folder)
        for place, epoch in enumerate(epochs):
            if place in (0, 3):
                table.begin(epoch)
            figures = ([None] * 4, [0.1] * 4) if epoch == 0 else ([0, 25, 50, 75], [1 / 3, 1.0, 2.0, 1e-9])
            table.write(epoch, _table(epoch, names, *figures))
        written.append(table.path.read_bytes())
    assert written[0] == written[1]


def test_run_keeps_its_form(tmp_path):
    WeightsCsv(tmp_path).begin(0)
    with pytest.raises(InputError, match=r"weights\.csv has the weights of this run as csv; give .*form='csv'"):
        weights_table(tmp_path, "parquet")


@pytest.mark.parametrize("column", ["rank", "mean_weight"])
def test_damaged_parquet_is_named(tmp_path, column):
    table = WeightsParquet(tmp_path)
    table.begin(0)
    table.write(0, _table(0, [str(number) for number in range(200)], range(200), np.random.default_rng(0).random(200)))
    file = tmp_path / "weights/epoch_0000.parquet"
    parts = pa_parquet.ParquetFile(file).metadata.row_group(0)
    part = parts.column(COLUMNS.index(column))
    content = bytearray(file.read_bytes())
    content[part.dictionary_page_offset + part.total_compressed_size // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"epoch_0000\.parquet is damaged: "):
        _read(table)
