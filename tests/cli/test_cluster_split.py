"""The command `split --method cluster`: what is written, and what cannot be split."""

import csv
import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from clusters import FARTHEST, PARTS, SIX, TWO, assert_by_the_rule, writers
from drurank.cli import main
from drurank.splits import SPLITS
from runs import CONFIGS, read_csv, read_json


@pytest.fixture
def encoder(monkeypatch):
    """In place of a pretrained encoder one that reads a text as its vector; gives the calls."""
    calls = []

    def embed_texts(texts, pretrained, *, source, pooling="mean", max_length=512, cache_dir=None):
        assert pa.types.is_large_string(texts.type)
        read = texts.to_pylist()
        calls.append({"texts": read, "pretrained": pretrained, "source": source, "pooling": pooling})
        calls[-1] |= {"max_length": max_length, "cache_dir": cache_dir}
        return np.array([[float(number) for number in text.split()] for text in read], np.float32)

    monkeypatch.setattr("drurank.text.features.embed_texts", embed_texts)
    return calls


COLUMNS = "--path r.csv --label stars --group user --output s.csv"
HEADER = ["id", "stars", "user", "review", "more"]


def reviews(centres=TWO, **options):
    """Rows of a table whose texts say where they are; of each writer every other has one star."""
    writer, _, embedding = writers(centres, **options)
    seen = Counter()
    rows = []
    for i, (name, vector) in enumerate(zip(writer, embedding, strict=True)):
        seen[name] += 1
        rows.append([f"{i:03}", "15"[seen[name] % 2], name, f"{vector[0]:.4f}", f"{vector[1]:.4f}"])
    return rows


def write(rows, name="r.csv"):
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEADER, *rows])
    return name


def split(*words, path="r.csv", output="s.csv", text="review"):
    columns = ["--path", path, "--label", "stars", "--group", "user", "--output", output]
    return main(["split", "--method", "cluster", *columns, *(["--text", text] if text else []), *words])


