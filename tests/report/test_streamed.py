"""Reports of Parquet that is read piece by piece against those of the rows in memory."""

import json
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from drurank.errors import InputError
from drurank.report import asked, report_counts, report_predictions
from drurank.tabular import streaming
from drurank.tabular.several import Source

COLUMNS = {"label": "y", "prediction": "yhat", "group": "g"}
KINDS = {
    "int8": pa.int8(),
    "uint64": pa.uint64(),
    "float32": pa.float32(),
    "decimal": pa.decimal128(5, 1),
    "bool": pa.bool_(),
    "text": pa.string(),
    "large text": pa.large_string(),
    "views of text": pa.string_view(),
    "codes": pa.dictionary(pa.int8(), pa.string()),
}


def cells(number, kind):
    """The numbers as cells of a kind, blank where they are negative."""
    if pa.types.is_decimal(kind):
        return pa.array([None if one < 0 else Decimal(int(one)) for one in number], kind)
    known = pa.array(number, mask=np.array(number) < 0)
    if pa.types.is_dictionary(kind):
        return known.cast(pa.string()).dictionary_encode().cast(kind)
    return known.cast(pa.string()).cast(kind)


def rows_of(seed, kind, rows=400, blank=0.0, classes=2):
    """Predictions whose labels are of a kind, and a count beside them."""
    rng = np.random.default_rng(seed)
    classes = 2 if pa.types.is_boolean(kind) else classes
    label = rng.integers(0, classes, rows)
    said = np.where(rng.random(rows) < 0.7, label, rng.integers(0, classes, rows))
    group = np.where(rng.random(rows) < blank, -1, rng.integers(0, 9, rows))
    label = np.where(rng.random(rows) < blank, -1, label)
    return pa.table(
        {
            "y": cells(label, kind),
            "yhat": cells(said, kind),
            "g": cells(group, pa.string()),
            "h": rng.integers(0, 2, rows).astype(float),
            "s": np.array(["train", "ood_test"])[rng.integers(0, 2, rows)],
            "n": rng.integers(0, 4, rows),
            "other": rng.random(rows),
        }
    )


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    monkeypatch.setattr(streaming, "PIECE", 50)
    monkeypatch.setattr(streaming, "LEAST_MERGED", 30)


@pytest.fixture
def both(monkeypatch, capsys):
    """Reports on the same words, of a stream and of rows in memory: what they say, write and return."""

    def reports(path, **words):
        found = []
        for streamed in (True, False):
            with monkeypatch.context() as patch:
                if streamed:  # rows are never read as a whole
                    patch.setattr(Source, "read", None)
                else:
                    patch.setattr(asked, "may_stream", lambda path: False)
                report = report_predictions(path, **COLUMNS | words, output="out", overwrite=True)
            files = {file.name: file.read_bytes() for file in Path("out").glob("*.csv")}
            found.append((json.loads(json.dumps(report)), files, capsys.readouterr().out))
        return found

    return reports


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_reports_of_every_kind_of_label_are_those_of_the_rows(both, kind):
    pa_parquet.write_table(rows_of(0, kind), "p.parquet", row_group_size=70)
    positive = "true" if pa.types.is_boolean(kind) else "1"
    streamed, whole = both("p.parquet", figure="fpr,selection_rate", positive=positive, split="s")
    assert streamed == whole


@pytest.mark.parametrize("seed", range(8))
def test_parts_with_blank_cells_several_columns_and_counts_give_the_report_of_their_rows(both, seed):
    rng = np.random.default_rng(seed)
    table = rows_of(seed, pa.int64(), blank=0.05, classes=3)
    ends = [0, *np.sort(rng.integers(1, 400, 3)).tolist(), 400]
    Path("parts").mkdir()
    for number, (begin, end) in enumerate(pairwise(ends)):
        part = table.slice(begin, end - begin)
        if number == 1:  # another type of the same numbers, and another order of columns
            part = part.set_column(0, "y", part["y"].cast(pa.float64())).select(part.column_names[::-1])
        if len(part):
            pa_parquet.write_table(part, f"parts/{number}.parquet", row_group_size=int(rng.integers(20, 200)))
    words = {"group": "g,h", "drop_missing": True, "count": "n" if seed % 2 else None}
    words["split"] = "s" if seed % 4 > 1 else None
    streamed, whole = both(["parts", "parts/*.parquet"][seed % 2], **words)
    assert streamed == whole
    report = streamed[0]
    pa_parquet.write_table(table, "one.parquet")
    one = report_predictions("one.parquet", **COLUMNS | words, output="one")
    assert one["splits"] == report["splits"]
    # By hand: rows, counts and how many were left out.
    known = table["y"].is_valid().to_numpy() & table["g"].is_valid().to_numpy()
    times = np.array(table["n"]) if seed % 2 else np.ones(400, int)
    assert sum(split["rows"] for split in report["splits"].values()) == times[known].sum()
    assert report["dropped"]["rows"] == (~known).sum()
    assert report["dropped"]["blank"] == {"y": table["y"].null_count, "g": table["g"].null_count, "h": 0}


