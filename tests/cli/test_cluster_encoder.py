"""A split by clusters of writers with a true encoder: its embeddings against transformers, text by text."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from clusters import PARTS, assert_by_the_rule
from drurank.cli import main
from encoders import write_tiny
from runs import CONFIGS, read_csv, read_json

MAX_LENGTH = 12
WORDS = {0: ["good", "fine", "a", "b2"], 1: ["awful", "bad", "null", "z9"]}
SIZES = [3, 4, 6, 7, 8]


@pytest.fixture
def words(tmp_path, monkeypatch):
    """Words of a split of texts by writers of two kinds, each of whom uses words of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    torch.manual_seed(0)
    write_tiny(tmp_path / "encoder")
    rng = np.random.default_rng(0)
    rows = []
    for number, size in enumerate(SIZES * 2):
        kind = number // len(SIZES)
        for i in range(size):
            # From one word to more than is taken.
            text = " ".join(rng.choice(WORDS[kind], rng.integers(1, 20)))
            rows.append({"stars": "12"[i % 2], "user": f"w{number}", "kind": kind, "review": text})
    write([rows[i] for i in rng.permutation(len(rows))])
    told = "--method cluster --path r.csv --label stars --group user --text review --min_count 3 --seed 1"
    return ["split", *told.split(), "--pretrained", str(tmp_path / "encoder"), "--max_length", str(MAX_LENGTH)]


def write(rows, name="r.csv"):
    with open(name, "w", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, rows[0])
        lines.writeheader()
        lines.writerows(rows)


@torch.no_grad()
def embed_alone(folder, texts):
    """Mean over the tokens of each text, which is given to the encoder by itself."""
    from transformers import AutoModel, AutoTokenizer

    encoder, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    found = []
    for text in texts:
        tokens = tokenizer(text, truncation=True, max_length=MAX_LENGTH)["input_ids"]
        assert len(tokens) <= MAX_LENGTH
        found.append(encoder(torch.tensor([tokens])).last_hidden_state[0].double().numpy().mean(0))
    return np.array(found)


def column(rows, name):
    return np.array([row[name] for row in rows])


def test_distances_are_those_of_the_encoder(words, tmp_path):
    manifest = main([*words, "--output", "s.csv"])
    rows, out = read_csv("r.csv"), read_csv("s.csv")
    # The output has the rows in their order, so that equal ones are told apart by their place among such.
    part, left = np.full(len(rows), "left out"), iter(out)
    kept = set(column(out, "user"))
    for i, row in enumerate(rows):
        if row["user"] in kept:
            same = next(left)
            part[i] = same.pop("split")
            assert same == row
    assert next(left, None) is None
    writer, kind = column(rows, "user"), column(rows, "kind")
    # At least 3 rows, and 6 where they train.
    assert_by_the_rule(writer, kind, part, {"0", "1"}, least=6)
    assert manifest["under_id_min_count"] == {"writers": 2, "rows": 3 + 4}
    embedding = embed_alone(tmp_path / "encoder", column(rows, "review"))
    of_writers = {
        name: np.array([embedding[(part == name) & (writer == one)].mean(0) for one in set(writer[part == name])])
        for name in PARTS
    }
    train = of_writers["train"]
    spread = np.sqrt(((train - train.mean(0)) ** 2).sum(1).mean())
    assert manifest["spread"] == pytest.approx(spread, rel=1e-4)
    for name in PARTS - {"train"}:
        distance = np.linalg.norm(of_writers[name].mean(0) - train.mean(0))
        expected = {"distance": distance, "spreads": distance / spread}
        assert {which: manifest["distances"][name][which] for which in expected} == pytest.approx(expected, rel=1e-4)
    assert manifest["distances"]["ood_val"]["distance"] > 2 * manifest["distances"]["id_val"]["distance"]


def test_texts_are_cut_where_they_are_told_to_be(words):
    short = main([*words, "--output", "s.csv"])
    longer = main([*words, "--output", "t.csv", "--max_length", "40"])
    assert (short["options"]["max_length"], longer["options"]["max_length"]) == (12, 40)
    assert longer["spread"] != pytest.approx(short["spread"], rel=1e-3)


@pytest.fixture
def encoded(monkeypatch):
    """Numbers of texts that an encoder was given, batch after batch."""
    from transformers import DistilBertModel

    forward, rows = DistilBertModel.forward, []

    def counted(self, input_ids=None, **options):
        rows.append(len(input_ids))
        return forward(self, input_ids=input_ids, **options)

    monkeypatch.setattr(DistilBertModel, "forward", counted)
    return rows


