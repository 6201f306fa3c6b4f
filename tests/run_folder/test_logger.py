"""What is in a run's ``metrics.csv`` stays when the run goes on, or is spoken of."""

import tracemalloc
import warnings

import pytest

from drurank import limits
from drurank.errors import InputError
from drurank.run_folder import logger
from drurank.run_folder.logger import RunLogger
from runs import read_csv


@pytest.fixture
def go_on(tmp_path):
    """Log a row of step 9 in a folder whose file holds this; gives the steps that are there then, and the warnings."""

    def call(content, before_step=8):
        file = tmp_path / "run/metrics.csv"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            made = RunLogger(tmp_path, version="run", before_step=before_step)
            made.log_metrics({"epoch": 1, "loss": 0.5}, 9)
            made.save()
        return [row["step"] for row in read_csv(file)], [str(one.message) for one in seen]

    return call


@pytest.mark.parametrize(
    ("content", "steps"),
    [
        (b"", ["9"]),
        (b"epoch,step\n", ["9"]),
        (b"epoch,step,loss\n0,3,0.1\n0,7,0.2\n", ["3", "7", "9"]),
        (b"epoch,step,loss\n0,3,0.1\n0,8,0.2\n", ["3", "9"]),
        (b"epoch,step,loss\n0,3,0.1\n0,7,0.2", ["3", "9"]),  # torn by a kill, as ever
    ],
)
def test_rows_of_earlier_steps_stay(go_on, content, steps):
    assert go_on(content) == (steps, [])


@pytest.mark.parametrize("content", [b"a,b\n", b"\n", b"epoch\n1\n", b"\xff\xd8\xff\xe0", b"PK\3\4\0\n\0", b"x\n" * 9])
def test_what_is_no_table_of_metrics_is_not_emptied(go_on, tmp_path, content):
    with pytest.raises(InputError, match=r"metrics\.csv is damaged \(.*; move it away to go on without earlier"):
        go_on(content)
    assert (tmp_path / "run/metrics.csv").read_bytes() == content


@pytest.mark.parametrize(
    ("content", "lost"),
    [
        (b"epoch,step,loss", "what it holds, which is no whole line"),
        (b"BM\0\0\0", "what it holds, which is no whole line"),
        (b"epoch,step,loss\n0,3\n0,3,0.1\n0,7,0.2,9\n", "2 rows that are not whole"),
    ],
)
def test_what_is_left_out_is_said(go_on, tmp_path, content, lost):
    _, said = go_on(content)
    assert said == [f"{tmp_path / 'run/metrics.csv'} is written anew without {lost}"]


def test_more_figures_than_any_run_has_take_no_memory(go_on, monkeypatch):
    monkeypatch.setattr(limits, "MOST_FIGURES", 5000)
    names = ",".join(f"a{number}" for number in range(98))
    content = f"epoch,step,{names}\n{'1,' * 99}1\n".encode() + (b"1," * 99 + b"1\n") * 20_000
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"metrics\.csv has more than 5,000 figures; move it away to go on"):
            go_on(content)
        assert tracemalloc.get_traced_memory()[1] < 10 * len(content) / 4
    finally:
        tracemalloc.stop()
    monkeypatch.setattr(limits, "MOST_FIGURES", 2_000_200)
    assert len(go_on(content)[0]) == 20_002


@pytest.mark.parametrize(("name", "said"), [("LONGEST_CELL", "a line of more than 50"), (None, "bytes, and")])
def test_a_line_or_a_file_that_is_too_long_is_refused(go_on, monkeypatch, name, said):
    monkeypatch.setattr(limits if name else logger, name or "MOST_BYTES", 50)
    content = b"epoch,step\n" + (b"1," * 30 + b"\n" if name else b"1,2\n" * 30)
    with pytest.raises(InputError, match=said):
        go_on(content)
    monkeypatch.setenv("DRURANK_LIMITS", "off")
    go_on(content)
