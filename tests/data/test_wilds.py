"""WILDS-Amazon as it lies on disk, in small folders of its format."""

import csv
import io
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from drurank.data import WILDS, Text
from drurank.errors import InputError
from encoders import write_tiny
from runs import CONFIGS, read_json

HEADER = (
    *("reviewerID", "asin", "overall", "reviewTime", "unixReviewTime", "reviewText", "summary", "verified"),
    *("category", "reviewYear"),
)
ROWS = [  # split, reviewer, stars, text
    ("0.0", "007", "5.0", 'say "good", a'),
    ("-1.0", "gone", "1.0", "bad"),
    ("0.0", "7", "5", "b\nb"),
    ("1.0", "v", "1.0", ""),
    ("0.0", "007", "1.0", "NA"),
    ("3.0", "NA", "2.0", "null"),
    ("0.0", "7", "2", "fine\r\n, c"),
    ("-1.0", "007", "4.0", "awful"),
    ("2.0", "007", "2.0", "  d"),
    ("3.0", "null", "5.0", "nan"),
    ("4.0", "7", "1.0", '"'),
    ("0.0", "7", "3.0", "None"),
    ("-1.0", "NA", "", ""),
]
PLACES = {"train": [0, 2, 4, 6, 11], "ood_val": [3], "id_val": [8], "ood_test": [5, 9], "id_test": [10]}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return str(write_tiny(tmp_path_factory.mktemp("encoders") / "tiny"))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def written(folder, rows=ROWS, *, clean=True, header=HEADER):
    """The two files as the benchmark writes them: text in quotes, numbers not, splits as floats."""
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").writerow(header)
    for number, (_, reviewer, stars, text) in enumerate(rows):
        cells = io.StringIO()
        known = {"reviewerID": reviewer, "asin": f"B{number:09}", "overall": 0, "reviewTime": "02 3, 2013"}
        known |= {"unixReviewTime": 1359849600, "reviewText": text, "summary": "NA", "verified": "True"}
        known |= {"category": "Books", "reviewYear": 2013}
        csv.writer(cells, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").writerow(known[name] for name in header)
        # The first bare 0 between commas is that of the stars.
        out.write(re.sub(r'(?<=",)0(?=,")', stars, cells.getvalue(), count=1))
    (folder / "splits").mkdir(parents=True)
    (folder / "reviews.csv").write_bytes(out.getvalue().encode())
    lines = [f"{split},True" if clean else split for split, *_ in rows]
    (folder / "splits/user.csv").write_text("\n".join(["split,clean" if clean else "split", *lines, ""]))
    return folder


def fitted(path, tiny, **options):
    data = WILDS(str(path), tokenizer=tiny, **options)
    data.setup("fit")
    return data


def cut(tiny, text):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny)(text)["input_ids"]


def tokens(part):
    """The tokens of each row, without those that fill a batch."""
    found = part[list(range(len(part)))]["inputs"]
    mask = found.get("attention_mask", torch.ones_like(found["input_ids"]))
    return [ids[kept.bool()].tolist() for ids, kept in zip(found["input_ids"], mask, strict=True)]


@pytest.mark.parametrize("clean", [True, False])
def test_each_split_has_its_reviews(tmp_path, tiny, clean):
    data = fitted(written(tmp_path / "amazon_v2.1", clean=clean), tiny)
    assert data.splits() == ["train", "id_val", "ood_val", "id_test", "ood_test"]
    assert data.label_names == ["1", "2", "3", "5"]
    assert data.sizes.num_classes == 4
    for split, places in PLACES.items():
        part = data.dataset(split)
        assert part.rows.tolist() == places
        assert [part.group_names[number] for number in part.group] == [ROWS[place][1] for place in places]
        stars = [data.label_names[number] for number in part[list(range(len(part)))]["label"]]
        assert stars == [ROWS[place][2].removesuffix(".0") for place in places]
        assert tokens(part) == [cut(tiny, ROWS[place][3]) for place in places]
        assert (part.num_seen, part.group_names[:2]) == (2, ["007", "7"])
    assert len({tuple(cut(tiny, text)) for text in ("", "NA", "null", "nan", "None")}) == 5


def test_texts_are_kept_as_they_are_written(tmp_path, tiny):
    data = WILDS(str(written(tmp_path / "a")), tokenizer=tiny)
    rows = sorted(place for places in PLACES.values() for place in places)
    assert data._texts().to_pylist() == [ROWS[place][3] for place in rows]


