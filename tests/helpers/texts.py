"""A small table of texts, and words and data modules that read it."""

import numpy as np

from drurank.data import Text

WORDS = ["good", "bad", "fine", "awful", "a", "b", "c"]
SPLITS = {"train": 60, "ood_val": 24, "id_val": 12, "ood_test": 24, "id_test": 12}
NAMES = {"label": "stars", "group": "writer", "split": "split"}


def rows(seed=0, longest=30):
    """Texts of all lengths whose stars hang on a word, by writers of whom the OOD ones are not in training."""
    rng = np.random.default_rng(seed)
    made = {"text": [], "stars": [], "writer": [], "split": []}
    for split, number in SPLITS.items():
        for _ in range(number):
            star = int(rng.integers(1, 4))
            words = list(rng.choice(WORDS[4:], rng.integers(0, longest)))
            words.insert(0, WORDS[star])
            prefix = split if split.startswith("ood") else "id"
            values = (" ".join(words), star, f"{prefix}{rng.integers(4)}", split)
            for name, value in zip(made, values, strict=True):
                made[name].append(value)
    return made


def data_of(path, tiny, **options):
    return Text(path, **{**NAMES, "tokenizer": str(tiny), "max_length": 64, "batch_size": 8, **options})


def ready(path, tiny, **options):
    data = data_of(path, tiny, **options)
    data.setup("fit")
    return data


def words_of(path, tiny, *more, method="ERM", network="TextClassifier"):
    data = ["--data", "Text", "--data.path", path, "--data.label", "stars", "--data.group", "writer"]
    data += ["--data.split", "split", "--data.tokenizer", str(tiny), "--data.max_length", "32"]
    data += ["--data.batch_size", "8"]
    net = ["--model.network", network] if network else []
    rate = ["--model.optimizer", "AdamW", "--model.optimizer.lr", "1e-4"]
    return [*data, "--model", method, *net, *rate, "--trainer.max_epochs", "2", *more]


def batches_of(data, epoch=0, workers=0):
    loader = data.training_loader(None)
    loader.sampler.set_epoch(epoch)
    return [batch["index"].tolist() for batch in loader]
