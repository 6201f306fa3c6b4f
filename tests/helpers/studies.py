"""Small studies, for tests: one that is run, and results that are written without training."""

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import yaml

from drurank.cli.study_checks import check_plan
from drurank.cli.study_run import Options, filled_queue, prepare
from drurank.cli.training import run
from drurank.criteria import compute_criteria
from drurank.files import write_json
from drurank.study import Candidate, Plan
from drurank.study.candidates import Repeat
from drurank.study.working import StopSignals, work
from runs import read_json

NETWORK = {"class_path": "drurank.networks.MLP", "init_args": {"dropout": 0.5}}
"""With dropout, with which candidates are the same alone and trained together."""
SMALL = {
    "model": {"init_args": {"network": NETWORK}},
    "data": {
        "class_path": "drurank.data.Shortcut",
        "init_args": {"groups": [6, 4, 4], "group_size": 10, "batch_size": 16},
    },
    "trainer": {"max_epochs": 2, "accelerator": "cpu"},
    "candidates": [
        {"model": "ERM", "model.optimizer.lr": 0.01, "optimizer": "SGD"},
        {"model": "DRU", "cutoff": [5, 100]},
    ],
    "seeds": [0, 1],
    "criteria": ["qdcg10", "worst"],
}
ERM = [{"model": "ERM"}]
BY = ("qdcg10", "worst")
METHODS = {
    "Const+M": ("Const", "model.upweight_factor", (2, 5)),
    "ERM": ("ERM", "model.optimizer", ("AdamW", "SGD")),
    "qDRU+M": ("DRU", "model.cutoff", (5, 100)),
}
"""Name in tables to class, option and values, of the study that is written without training."""


def written(path, **changes):
    """The file of a plan."""
    path.write_text(yaml.safe_dump({**SMALL, **changes}), encoding="utf-8")
    return path


def words_of(path, folder):
    """Words that run a study."""
    return ["study", "run", "--config", str(path), "--output", str(folder)]


def rehearse(folder, plan):
    """Check a plan in this process, and prepare the folder of its study; gives what is warned of."""
    return prepare(folder, plan, partial(check_plan, folder, plan))


def finish(path, folder, stack_size=1, **options):
    """Run a study in this process; gives its queue."""
    plan = Plan.read(path)
    rehearse(folder, plan)
    queue = filled_queue(folder, plan, Options(**options))
    work(queue, folder, plan, run, StopSignals(), stack_size)
    return queue


def write_results(folder, seeds=(0, 1), size=10):
    """Manifests and counts of 2 settings each of 3 methods, on 4 groups of validation and 4 of test, drawn by lot."""
    rng, planned = np.random.default_rng(7), {}
    for name, (method, option, values) in METHODS.items():
        for candidate in (Candidate(method, {option: value}, seed, "base") for value in values for seed in seeds):
            selection, tables = {}, []
            for by in ("qdcg10", "worst"):
                correct = {split: rng.integers(0, size + 1, 4) for split in ("ood_val", "ood_test")}
                value = float(compute_criteria(correct["ood_val"], np.full(4, size), [by])[by])
                selection[by] = {"file": f"checkpoints/{by}.ckpt", "value": value, "epoch": int(rng.integers(2))}
                tables += [table_of(by, split, correct[split], size) for split in correct]
            root = folder / "candidates" / candidate.key
            root.mkdir(parents=True)
            pa_parquet.write_table(pa.concat_tables(tables), root / "groups.parquet")
            manifest = {"key": candidate.key, "method": name, "setting": candidate.setting, "seed": candidate.seed}
            manifest |= {"options": dict(candidate.options), "selection": selection}
            manifest |= {"data": {"source": "Shortcut", "fingerprint": "one"}, "budget": {"steps": 8, "epochs": 2}}
            write_json(root / "manifest.json", manifest)
            planned[candidate.key] = f"{candidate.setting}, seed {candidate.seed}"
    write_json(folder / "plan.json", planned)
    return folder


def write_counts(folder, correct, size, repeats=None, kept=BY):
    """A study of one setting a method whose checkpoints got these rows right, on validation and on test alike.

    Args:
        correct: method to correct rows by seed and group, ``[S, m]``; with repeats, by repeat, seed and group.
        size: rows of a group.
        repeats: training rows and groups by repeat, if there are several; their groups are then different ones.
        kept: criteria by which checkpoints were kept.
    """
    planned = {}
    for method, rows in correct.items():
        of_repeat = [rows] if repeats is None else rows
        for number, of_seed in enumerate(of_repeat):
            repeat = None if repeats is None else Repeat(number, {"data.seed": number})
            for seed, right in enumerate(of_seed):
                candidate = Candidate(method, {}, seed, "base", repeat)
                value = {by: float(compute_criteria(right, np.full(len(right), size), [by])[by]) for by in kept}
                selection = {by: {"file": f"checkpoints/{by}.ckpt", "value": value[by], "epoch": 1} for by in kept}
                tables = [table_of(by, split, right, size) for by in kept for split in ("ood_val", "ood_test")]
                root = folder / "candidates" / candidate.key
                root.mkdir(parents=True)
                pa_parquet.write_table(pa.concat_tables(tables), root / "groups.parquet")
                manifest = {"key": candidate.key, "method": method, "setting": method, "seed": seed, "options": {}}
                data = {"source": "Shortcut", "fingerprint": f"split {number}"}
                if repeats is not None:
                    manifest["repeat"] = {"number": number, "options": {"data.seed": number}}
                    data |= dict(zip(("training_rows", "training_groups"), repeats, strict=True))
                manifest |= {"selection": selection, "data": data, "budget": {"steps": 8, "epochs": 2}}
                write_json(root / "manifest.json", manifest)
                planned[candidate.key] = candidate.name
    write_json(folder / "plan.json", planned)
    return folder


def table_of(by, split, correct, size):
    """Counts by group as a candidate keeps them."""
    number = len(correct)
    columns = {"criterion": [by] * number, "split": [split] * number}
    columns["group"] = [f"{split}_{place}" for place in range(number)]
    return pa.table({**columns, "count": np.full(number, size), "correct": correct})


def manifests(folder):
    return {file.parent.name: read_json(file) for file in Path(folder).glob("candidates/*/manifest.json")}


def without_times(manifest):
    return {key: value for key, value in manifest.items() if key not in ("seconds", "config")}