def test_rows_and_columns_that_are_not_used_are_not_kept(tmp_path, tiny):
    data = WILDS(str(written(tmp_path / "a")), tokenizer=tiny)
    assert data._table.num_rows == 10
    assert set(data._table.column_names) == {"reviewText", "overall", "reviewerID", "split"}


def test_many_rows_come_in_their_order(tmp_path, tiny):
    rows = [("-1" if n % 3 else "0", f"u{n % 7}", str(n % 5 + 1), f"a{n}") for n in range(120_000)]
    data = WILDS(str(written(tmp_path / "a", rows)), tokenizer=tiny)
    assert data._texts().to_pylist() == [f"a{n}" for n in range(0, 120_000, 3)]
    assert data._table["overall"].to_pylist() == [str(n % 5 + 1) for n in range(0, 120_000, 3)]


def test_the_newest_version_is_read(tmp_path, tiny):
    for version, text in (("1.0", "a"), ("2.1", "b"), ("2.10", "c"), ("2.9", "d")):
        written(tmp_path / f"amazon_v{version}", [(split, who, stars, text) for split, who, stars, _ in ROWS])
    (tmp_path / "amazon_v99.txt").touch()
    (tmp_path / "amazon_vlatest").mkdir()
    (tmp_path / "amazon_v3.0").touch()
    assert set(WILDS(str(tmp_path), tokenizer=tiny)._texts().to_pylist()) == {"c"}
    assert set(WILDS(str(tmp_path / "amazon_v1.0"), tokenizer=tiny)._texts().to_pylist()) == {"a"}


