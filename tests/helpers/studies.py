"""A small study, for tests."""

from pathlib import Path

import yaml

from runs import read_json

SMALL = {
    "data": {
        "class_path": "drurank.data.Shortcut",
        "init_args": {"groups": [6, 4, 4], "group_size": 10, "batch_size": 16},
    },
    "trainer": {"max_epochs": 2, "accelerator": "cpu"},
    "candidates": [
        {"model": "ERM", "optimizer": ["AdamW", "SGD"], "model.optimizer.lr": 0.01},
        {"model": "DRU", "cutoff": [5, 100]},
        {"model": "Const", "upweight_factor": [2, 5]},
    ],
    "seeds": [0, 1],
    "criteria": ["qdcg10", "worst"],
}


def written(path, **changes):
    path.write_text(yaml.safe_dump({**SMALL, **changes}), encoding="utf-8")
    return path


def manifests(folder):
    return {file.parent.name: read_json(file) for file in Path(folder).glob("candidates/*/manifest.json")}


def without_times(manifest):
    return {key: value for key, value in manifest.items() if key not in ("seconds", "config")}
