"""Small files that become large, or take long, are refused in a sentence; the limits can be lifted."""

import gzip
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
import yaml

import drurank.limits as limits
from drurank.errors import InputError
from drurank.files import read_json
from drurank.limits import count_values
from drurank.report import report_predictions
from drurank.run_folder.group_counts import read_counts
from drurank.run_folder.layout import WEIGHTS_FOLDER
from drurank.run_folder.weights import weights_of
from drurank.tabular.delimited import iter_rows
from drurank.tabular.reading import read_table
from drurank.tabular.text import TextFile
from drurank.yaml_files import read_options, read_text, read_yaml

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Limits that small files reach."""
    monkeypatch.setattr(limits, "FREE", 100_000)
    monkeypatch.setattr(limits, "LONGEST_CELL", 10_000)


@pytest.fixture
def lifted(monkeypatch):
    monkeypatch.setenv("DRURANK_LIMITS", "off")


@pytest.fixture
def lifted_later(monkeypatch):
    return lambda: monkeypatch.setenv("DRURANK_LIMITS", "off")


def write_gzip(path):
    with gzip.open(path, "wt") as file:
        file.write("a,b\n" if path.name.startswith("t.csv") else "[\n")
        if path.name.startswith("t.csv"):
            file.write("0,0\n" * 250_000)
        else:
            file.write('{"a": 0, "b": 0},\n' * 60_000 + '{"a": 0, "b": 0}]\n')


@pytest.mark.parametrize("name", ["t.csv.gz", "t.json.gz"])
def test_compressed_text_that_becomes_much_is_refused(tmp_path, name):
    write_gzip(tmp_path / name)
    with pytest.raises(InputError, match=r"t\.\w+\.gz has [\d,]+ bytes and becomes [\d,]+ bytes or more.*=off"):
        read_table(str(tmp_path / name))


def test_compressed_text_is_refused_before_much_of_it_is_parsed(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "FREE", 900_000)
    monkeypatch.setattr(limits, "EARLY", 10_000)
    write_gzip(tmp_path / "t.csv.gz")
    rows, parsed = iter_rows(TextFile("t.csv.gz", tmp_path / "t.csv.gz", None), ","), []
    with pytest.raises(InputError, match="becomes 1,000,004 bytes or more"):
        parsed.extend(rows)
    assert len(parsed) < 10_000, "of 250,000 rows"
    monkeypatch.setattr(limits, "FREE", 1_100_000)
    assert read_table(str(tmp_path / "t.csv.gz")).num_rows == 250_000


def test_limit_can_be_lifted(tmp_path, lifted):
    write_gzip(tmp_path / "t.csv.gz")
    assert read_table(str(tmp_path / "t.csv.gz")).num_rows == 250_000


def test_compressed_text_of_any_usual_kind_is_read(tmp_path):
    cells = np.random.default_rng(0).integers(0, 10, (50_000, 2))
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write("a,b\n" + "".join(f"{one},{other}\n" for one, other in cells))
    assert read_table(str(tmp_path / "t.csv.gz")).num_rows == 50_000


@pytest.mark.parametrize("head", ['"a,b\n', 'a,b\n1,2\n"3,4\n'])
def test_open_quote_ends_soon(tmp_path, head):
    (tmp_path / "t.csv").write_text(head + "1,2\n" * 10_000)
    with pytest.raises(InputError, match=r"t\.csv: .* has a cell of more than .* characters, as an open quote"):
        read_table(str(tmp_path / "t.csv"))


def test_long_cell_is_read_where_that_is_allowed(tmp_path, lifted):
    (tmp_path / "t.csv").write_text("a,b\n1," + "x" * 50_000 + "\n")
    assert len(read_table(str(tmp_path / "t.csv"))["b"][0].as_py()) == 50_000


def test_parquet_of_one_value_many_times_is_refused(tmp_path):
    table = pa.table({"a": np.zeros(2_000_000, np.int64)})
    pa_parquet.write_table(table, tmp_path / "t.parquet", compression="zstd")
    with pytest.raises(InputError, match=r"t\.parquet has [\d,]+ bytes and becomes 2,000,000 cells or more"):
        read_table(str(tmp_path / "t.parquet"))


@pytest.mark.parametrize("read", [read_yaml, read_text])
@pytest.mark.parametrize("content", [BOMB, "a: &a [*a]", "a: &a {b: *a}"])
def test_yaml_of_aliases_is_refused(read, content):
    with pytest.raises(yaml.YAMLError, match=r"its aliases make more than 200,000 values"):
        read(content)


def test_yaml_with_some_aliases_is_read():
    assert read_yaml("a: &a [1, 2]\nb: {c: *a, d: *a}") == {"a": [1, 2], "b": {"c": [1, 2], "d": [1, 2]}}
    assert count_values(yaml.compose("a: &a [1, 2]\nb: {c: *a, d: *a}")) == 15


def test_configuration_of_aliases_is_refused(refused, tmp_path):
    (tmp_path / "c.yaml").write_text(f"model: DRU\ndata: {{class_path: Shortcut, init_args: {{a: 1}}}}\n{BOMB}")
    assert "aliases make more than" in refused("fit", "--config", tmp_path / "c.yaml")


@pytest.mark.parametrize(
    "make",
    [
        lambda number: "".join(f"k{place}: 1\n" for place in range(number // 2)),
        lambda number: f"[{'1,' * number}1]",
        lambda number: f"a: \x85\nb: [{'1,' * number}1]",  # a letter that the reader in C refuses
    ],
    ids=["keys", "list", "odd"],
)
def test_more_values_than_any_configuration_has_are_not_composed(monkeypatch, lifted_later, make):
    monkeypatch.setattr("drurank.yaml_files.MOST_VALUES", 1000)
    assert read_yaml(make(900)) is not None
    text = make(3000)
    with monkeypatch.context() as patch:
        patch.setattr(yaml, "compose", lambda *_: pytest.fail("composed"))
        for read in (read_yaml, read_text):
            with pytest.raises(yaml.YAMLError, match="has more than 1,000 values; if it is right, set"):
                read(text)
    lifted_later()
    assert read_yaml(text) is not None


def test_a_configuration_or_a_json_file_that_is_too_large_is_not_read(tmp_path, monkeypatch, lifted_later):
    monkeypatch.setattr(limits, "MOST_TEXT", 20)
    options, content = tmp_path / "config.yaml", tmp_path / "selection.json"
    options.write_text(f"a: {'x' * 20}")
    content.write_text(f"[{'1,' * 20}1]")
    for read, file in ((read_options, options), (read_json, content)):
        with pytest.raises(InputError, match=rf"{file.name} has .. bytes, and none of its kind needs more"):
            read(file, "give another")
    lifted_later()
    assert read_options(options, "") == {"a": "x" * 20}
    assert read_json(content, "") == [1] * 21


def test_keys_of_a_large_mapping_are_compared_once_each():
    text = "".join(f"k{place}: 1\n" for place in range(20_000))
    before = time.process_time()
    assert len(read_text(text)) == 20_000
    assert time.process_time() - before < 5
    with pytest.raises(yaml.YAMLError, match="the key 'k7' is given twice"):
        read_text(f"{text}k7: 2\n")


def list_bomb(path, elements=20_000):
    """Ten rows with a column of long lists of zeros that nobody names."""
    kind = pa.list_(pa.int64())
    table = pa.table(
        {
            "label": ["a", "b"] * 5,
            "prediction": ["a"] * 10,
            "group": ["g", "h"] * 5,
            "x.lists": pa.array([np.zeros(elements, np.int64)] * 10, kind),
            "x.inner": [{"lists": [0] * elements}] * 10,
        }
    )
    pa_parquet.write_table(table, path, compression="zstd", write_statistics=False)


def test_elements_of_lists_count_among_what_parquet_becomes(tmp_path):
    list_bomb(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"t\.parquet has [\d,]+ bytes and becomes 3,200,000 bytes or more"):
        read_table(str(tmp_path / "t.parquet"))
    assert read_table(str(tmp_path / "t.parquet"), wanted={"group", "x"}.__contains__).column_names == ["group"]


def test_lists_of_a_usual_kind_are_read(tmp_path):
    rows = np.random.default_rng(0).random((3000, 10))
    table = pa.table({"a": pa.FixedSizeListArray.from_arrays(rows.ravel(), 10)})
    pa_parquet.write_table(table, tmp_path / "t.parquet")
    assert read_table(str(tmp_path / "t.parquet")).equals(table)


@pytest.mark.parametrize(
    "words",
    [
        "inspect --data Table --data.path t.parquet --data.label label",
        "fit --data Table --data.path t.parquet --data.label label --data.group group --model DRU",
        "split --path t.parquet --label label --group group --output o.parquet",
    ],
)
def test_commands_that_read_all_columns_refuse_long_lists(refused, words):
    list_bomb("t.parquet")
    assert "becomes 3,200,000 bytes or more" in refused(*words.split())


def test_reports_read_no_column_that_they_do_not_use():
    list_bomb("t.parquet")
    assert report_predictions("t.parquet")["splits"]["all"]["rows"] == 10


def test_counts_and_weights_of_a_run_have_the_limit_too(tmp_path):
    count = np.ones(2_000_000, np.int64)
    table = pa.table({"group": np.repeat("g", len(count)), "count": count, "correct": count, "split": count})
    pa_parquet.write_table(table, tmp_path / "g.parquet", compression="zstd")
    with pytest.raises(InputError, match=r"g\.parquet has [\d,]+ bytes and becomes 6,000,000 cells or more"):
        read_counts(tmp_path / "g.parquet", ["group"], "do that")
    (tmp_path / WEIGHTS_FOLDER).mkdir()
    weights = pa.table({"rank": count, "mean_weight": count})
    pa_parquet.write_table(weights, tmp_path / WEIGHTS_FOLDER / "epoch_0000.parquet", compression="zstd")
    with pytest.raises(InputError, match=r"epoch_0000\.parquet has [\d,]+ bytes and becomes 4,000,000 cells or more"):
        list(weights_of(tmp_path).epochs())