def refused(capsys, words):
    """The one sentence that it ends with."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main(["split", *words])
    shown = capsys.readouterr()
    assert stop.value.code == 2
    (line,) = shown.err.splitlines()
    assert shown.out == ""
    return line.removeprefix("error: ")


def test_the_manifest_agrees_with_the_table(encoder, capsys):
    rows = [*reviews(SIX), ["900", "1", "tiny", "0", "0"], ["901", "1", "tiny", "0", "0"]]
    words = ["--clusters", "6", "--min_count", "3", "--id_min_count", "5", "--seed", "2"]
    words += ["--pretrained", "mini", "--max_length", "64", "--cache_dir", "kept"]
    returned = split(*words, path=write(rows), text="review, more")
    manifest = read_json("s.manifest.json")
    assert manifest == returned
    (call,) = encoder
    assert call["texts"] == [f"{row[3]}\n{row[4]}" for row in rows[:-2]]
    del call["texts"]
    assert call == {
        "pretrained": "mini",
        "source": "r.csv",
        "pooling": "mean",
        "max_length": 64,
        "cache_dir": "kept",
    }
    assert manifest["method"] == "cluster"
    columns = {"label": "stars", "group": ["user"], "split": "split", "text": ["review", "more"]}
    assert manifest["columns"] == columns
    options = {"clusters": 6, "min_count": 3, "id_min_count": 5, "seed": 2, "pretrained": "mini", "max_length": 64}
    assert manifest["options"] == options
    out = read_csv("s.csv")
    by_id = {row["id"]: row["split"] for row in out}
    assert len(by_id) == len(out)
    part = np.array([by_id.get(row[0], "left out") for row in rows])
    writer, centre, embedding = writers(SIX)
    in_distribution = assert_by_the_rule(writer, centre, part[:-2], FARTHEST, least=5)
    gone = Counter(row[2] for row, name in zip(rows, part, strict=True) if name == "left out")
    assert manifest["left_out"] == {"rows": 109, "groups": 23, "group_rows": dict(gone)}
    assert manifest["under_min_count"] == {"writers": 1, "rows": 2}
    assert manifest["under_id_min_count"] == {"writers": 2, "rows": 7}
    assert sum(found["rows"] for found in manifest["clusters"]) == 150
    assert manifest["dropped"] is None
    mean = {
        name: np.mean(
            [embedding[(part[:-2] == name) & (writer == one)].mean(0) for one in set(writer[part[:-2] == name])], 0
        )
        for name in PARTS
    }
    for name in PARTS - {"train"}:
        found = manifest["distances"][name]
        assert found["distance"] == pytest.approx(np.linalg.norm(mean[name] - mean["train"]), abs=1e-3)
        ones = [np.mean([row["stars"] == "1" for row in out if row["split"] == one]) for one in (name, "train")]
        assert found["labels"] == pytest.approx(abs(ones[0] - ones[1]))
        inside = [row for row in out if row["split"] == name]
        assert manifest["splits"][name]["rows"] == len(inside)
        assert manifest["splits"][name]["groups"] == len({row["user"] for row in inside})
    said = capsys.readouterr().out
    assert "s.csv: 43 of 152 rows" in said
    (line,) = (line for line in said.splitlines() if "distance to train" in line)
    found = [f"{manifest['distances'][name]['distance']:.3f}" for name in SPLITS if name in PARTS - {"train"}]
    assert [cell for cell in line.split() if cell in found] == found
    assert f"one is {manifest['spread']:.3f}" in said
    assert "A cluster trains: 5 groups, 25 rows\nA cluster is OOD: 5 groups, 25 rows\n" in said
    assert said.count("A cluster is left out: 5 groups, 25 rows") == 4
    assert "Left out: 2 rows of 1 groups with fewer than 3 rows\n" in said
    assert "Left out: 7 rows of 2 groups of the cluster that trains, with fewer than 5 rows\n" in said
    assert "The manifest names the groups that are left out" in said
    fit = "fit --data Text --data.path s.csv --data.text review,more --data.label stars --data.group user --data.split "
    fit += "split --data.tokenizer mini --data.max_length 64 --model DRU --model.network TextClassifier"
    assert fit in " ".join(said.split())
    assert len({in_distribution} & FARTHEST) == 1


def test_the_defaults_are_those_of_the_method(encoder):
    rows = reviews(sizes=(24, 25, 49, 50, 51))
    manifest = split(path=write(rows))
    assert manifest["options"] == {
        "clusters": 2,
        "min_count": 25,
        "id_min_count": 50,
        "seed": 0,
        "pretrained": "distilbert-base-uncased",
        "max_length": 512,
    }
    assert manifest["under_min_count"] == {"writers": 2, "rows": 48}
    assert manifest["under_id_min_count"] == {"writers": 2, "rows": 25 + 49}
    main(f"split {COLUMNS} --output t.csv".split())
    by_group = read_json("t.manifest.json")
    assert (by_group["method"], by_group["options"]["min_count"]) == ("group", 1)
    assert "distances" not in by_group


def test_the_order_of_rows_in_the_file_does_not_matter(encoder):
    rows = reviews()
    split("--min_count", "3", path=write(rows))
    split("--min_count", "3", path=write(rows[::-1], "b.csv"), output="t.csv")
    assert read_csv("t.csv") == read_csv("s.csv")[::-1]
    one, other = read_json("s.manifest.json"), read_json("t.manifest.json")
    for name in ("splits", "left_out", "clusters", "under_min_count"):
        assert one[name] == other[name]


WORDS = {
    "clusters by group": (f"{COLUMNS} --clusters 2", ["clusters is an option of --method cluster", "method is group"]),
    "text by group": (f"{COLUMNS} --method group --text review", ["text is an option of --method cluster"]),
    "cache by group": (f"{COLUMNS} --cache_dir c", ["cache_dir is an option of --method cluster"]),
    "share by cluster": (
        f"{COLUMNS} --method cluster --text review --ood_val 0.15",
        ["ood_val is an option of --method group", "method is cluster"],
    ),
    "stratify by cluster": (f"{COLUMNS} --method cluster --text review --stratify", ["stratify is an option of"]),
    "no text": (f"{COLUMNS} --method cluster", ["text is missing", "--text review"]),
    "blank text": (f"{COLUMNS} --method cluster --text ,", ["text is missing"]),
    "no such text": (f"{COLUMNS} --method cluster --text reviw", ["r.csv has no column 'reviw'", "'review'"]),
    "no tokens": (f"{COLUMNS} --method cluster --text review --max_length 1", ["max_length is 1", "2 or more"]),
    "id_min_count of 1": (
        f"{COLUMNS} --method cluster --text review --min_count 1 --id_min_count 1",
        ["id_min_count is 1", "halved"],
    ),
    "id_min_count by group": (f"{COLUMNS} --id_min_count 9", ["id_min_count is an option of --method cluster"]),
    "no such method": (f"{COLUMNS} --method clutser", ["method is 'clutser'", "did you mean 'cluster'?"]),
    "misspelt": (f"{COLUMNS} --method cluster --clustres 2", ["no option --clustres", "'--clusters'"]),
    "few writers": (
        f"{COLUMNS} --method cluster --text review",
        ["r.csv: groups with at least --min_count 25 rows are 0"],
    ),
}


@pytest.mark.parametrize(("words", "expected"), WORDS.values(), ids=WORDS)
def test_words_that_cannot_be_used(encoder, capsys, words, expected):
    write(reviews())
    message = refused(capsys, words.split())
    assert all(piece in message for piece in expected), message
    assert not encoder
    assert not Path("s.csv").exists()


def test_text_that_is_none_is_refused(encoder, capsys):
    pq.write_table(pa.table({"stars": [1, 2] * 40, "user": [*range(4)] * 20, "n": [*range(80)]}), "r.parquet")
    words = f"{COLUMNS} --method cluster --text n".replace(".csv", ".parquet").split()
    assert "r.parquet: column 'n' holds int64, which is not text" in refused(capsys, words)


def test_help_says_what_is_there(capsys):
    with pytest.raises(SystemExit):
        main(["split", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "1 by --method group and 25 by --method cluster" in said
    assert "distilbert-base-uncased" in said


# Configurations


@pytest.mark.parametrize(("name", "clusters", "min_count"), [("imdb", 2, 25), ("yelp", 6, 100)])
def test_recipes_run_on_rows_of_their_form(encoder, name, clusters, min_count):
    recipe = yaml.safe_load((CONFIGS / "split" / f"{name}.yaml").read_text(encoding="utf-8"))
    assert (recipe["clusters"], recipe["min_count"], recipe["method"]) == (clusters, min_count, "cluster")
    centres = TWO if name == "imdb" else SIX
    sizes = [min_count + 1, 2 * min_count, 2 * min_count + 1, 2 * min_count + 2]
    writer, centre, embedding = writers(centres, sizes=sizes)
    texts = [" ".join(map(str, vector)) for vector in embedding.tolist()]
    known = {"label": [str(i % 2 + 1) for i in range(len(writer))], "group": writer.tolist(), "text": texts}
    rows = [
        {**{recipe[what]: known[what][i] for what in known}, "review_id": f"r{i}", "helpful": ["1", str(i)]}
        for i in range(len(writer))
    ]
    if name == "imdb":
        rows[5]["rating"] = None
        files = [rows[:70], rows[70:]]
        for number, some in enumerate(files, start=1):
            Path(f"part-{number:02}.json").write_text(json.dumps(some))
        path = "part-*.json"
    else:
        path = "yelp_academic_dataset_review.json"
        Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["--config", str(CONFIGS / "split" / f"{name}.yaml"), "--path", path, "--output", "s.parquet"]
    manifest = main(["split", *words])
    out = {row["review_id"]: row["split"] for row in pq.read_table("s.parquet").to_pylist()}
    part = np.array([out.get(row["review_id"], "left out") for row in rows])
    there = np.arange(len(rows)) != (5 if name == "imdb" else -1)
    taken = {0, 1} if name == "imdb" else FARTHEST
    assert_by_the_rule(writer[there], centre[there], part[there], taken, least=2 * min_count)
    assert manifest["options"]["id_min_count"] == 2 * min_count
    if name == "imdb":
        assert manifest["dropped"] == {"rows": 1, "blank": {"rating": 1, "reviewer": 0, "review_detail": 0}}
        assert manifest["source"]["files"] == {"part-01.json": 70, "part-02.json": len(rows) - 70}
        assert "r5" not in out
    else:
        assert manifest["dropped"] is None


def test_the_later_word_wins_over_a_configuration(encoder):
    write(reviews())
    Path("c.yaml").write_text("method: cluster\ntext: review\nlabel: stars\ngroup: user\nmin_count: 5\nseed: 7\n")
    manifest = main(["split", "--config", "c.yaml", "--path", "r.csv", "--output", "s.csv", "--min_count", "3"])
    assert (manifest["options"]["min_count"], manifest["options"]["seed"]) == (3, 7)


CONTENT = {
    "misspelt": ("clustres: 2\n", ["there is no option --clustres", "'--clusters'"]),
    "other method": ("method: group\nclusters: 2\n", ["clusters is an option of --method cluster"]),
    "a list": ("- method\n", ["--config does not hold named options", "YAML"]),
    "no YAML": ("method: [cluster\n", ["--config", "YAML"]),
    "code": ("label: !!python/object/apply:os.mkdir [done]\n", ["--config", "YAML"]),
    "a word for a number": ("clusters: many\n", ["clusters is 'many'", "whole number"]),
}


@pytest.mark.parametrize(("content", "expected"), CONTENT.values(), ids=CONTENT)
def test_configurations_that_cannot_be_used(encoder, capsys, content, expected):
    write(reviews())
    Path("c.yaml").write_text(content)
    message = refused(capsys, f"--config c.yaml {COLUMNS}".split())
    assert all(piece in message for piece in expected), message
    assert not Path("done").exists()


def test_a_configuration_that_is_not_there(capsys):
    assert "none.yaml" in refused(capsys, f"--config none.yaml {COLUMNS}".split())


# Rows that lack something


def blank(rows, column, *places):
    for place in places:
        rows[place][HEADER.index(column)] = " "


LACK = {
    "label": ("stars", 3, ["column 'stars', row 3 ", "not a label", "drop_missing"]),
    "group": ("user", 4, ["column 'user', row 4 ", "not a group", "drop_missing"]),
    "text": ("review", 5, ["column 'review', row 5 ", "not a text", "drop_missing"]),
}


@pytest.mark.parametrize(("column", "row", "expected"), LACK.values(), ids=LACK)
def test_blank_cells_are_refused_if_not_dropped(encoder, capsys, column, row, expected):
    rows = reviews()
    blank(rows, column, row)
    write(rows)
    message = refused(capsys, f"{COLUMNS} --method cluster --text review".split())
    assert all(piece in message for piece in expected), message


def test_rows_that_lack_something_are_left_out_and_counted(encoder, capsys):
    rows = reviews(sizes=(8,) * 5)
    blank(rows, "stars", 0, 1)
    blank(rows, "user", 1, 2, 3)
    blank(rows, "review", 4)
    manifest = split("--drop_missing", "--min_count", "3", path=write(rows))
    assert manifest["dropped"] == {"rows": 5, "blank": {"stars": 2, "user": 3, "review": 1}}
    assert encoder[0]["texts"] == [row[3] for row in rows[5:]]
    assert [row["id"] for row in read_csv("s.csv")] == [row[0] for row in rows[5:]]
    assert manifest["source"]["rows"] == 80
    assert "Left out: 5 rows with a blank cell (stars 2, user 3, review 1)" in capsys.readouterr().out


def test_of_several_texts_one_is_enough(encoder):
    rows = reviews(sizes=(8,) * 5)
    for row in rows:
        row[3], row[4] = f"{row[3]} {row[4]}", ""
    blank(rows, "review", 6)
    manifest = split("--drop_missing", "--min_count", "3", path=write(rows), text="review,more")
    assert manifest["dropped"] == {"rows": 1, "blank": {"stars": 0, "user": 0, "review,more": 1}}


def test_rows_are_dropped_by_group_too(capsys):
    rows = reviews(sizes=(8,) * 5)
    blank(rows, "stars", 0, 7)
    blank(rows, "review", 1)
    main(f"split {COLUMNS} --drop_missing --path {write(rows)}".split())
    assert read_json("s.manifest.json")["dropped"] == {"rows": 2, "blank": {"stars": 2, "user": 0}}
    assert len(read_csv("s.csv")) == 78
    assert "Left out: 2 rows with a blank cell (stars 2, user 0)" in capsys.readouterr().out


def test_rows_that_all_lack_something(capsys):
    rows = reviews()
    blank(rows, "stars", *range(len(rows)))
    write(rows)
    assert "a cell of stars, user is blank in each row" in refused(capsys, f"{COLUMNS} --drop_missing".split())


# Several files


def halves(cut=70):
    rows = reviews(sizes=(8,) * 10)
    write(rows[:cut], "part-1.csv")
    write(rows[cut:], "part-2.csv")
    write(rows, "whole.csv")
    return rows


@pytest.mark.parametrize("path", ["part-*.csv", "part-2.csv,part-1.csv", "part-1.csv, part-[2-9].csv"])
def test_several_files_are_one_table(path):
    halves()
    words = ["split", *COLUMNS.split(), "--path"]
    manifest = main([*words, path])
    whole = main([*words, "whole.csv", "--output", "t.csv"])
    assert read_csv("s.csv") == read_csv("t.csv")
    assert manifest["splits"] == whole["splits"]
    digests = [hashlib.sha256(Path(f"part-{i}.csv").read_bytes()).hexdigest() for i in (1, 2)]
    assert manifest["source"] == {
        "name": path,
        "rows": 160,
        "sha256": hashlib.sha256("".join(digests).encode()).hexdigest(),
        "files": {"part-1.csv": 70, "part-2.csv": 90},
    }


def test_a_name_with_a_comma_or_a_star_is_itself():
    rows = reviews(sizes=(8,) * 5)
    for name in ("a,b.csv", "a*.csv"):
        write(rows, name)
        manifest = main(["split", *COLUMNS.split(), "--overwrite", "--path", name])
        assert (manifest["source"]["name"], manifest["source"]["rows"]) == (name, 80)


def test_a_cell_is_named_by_its_own_file(capsys):
    rows = halves()
    rows[73][1] = ""
    write(rows[70:], "part-2.csv")
    message = refused(capsys, [*COLUMNS.split(), "--path", "part-*.csv"])
    assert message.startswith("part-2.csv: column 'stars', row 3 (the first is 0): a blank cell")


FILES = {
    "twice": ("part-*.csv,part-1.csv", "part-1.csv is named twice"),
    "none of a pattern": ("prt-*.csv", "there is no file prt-*.csv"),
    "a name of the hub": ("owner/name", "there is no file or folder owner/name; give one, of a data set of the hub"),
    "one is missing": ("part-1.csv,part-3.csv", "there is no file part-3.csv"),
    "a column less": ("part-1.csv,u.csv", "u.csv has no column 'more', which part-1.csv has"),
    "a column more": ("part-1.csv,v.csv", "v.csv has a column 'w', unlike part-1.csv"),
    "another format": ("part-1.csv,x.parquet", "x.parquet is of another format than part-1.csv"),
    "another kind": ("x.parquet,y.parquet", "y.parquet: column 'stars' holds string, and in the files before int64"),
    "onto one of them": ("part-*.csv,s.csv", "output is 's.csv', one of the files of part-*.csv,s.csv"),
}


@pytest.mark.parametrize(("path", "expected"), FILES.values(), ids=FILES)
def test_files_that_are_no_table_together(capsys, path, expected):
    halves()
    Path("u.csv").write_text("id,stars,user,review\n1,1,a,0\n")
    Path("v.csv").write_text("id,stars,user,review,more,w\n1,1,a,0,0,0\n")
    columns = {name: ["a"] for name in HEADER}
    pq.write_table(pa.table({**columns, "stars": [1]}), "x.parquet")
    pq.write_table(pa.table(columns), "y.parquet")
    if "s.csv" in path:
        write(reviews(), "s.csv")
    output = "s.parquet" if path.startswith("x") else "s.csv"
    words = ["--path", path, "--label", "stars", "--group", "user", "--output", output]
    assert expected in refused(capsys, words)


def test_a_column_that_is_null_or_whole_in_one_file_takes_the_others_kind():
    columns = {"y": ["a", "b"] * 20, "g": [f"g{i % 10}" for i in range(40)]}
    for name, x in (("1", [None] * 40), ("2", [*range(40)]), ("3", [0.5] * 40)):
        rows = [{**{key: cells[i] for key, cells in columns.items()}, "x": x[i]} for i in range(40)]
        Path(f"p{name}.json").write_text(json.dumps(rows))
    main(["split", "--path", "p*.json", "--label", "y", "--group", "g", "--output", "s.parquet"])
    assert pq.read_table("s.parquet")["x"].to_pylist() == [None] * 40 + [float(i) for i in range(40)] + [0.5] * 40