def different(rows):
    return len({row["review"] for row in rows})


def test_a_second_run_does_not_encode_again(words, encoded):
    first = main([*words, "--output", "s.csv"])
    assert sum(encoded) == different(read_csv("r.csv"))
    encoded.clear()
    again = main([*words, "--output", "t.csv"])
    assert not encoded
    assert read_csv("t.csv") == read_csv("s.csv")
    assert {**again, "output": "s.csv"} == first == read_json("s.manifest.json")
    # Nor with another seed, or where other writers train.
    main([*words, "--output", "u.csv", "--seed", "2", "--id_min_count", "4"])
    assert not encoded


def test_other_texts_and_another_place_are_encoded_anew(words, encoded, tmp_path):
    main([*words, "--output", "s.csv"])
    encoded.clear()
    rows = read_csv("r.csv")
    rows[3]["review"] += " fine"
    write(rows)
    main([*words, "--output", "t.csv"])
    assert sum(encoded) == different(rows)
    encoded.clear()
    main([*words, "--output", "u.csv", "--cache_dir", "elsewhere"])
    assert sum(encoded) == different(rows)
    assert any((tmp_path / "elsewhere").iterdir())


def test_a_folder_without_an_encoder_is_refused(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main([*words, "--output", "s.csv", "--pretrained", "."])
    assert stop.value.code == 2
    assert "can be loaded from the folder ." in capsys.readouterr().err


# From a dump to a fitted model


def dump(name):
    """Reviews in the form of the data's own files, and the stars of each."""
    rng = np.random.default_rng(0)
    rows, stars = [], {}
    for number in range(8):
        words = WORDS[number // 4]
        for i in range(20):
            review, score = f"r{number}-{i}", i % 10 + 1
            text = " ".join(rng.choice(words, rng.integers(1, 20)))
            if name == "imdb":
                stars[review] = (score + 1) // 2
                about = {"review_id": review, "reviewer": f"w{number}", "movie": "M (2020)", "rating": str(score)}
                more = {"review_summary": "S", "review_date": "3 May 2020", "spoiler_tag": 0, "helpful": ["1", "2"]}
                rows.append({**about, "review_detail": text, **more})
            else:
                stars[review] = i % 5 + 1
                about = {"review_id": review, "user_id": f"w{number}", "business_id": "b", "stars": float(i % 5 + 1)}
                rows.append({**about, "useful": 0, "funny": 0, "cool": 0, "text": text, "date": "2020-05-03 10:00:00"})
    if name == "imdb":
        for row in (3, 70):
            rows[row]["rating"] = None
            stars.pop(rows[row]["review_id"])
        for number, some in enumerate((rows[:90], rows[90:]), start=1):
            Path(f"part-{number:02}.json").write_text(json.dumps(some), encoding="utf-8")
        return "part-*.json", stars
    Path("review.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return "review.json", stars


@pytest.mark.parametrize("name", ["imdb", "yelp"])
def test_from_a_dump_to_predictions_of_one_to_five_stars(words, run, name):
    path, stars = dump(name)
    told = ["--path", path, "--output", f"{name}.parquet", "--min_count", "5", "--clusters", "2"]
    main(["split", "--config", str(CONFIGS / f"split/{name}.yaml"), *told, *words[words.index("--pretrained") :]])
    written = pq.read_table(f"{name}.parquet").to_pylist()
    assert {row["review_id"] for row in written} == stars.keys()
    data = ["--config", CONFIGS / f"data/{name}.yaml", "--data.tokenizer", "encoder", "--data.max_length", "32"]
    network = ["--model", "DRU", "--model.network", "TextClassifier", "--trainer.max_epochs", "1"]
    run("fit", *data, *network)
    run("test", "--run", "runs/version_0")
    report = read_json("runs/version_0/test/qdcg10/report.json")
    assert [report["splits"][part]["groups"] for part in ("id_test", "ood_test")] == [2, 2]
    run("predict", "--ckpt_path", "runs/version_0/checkpoints/last.ckpt")
    (file,) = Path("runs").glob("*/predictions.parquet")
    predictions = pq.read_table(file).to_pylist()
    assert len(predictions) == len(written)
    for found in predictions:
        assert found["label"] == str(stars[written[found["row"]]["review_id"]])
        assert len(found["probabilities"]) == 5
        assert found["prediction"] in {"1", "2", "3", "4", "5"}