def test_it_is_what_text_reads_of_a_table_of_the_same_rows(tmp_path, tiny):
    data = fitted(written(tmp_path / "a"), tiny)
    names = {"0.0": "train", "1.0": "ood_val", "2.0": "id_val", "3.0": "ood_test", "4.0": "id_test"}
    with (tmp_path / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", "group", "split"])
        for split, who, stars, text in ROWS:
            if split in names:
                writer.writerow([text, stars.removesuffix(".0"), who, names[split]])
    other = Text(str(tmp_path / "t.csv"), "label", "group", "split", tokenizer=tiny)
    other.setup("fit")
    assert other.state_dict() == data.state_dict()
    for split in PLACES:
        assert tokens(other.dataset(split)) == tokens(data.dataset(split))
        torch.testing.assert_close(other.dataset(split).group, data.dataset(split).group)


# What cannot be read


MIRROR = "get pangwei/wilds-amazon on the Hugging Face hub, its author's mirror, extract the archive so that "
MIRROR += "<path>/amazon_v2.1/reviews.csv and <path>/amazon_v2.1/splits/user.csv are there, and give that path"


def said(path, tiny, **options):
    with pytest.raises(InputError) as error:
        fitted(path, tiny, **options)
    return str(error.value)


def test_a_folder_that_is_not_there(tmp_path, tiny):
    path = tmp_path / "none"
    assert said(path, tiny) == f"there is no {path}/reviews.csv and no {path}/amazon_v*/reviews.csv; {MIRROR}"


def test_the_file_of_reviews_is_no_folder(tmp_path, tiny):
    file = written(tmp_path / "a") / "reviews.csv"
    assert said(file, tiny) == f"there is no {file}/reviews.csv and no {file}/amazon_v*/reviews.csv; {MIRROR}"


def test_the_newest_version_has_no_reviews(tmp_path, tiny):
    written(tmp_path / "amazon_v2.0")
    (tmp_path / "amazon_v2.1").mkdir()
    assert said(tmp_path, tiny) == f"there is no {tmp_path}/amazon_v2.1/reviews.csv; {MIRROR}"


def test_reviews_without_splits(tmp_path, tiny):
    folder = written(tmp_path / "amazon_v2.1")
    (folder / "splits/user.csv").unlink()
    assert said(tmp_path, tiny) == f"there is no {folder}/splits/user.csv; {MIRROR}"


@pytest.mark.parametrize(("more", "less"), [(14, 13), (12, 13)])
def test_files_of_different_lengths(tmp_path, tiny, more, less):
    folder = written(tmp_path / "a")
    (folder / "splits/user.csv").write_text("\n".join(["split", *["0", "1"] * 7][: more + 1]) + "\n")
    assert said(folder, tiny) == (
        f"{folder}/reviews.csv has {less} rows and {folder}/splits/user.csv {more}, and row by row one says the split "
        "of the other; take both from one archive"
    )


def changed(place, **cells):
    """The rows with other cells in one of them."""
    keys = ("split", "who", "stars", "text")
    row = tuple({**dict(zip(keys, ROWS[place], strict=True)), **cells}.values())
    return [*ROWS[:place], row, *ROWS[place + 1 :]]


KNOWN = "0 (train), 1 (ood_val), 2 (id_val), 3 (ood_test), 4 (id_test) or -1 (left out)"


@pytest.mark.parametrize(
    ("written_as", "shown"), [("5", "'5'"), ("0.5", "'0.5'"), ("train", "'train'"), ("", "a blank cell")]
)
def test_a_code_that_is_no_split(tmp_path, tiny, written_as, shown):
    folder = written(tmp_path / "a", changed(6, split=written_as))
    where = f"{folder}/splits/user.csv: column 'split', row 6 (the first is 0)"
    assert said(folder, tiny) == f"{where}: {shown} is not a split; write {KNOWN}"


def test_splits_without_their_column(tmp_path, tiny):
    folder = written(tmp_path / "a")
    (folder / "splits/user.csv").write_text("splits\n0\n")
    assert said(folder, tiny) == (
        f"{folder}/splits/user.csv has no column 'split'; did you mean 'splits'? known: splits"
    )


def test_all_is_left_out(tmp_path, tiny):
    folder = written(tmp_path / "a", [("-1.0", *rest) for _, *rest in ROWS])
    assert said(folder, tiny) == f"{folder}/splits/user.csv leaves out every row; give one that says which to train on"


@pytest.mark.parametrize("stars", ["0.0", "6", "4.5", "NA", '"five"', "inf"])
def test_what_is_no_number_of_stars_names_its_row_of_the_file(tmp_path, tiny, stars):
    folder = written(tmp_path / "a", changed(9, stars=stars))
    where = f"{folder}/reviews.csv: column 'overall', row 9 (the first is 0)"
    shown = stars.strip('"')
    assert said(folder, tiny) == f"{where}: {shown!r} is not a number of stars; write 1, 2, 3, 4 or 5"


def test_stars_that_are_left_out_are_not_looked_at(tmp_path, tiny):
    assert len(fitted(written(tmp_path / "a", changed(7, stars="6")), tiny).dataset("train")) == 5


def test_a_blank_label_and_a_blank_reviewer_name_their_row_of_the_file(tmp_path, tiny):
    first, second = written(tmp_path / "a", changed(6, stars="")), written(tmp_path / "b", changed(6, who=""))
    row = "row 6 (the first is 0): a blank cell is not a"
    assert said(first, tiny) == (
        f"{first}/reviews.csv: column 'overall', {row} label; give each row one, or leave the row out"
    )
    assert said(second, tiny) == (
        f"{second}/reviews.csv: column 'reviewerID', {row} group; give each row one, or leave the row out"
    )


@pytest.mark.parametrize(("place", "split", "groups"), [(3, "ood_val", "1 group"), (9, "ood_test", "2 groups")])
def test_reviewers_of_training_among_those_unseen(tmp_path, tiny, place, split, groups):
    folder = written(tmp_path / "a", changed(place, who="007"))
    assert said(folder, tiny) == (
        f"{folder}/splits/user.csv: column 'split', row {place} (the first is 0): '{split}' is for groups that "
        f"training lacks, and 1 of {groups} of {split} (1 row) is in train too ('007'); take reviews.csv and "
        "splits/user.csv from one archive, their rows in one order"
    )


@pytest.mark.parametrize("column", ["reviewText", "overall", "reviewerID"])
def test_reviews_without_a_column(tmp_path, tiny, column):
    folder = written(tmp_path / "a")
    text = (folder / "reviews.csv").read_bytes().replace(column.encode(), b"x", 1)
    (folder / "reviews.csv").write_bytes(text)
    assert said(folder, tiny).startswith(f"{folder}/reviews.csv has no column {column!r}; ")


def test_reviews_that_are_damaged(tmp_path, tiny):
    folder = written(tmp_path / "a")
    file, whole = folder / "reviews.csv", (folder / "reviews.csv").read_bytes()
    file.write_bytes(whole.replace(b'"NA","null"', b'"NA",null"', 1)[:-30])
    assert said(folder, tiny).startswith(f"{file}: row 12 (the first is 0) has ")
    file.write_bytes(whole.replace(b"awful", b"awf\xffl"))
    line = 1 + whole[: whole.index(b"awful")].count(b"\n")
    assert said(folder, tiny).startswith(f"{file}: line {line} (the first is 1): ")
    assert r"awf\xffl" in said(folder, tiny)
    assert "is not UTF-8; save the file as UTF-8" in said(folder, tiny)
    file.write_bytes(b"")
    assert said(folder, tiny) == f"{file} is empty; give a table with a header and at least one row"
    file.write_bytes(whole.replace(b'"None"', b'"None', 1))
    assert said(folder, tiny).startswith(f"{file}: row 11 (the first is 0) ")


def test_without_training_or_validation(tmp_path, tiny):
    folder = written(tmp_path / "a", [(split.replace("0.0", "-1.0", 1), *rest) for split, *rest in ROWS])
    assert said(folder, tiny) == (
        f"{folder}/splits/user.csv: column 'split' has no rows in split train; found id_val, ood_val, id_test, "
        "ood_test; assign some rows to it"
    )


def test_rows_of_other_data_are_refused():
    with pytest.raises(InputError, match=r"^WILDS reads the folder of WILDS-Amazon and no other rows; give Text\."):
        WILDS.from_dataset([], label="a")


# Inspection


def test_inspection_names_rows_of_the_file(tmp_path):
    from drurank.tabular.inspection import inspect_rows

    rows = [*changed(6, stars="", text="x"), ("0.0", "7", "5", "b\nb"), ("2.0", "7", "5", "b\nb")]
    data = WILDS(str(written(tmp_path / "a", rows)))
    findings = {found.code: found for found in inspect_rows(data.raw_rows()).findings}
    assert "row 6 (the first is 0): a blank cell is not a label" in findings["blank_label"].sentence
    assert list(findings["copied_rows"].names) == ["2"]
    assert list(findings["copies_across_splits"].names) == ["14", "2"]


# Runs


def reviews(seed=0):
    """Reviews in a mixed order, every fourth left out; 12 unseen reviewers are tested, of 5 to 9 reviews each."""
    rng = np.random.default_rng(seed)
    rows = []
    users = {"0.0": "abcdefghijkl", "2.0": "abc", "4.0": "def", "1.0": "mnop", "3.0": "qrstuvwxyz01"}
    for split, names in users.items():
        for number, name in enumerate(names):
            for _ in range(5 + number % 5):
                stars = int(rng.integers(1, 6))
                word = ["awful", "bad", "fine", "good", "null"][stars - 1]
                text = word if rng.random() < (0.5 + 0.4 * number / len(names)) else rng.choice(["bad", "good", ""])
                rows.append((split, f"0{name}", f"{stars}.0", str(text)))
    rows += [("-1.0", "0q", "3.0", "fine")] * (len(rows) // 3)
    return [rows[place] for place in rng.permutation(len(rows))]


def fit_words(folder, tiny):
    words = ["--config", CONFIGS / "data/wilds_amazon.yaml", "--model", "DRU", "--model.network", "TextClassifier"]
    words += ["--model.optimizer", "AdamW", "--model.optimizer.lr", "0.003"]
    return [*words, "--data.path", folder, "--data.tokenizer", tiny, "--data.max_length", 64]


def test_a_run_from_fit_to_predictions(run, tmp_path, tiny):
    rows = reviews()
    written(tmp_path / "root/amazon_v2.1", rows)
    run("fit", *fit_words(tmp_path / "root", tiny), "--select", "p10,qdcg10", "--trainer.max_epochs", 20)
    run("test", "--run", "runs/version_0")
    run("predict", "--ckpt_path", "runs/version_0/checkpoints/p10.ckpt")
    (file,) = tmp_path.glob("runs/**/predictions.parquet")
    table = pq.read_table(file).to_pylist()
    names = {"0.0": "train", "1.0": "ood_val", "2.0": "id_val", "3.0": "ood_test", "4.0": "id_test"}
    said = {cells["row"]: (cells["split"], cells["group"], cells["label"]) for cells in table}
    assert len(said) == len(table)
    assert said == {
        place: (names[split], who, stars.removesuffix(".0"))
        for place, (split, who, stars, _) in enumerate(rows)
        if split in names
    }
    report = read_json(tmp_path / "runs/version_0/test/p10/report.json")["splits"]
    for split, groups in (("ood_test", 12), ("id_test", 3)):
        right = {}
        for cells in table:
            if cells["split"] == split:
                right.setdefault(cells["group"], []).append(cells["label"] == cells["prediction"])
        accuracy = [np.mean(cells) for cells in right.values()]
        assert len(accuracy) == groups
        tenth = np.percentile(accuracy, 10)
        assert report[split]["criteria"]["p10"]["value"] == pytest.approx(tenth, abs=1e-6)
        assert min(accuracy) < tenth < max(accuracy)


def test_a_checkpoint_is_evaluated_on_another_copy(run, tmp_path, tiny, trainer):
    from drurank.methods import DRU

    folder = written(tmp_path / "one", reviews())
    run("fit", *fit_words(folder, tiny), "--trainer.max_epochs", "1")
    (checkpoint,) = tmp_path.glob("runs/version_0/**/qdcg10.ckpt")
    folder = folder.rename(tmp_path / "two")
    data = WILDS.load_from_checkpoint(checkpoint, path=str(folder), tokenizer=tiny, max_length=64)
    assert data.label_names == ["1", "2", "3", "4", "5"]
    found = trainer().test(DRU.load_from_checkpoint(checkpoint), datamodule=data, verbose=False)
    report = trainer().test(DRU.load_from_checkpoint(checkpoint), WILDS(str(folder), tokenizer=tiny), checkpoint)
    assert {k: v for one in found for k, v in one.items()} == {k: v for one in report for k, v in one.items()}


def test_without_a_checkpoint_it_says_what_to_give(tmp_path, tiny, trainer):
    data = WILDS(str(written(tmp_path / "a")), tokenizer=tiny)
    data.trainer = trainer()
    data.trainer.state.fn = "test"
    with pytest.raises(InputError, match=r"WILDS\.load_from_checkpoint\(<checkpoint>, path=\.\.\.\)$"):
        data.splits()


def test_frozen_features_are_learnt_from(run, tmp_path, tiny):
    folder = written(tmp_path / "a", reviews())
    words = ["--data", "WILDS", "--data.path", folder, "--data.tokenizer", tiny, "--data.frozen", "true"]
    words += ["--data.max_length", 64]
    run("fit", "--model", "ERM", *words, "--trainer.max_epochs", "1")
    run("test", "--run", "runs/version_0")
    assert read_json(tmp_path / "runs/version_0/test/qdcg10/report.json")["splits"]["ood_test"]["groups"] == 12


@pytest.mark.parametrize("option", WILDS.fixed)
def test_options_of_other_texts_are_none_here(refused, option):
    value = "all" if option == "group_in" else "x"
    said = refused("fit", "--model", "ERM", "--data", "WILDS", "--data.path", "a", f"--data.{option}", value)
    assert said.startswith(f"WILDS has no option {option!r}: ")
    assert said.endswith(
        "known: path, tokenizer, max_length, frozen, pooling, pool_batches, "
        "cache_dir, batch_size, eval_batch_size, num_workers, sampler, groups_per_batch, drop_last"
    )


def test_what_was_learnt_from_it_is_tested_on_a_table_and_the_reverse(tmp_path, tiny, run):
    folder = written(tmp_path / "amazon_v2.1")
    table = {"words": ["good", "bad", "fine"], "stars": ["5", "1", "2"], "who": ["a", "b", "c"]}
    pq.write_table(pa.table({**table, "part": ["ood_test"] * 3}), tmp_path / "t.parquet")
    run("fit", *fit_words(folder, tiny))
    checkpoint = "runs/version_0/checkpoints/last.ckpt"
    columns = ["--data.text", "words", "--data.label", "stars", "--data.group", "who", "--data.split", "part"]
    words = ["--model", "ERM", "--data", "Text", "--data.path", "t.parquet", *columns, "--data.tokenizer", tiny]
    run("test", "--ckpt_path", checkpoint, *words)
    report = read_json("runs/version_1/report.json")
    assert report["splits"]["ood_test"]["rows"] == report["splits"]["ood_test"]["groups_unseen_in_training"] == 3