def test_numbers_that_stand_for_labels_are_read_as_their_names(both):
    features = {
        "y": {"names": ["no", "yes"], "_type": "ClassLabel"},
        "yhat": {"names": ["no", "yes"], "_type": "ClassLabel"},
    }
    table = rows_of(1, pa.int64()).replace_schema_metadata(
        {b"huggingface": json.dumps({"info": {"features": features}}).encode()}
    )
    pa_parquet.write_table(table, "p.parquet", row_group_size=70)
    streamed, whole = both("p.parquet", figure="fpr", positive="yes")
    assert streamed == whole
    wrong = table.set_column(1, "yhat", pa.array([*[0] * 220, 7, 5, *[1] * 178]))
    pa_parquet.write_table(wrong, "p.parquet")
    with pytest.raises(InputError, match=r"'yhat', row 220 \(the first is 0\): 7 is not one of the 2 labels"):
        report_predictions("p.parquet", **COLUMNS)


@pytest.mark.parametrize(
    ("column", "wrong", "said"),
    [
        (
            "g",
            None,
            r"b\.parquet: column 'g', row 71 \(the first is 0\): a blank cell is not a group, one of 2 such cells",
        ),
        ("yhat", None, r"b\.parquet: column 'yhat', row 71 .*: a blank cell is not a prediction, one of 2 such cells"),
        ("s", None, r"b\.parquet: column 's', row 71 .*: a blank cell is not a split, one of 2 such cells"),
        ("yhat", 5, r"b\.parquet: column 'yhat', row 71 .*: 5 is not one of the labels"),
        ("n", -3, r"b\.parquet: column 'n', row 71 .*: -3 is not a count"),
        ("n", 2**52, r"b\.parquet: column 'n', row 71 .* is too large: with the others it is above"),
    ],
)
def test_messages_name_the_first_wrong_row_of_its_file(column, wrong, said):
    table = rows_of(2, pa.int64()).take(pa.array([*range(390), 321, *range(391, 400)]))  # 321 and 390 are alike
    changed = table[column].to_pylist()
    changed[321] = changed[390] = wrong
    table = table.set_column(table.column_names.index(column), column, pa.array(changed))
    Path("parts").mkdir()
    pa_parquet.write_table(table.slice(0, 250), "parts/a.parquet")
    pa_parquet.write_table(table.slice(250), "parts/b.parquet")
    with pytest.raises(InputError, match=said):
        report_predictions("parts", **COLUMNS, count="n", split="s")


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (lambda table: table.drop_columns(["yhat"]), r"b.parquet has no column 'yhat', which .*a.parquet has"),
        (
            lambda table: table.set_column(0, "y", table["y"].cast(pa.string())),
            r"b.parquet: column 'y' holds string, and in the files before int64",
        ),
        (lambda table: table.set_column(2, "g", pa.nulls(400, pa.date32())), "'g' holds date32|before string"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(other, said):
    table = rows_of(3, pa.int64())
    Path("parts").mkdir()
    pa_parquet.write_table(table, "parts/a.parquet")
    pa_parquet.write_table(other(table), "parts/b.parquet")
    with pytest.raises(InputError, match=said):
        report_predictions("parts", **COLUMNS)


def test_files_that_are_damaged_empty_or_partitioned_are_refused():
    table = rows_of(4, pa.int64())
    pa_parquet.write_table(table, "p.parquet")
    Path("p.parquet").write_bytes(Path("p.parquet").read_bytes()[:-200])
    with pytest.raises(InputError, match=r"p.parquet cannot be read as parquet"):
        report_predictions("p.parquet", **COLUMNS)
    pa_parquet.write_table(table.slice(0, 0), "empty.parquet")
    with pytest.raises(InputError, match=r"empty.parquet has no rows"):
        report_predictions("empty.parquet", **COLUMNS)
    Path("parts/s=train").mkdir(parents=True)
    with pytest.raises(InputError, match=r"parts has a folder 's=train', which says what is in a column"):
        report_predictions("parts", **COLUMNS)


@pytest.mark.parametrize("order", [("codes", "text"), ("text", "codes"), ("views of text", "codes", "large text")])
def test_parts_with_codes_of_text_and_with_text_give_the_report_of_their_rows(both, order):
    plain = rows_of(3, pa.string())
    Path("parts").mkdir()
    for part, kind in enumerate(order):
        some = plain.slice(part * 130, 130)
        for name in ("y", "yhat", "g"):
            at = some.column_names.index(name)
            column = some[name].combine_chunks()
            wanted = KINDS[kind]
            coded = column.dictionary_encode().cast(wanted) if kind == "codes" else column.cast(wanted)
            some = some.set_column(at, name, coded)
        pa_parquet.write_table(some, f"parts/{part}.parquet")
    streamed, whole = both("parts", figure="fpr", positive="1", split="s")
    assert streamed == whole
    pa_parquet.write_table(plain.slice(0, 130 * len(order)), "p.parquet")
    wanted, _ = both("p.parquet", figure="fpr", positive="1", split="s")
    assert streamed[0]["splits"] == wanted[0]["splits"]
    assert streamed[1] == wanted[1]


def test_an_empty_part_among_others_is_no_fault():
    table = rows_of(5, pa.int64())
    Path("parts").mkdir()
    pa_parquet.write_table(table, "parts/a.parquet")
    pa_parquet.write_table(table.slice(0, 0), "parts/b.parquet")
    Path("parts/_SUCCESS").touch()
    assert report_predictions("parts", **COLUMNS)["splits"]["all"]["rows"] == 400
    assert Path("parts_report/report.json").is_file()  # beside the folder


def test_several_files_need_a_folder_to_write_to():
    for name in ("a", "b"):
        pa_parquet.write_table(rows_of(6, pa.int64()), f"{name}.parquet")
    with pytest.raises(InputError, match=r"\*\.parquet is 2 files; say which folder to write to, as output=report"):
        report_predictions("*.parquet", **COLUMNS)


def test_figures_of_scores_and_texts_are_read_of_several_files_too():
    table = rows_of(7, pa.int64())
    table = table.append_column("p", pa.array(np.random.default_rng(0).random(400)))
    pa_parquet.write_table(table, "p.parquet")
    one = report_predictions("p.parquet", **COLUMNS, figure="auroc,f1", score="p")
    Path("parts").mkdir()
    pa_parquet.write_table(table.slice(0, 123), "parts/a.parquet")
    pa_parquet.write_table(table.slice(123), "parts/b.parquet")
    several = report_predictions("parts", **COLUMNS, figure="auroc,f1", score="p")
    assert (several["splits"], several["figures"]) == (one["splits"], one["figures"])
    lines = ["y,yhat,g", *("1,1,a", "0,1,a", "1,0,b")]
    Path("a.csv").write_text("\n".join(lines[:3]) + "\n", encoding="utf-8")
    Path("b.csv").write_text("\n".join([lines[0], *lines[3:], "2,,b"]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"b\.csv: column 'yhat', row 1 \(the first is 0\): a blank cell"):
        report_predictions("a.csv,b.csv", **COLUMNS, output="csv")
    found = report_counts(_counts(), output="counts")["splits"]["all"]
    assert (found["rows"], found["groups"]) == (12, 2)


def _counts():
    for name, cells in (("c", "a,4,1"), ("d", "b,8,6")):
        Path(f"{name}.csv").write_text(f"group,count,correct\n{cells}\n", encoding="utf-8")
    return "c.csv,d.csv"
