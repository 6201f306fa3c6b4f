"""What is wrong with names of columns and outputs is said before the rows of a table are read."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import drurank.study.comparing_files  # noqa: F401 - else it would keep the function that a test puts in place
from drurank.tabular.reading import read_head

TRAINED = ["--data", "Table", "--data.label", "y", "--data.group", "g", "--data.split", "s"]


@pytest.fixture(scope="module")
def trained(run, fit, tmp_path_factory):
    """A run on a table."""
    folder = tmp_path_factory.mktemp("trained")
    lines = [
        f"{row * 7 % 31},{'ab'[row % 2]},{part}{row % 3},{part}" for part in ("train", "ood_val") for row in range(40)
    ]
    (folder / "t.csv").write_text("\n".join(["x,y,g,s", *lines]) + "\n")
    return fit(folder, data=[*TRAINED, "--data.path", folder / "t.csv"], method="ERM", epochs=1)


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A table whose rows must not be read: they take a minute."""
    table = pa.table({"x": [1.0, 2.0], "y": ["a", "b"], "g": ["p", "q"], "s": ["train", "ood_val"]})
    pq.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("x,y,g,s\n1,a,p,train\n2,b,q,ood_val\n")
    (tmp_path / "there.csv").touch()

    def read(*args, **kwargs):
        raise AssertionError("the rows are read")

    for module in ("several", "reading"):
        monkeypatch.setattr(f"drurank.tabular.{module}.read_table", read)
    monkeypatch.setattr("drurank.report.asked.read_distinct", read)


SPLIT = ["split", "--path", "{file}", "--label", "y", "--group", "g"]
REPORT = ["report", "--predictions", "{file}", "--label", "y", "--prediction", "x", "--group", "g"]
PREDICT = ["predict", "--run", "{run}", "--data.path", "{file}"]
FIT = ["fit", "--model", "ERM", "--data", "Table", "--data.path", "{file}", "--data.label", "y", "--data.group", "g"]
INSPECT = ["inspect", "--data.path", "{file}", "--data.label", "y"]
CASES = [
    ([*PREDICT, "--output", "there.csv"], "there.csv exists"),
    ([*PREDICT, "--output", "p.xls"], "--output is 'p.xls'"),
    ([*PREDICT, "--keep", "idd"], "{file} has no column 'idd'"),
    ([*SPLIT, "--output", "there.csv"], "there.csv exists"),
    ([*SPLIT, "--output", "new.csv", "--split", "s"], "{file} has a column 's' already"),
    ([*SPLIT, "--output", "new.csv", "--label", "yy"], "{file} has no column 'yy'"),
    ([*REPORT, "--split", "ss"], "{file} has no column 'ss'"),
    ([*FIT, "--data.split", "ss"], "{file} has no column 'ss'"),
    ([*FIT, "--data.split", "s", "--data.label", "yy"], "{file} has no column 'yy'"),
    ([*FIT, "--data.split", "s", "--data.exclude", "xx"], "{file} has no column 'xx'"),
    ([*FIT, "--data.split", "s", "--data.percents", "pp"], "{file} has no column 'pp'"),
    ([*INSPECT, "--data.group", "gg"], "{file} has no column 'gg'"),
    ([*INSPECT, "--data.categorical", "x,cc"], "{file} has no column 'cc'"),
    ([*INSPECT[:1], "--data", "Text", *INSPECT[1:], "--data.text", "review"], "{file} has no column 'review'"),
]


@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
@pytest.mark.parametrize(("words", "said"), CASES, ids=[f"{words[0]}-{words[-2]}-{words[-1]}" for words, _ in CASES])
def test_what_is_wrong_with_names_is_said_before_rows_are_read(trained, large, refused, words, said, file):
    assert refused(*(word.format(file=file, run=trained) for word in words)).startswith(said.format(file=file))


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("a,b\n1,2\n", ["a", "b"]),
        ("sep=;\na;b\n1;2\n", ["a", "b"]),
        ("a;b\n1;2\n", None),
        ("a;b,c;d\n1;2,3;4\n", None),
        ("a\n1\n", None),
        ("", None),
        ("a,\xff\n1,2\n", None),
    ],
    ids=["commas", "sep", "another", "either", "one", "empty", "bytes"],
)
def test_columns_are_known_by_the_head_only_where_no_row_could_say_otherwise(tmp_path, text, columns):
    (tmp_path / "t.csv").write_bytes(text.encode("latin-1"))
    head = read_head("t.csv")
    assert (None if head is None else head.column_names) == columns


@pytest.mark.parametrize("path", ["nowhere.csv", ".", "org/name", "t.jsonl", "broken.parquet"])
def test_of_other_files_the_head_says_nothing(tmp_path, path):
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "broken.parquet").write_text("x")
    assert read_head(path) is None
