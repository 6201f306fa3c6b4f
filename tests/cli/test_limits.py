"""Numbers that no machine can hold, and names that are not text, end in one sentence."""

import pytest

from drurank.cli.limits import too_much
from runs import FIT

HUGE = "1000000000000"
ADAM = [*FIT, "--model.optimizer", "AdamW", "--model.optimizer.lr"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            [*ADAM, "-1"],
            "the optimizer cannot be created: Invalid learning rate: -1.0 (--model.optimizer.lr -1.0); give other",
        ),
        ([*ADAM, "1e308"], "lr of AdamW is 1e+308; give a number that float32 can hold, below 3e+38"),
        (
            [*FIT, "--seed_everything", "-1"],
            "--seed_everything is -1; give a whole number of 0 or more and",
        ),
        ([*FIT, "--seed_everything", "4294967296"], "--seed_everything is 4294967296; give a whole number of 0"),
        ([*FIT, "--model.network", "MLP", "--model.network.hidden", HUGE], "memory ran out ("),
        ([*FIT, "--data.group_size", HUGE], "memory ran out (Unable to allocate"),
        ([*FIT, "--trainer.default_root_dir", "\udcff"], "'\\udcff' holds bytes that are not UTF-8; rename the file"),
        (["report", "--predictions", "\udcff.csv"], "'\\udcff.csv' holds bytes that are not UTF-8"),
        ([*FIT, "--model.cutoff", "\x1b[2J"], "--model.cutoff is "),
    ],
)
def test_what_is_too_much_ends_in_a_sentence(refused, tmp_path, words, said):
    told = refused(*words)
    assert told.startswith(said)
    assert "\x1b" not in told
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("error", "begins"),
    [
        (MemoryError(), "memory ran out (MemoryError); give smaller sizes"),
        (RuntimeError("std::bad_alloc"), "memory ran out (std::bad_alloc)"),
        (RuntimeError("CUDA out of memory. Tried to"), "memory ran out (CUDA out of memory"),
        (OverflowError("Python int too large to convert to C long"), "a number is too large ("),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), None),
        (ValueError("another"), None),
    ],
)
def test_errors_that_say_so(error, begins):
    found = too_much(error)
    assert found is None if begins is None else found.startswith(begins)
