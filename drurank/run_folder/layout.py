"""Every file name of a run's folder, in one place."""

from pathlib import Path

CONFIG_FILE = "config.yaml"
"""The whole configuration of the run, as LightningCLI saves it."""
HPARAMS_FILE = "hparams.yaml"
"""What the run is made of, as Lightning's CSV and TensorBoard loggers note it."""
LOGGERS_FILE = "loggers.json"
"""The run's loggers, each with the version (id) of its own run; by it a folder is known to hold a run."""
METRICS_FILE = "metrics.csv"
"""What was logged, one row a step or epoch."""
CHECKPOINT_FOLDER = "checkpoints"
LAST_CHECKPOINT = "last.ckpt"
SELECTION_FILE = "selection.json"
"""Criterion to the best checkpoint by it, with its value and epoch."""
WEIGHTS_FILE, WEIGHTS_FOLDER = "weights.csv", "weights"
"""Weights, ranks and accuracies of the training groups, one row an epoch and group; as a file, or as one an epoch."""
CRITERIA_PICTURE, WEIGHTS_PICTURE, GROUPS_PICTURE = "criteria.png", "weights.png", "groups.png"
VALIDATION_FOLDER = "validation"
"""Counts by group of each validation, ``epoch_<t>.parquet``."""
TEST_FOLDER = "test"
"""One folder a criterion, each with the report of a test."""
GROUPS_CSV, GROUPS_PARQUET, REPORT_FILE = "groups.csv", "groups.parquet", "report.json"
PAGE_FILE = "report.html"
ERRORS_PICTURE = "errors.png"
"""Pictures that the groups served worst got wrong."""
PREDICTIONS_FILE = "predictions.parquet"
CARD_FILE = "model_card.md"


def validation_file(folder: Path, epoch: int) -> Path:
    """Counts by group of the validation of an epoch."""
    return folder / VALIDATION_FOLDER / f"epoch_{epoch:04}.parquet"


def holds_run(folder: Path) -> bool:
    """Whether a fit has begun in a folder."""
    return any((folder / name).is_file() for name in (CONFIG_FILE, LOGGERS_FILE))


def is_of_run(folder: Path, file: Path) -> bool:
    """Whether a file, by its path from a folder, is one that a run there has written, other than its predictions."""
    whole = (CONFIG_FILE, HPARAMS_FILE, LOGGERS_FILE, METRICS_FILE, SELECTION_FILE, WEIGHTS_FILE)
    inner = (CHECKPOINT_FOLDER, VALIDATION_FOLDER, WEIGHTS_FOLDER, TEST_FOLDER)
    return holds_run(folder) and (str(file) in whole or (file.parts[0] in inner and len(file.parts) > 1))


PROBABILITIES, OF_CLASS = "probabilities", "probability_"
"""Column of predictions with the probability of each class, or what those of single classes begin with."""
SEEN = "seen_in_training"
"""Column of predictions and of counts by group: whether training has the group."""
