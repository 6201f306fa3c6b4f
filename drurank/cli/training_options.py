"""Options that the commands of training have beside those of LightningCLI."""

from __future__ import annotations

from drurank.callbacks import GroupReport, PredictionWriter
from drurank.cli.training_parser import TrainingParser
from drurank.criteria import describe_criteria


def add_options(parser: TrainingParser, command: str) -> None:
    """Add those of one command.

    Args:
        parser: of the command.
        command: ``fit``, ``validate``, ``test`` or ``predict``.
    """
    if command == "fit":
        parser.add_argument(
            "--select",
            type=str | list[str],
            default="qdcg10",
            help="Criteria, separated by commas; the best checkpoint by each is kept, and the last one "
            f"({describe_criteria()}; of other figures than accuracy as worst-fpr; --import adds your own).",
        )
        parser.add_argument(
            "--seeds",
            type=int | None,
            default=None,
            help="Train with this many seeds, from --seed_everything on, as a study in the run's folder, and "
            "report the mean, spread and interval of each criterion on test; small networks train together.",
        )
    if command == "predict":
        parser.add_class_arguments(PredictionWriter)
        parser.let_stand_alone("by_class", "overwrite")
    if command in ("validate", "predict"):
        parser.add_argument(
            "--run",
            type=str | None,
            default=None,
            help="Folder of a run that `fit` made, in place of --ckpt_path: takes its best checkpoint by the first "
            "criterion of --select, with the configuration of the run unless another is given.",
        )
    if command in ("validate", "test"):
        parser.set_defaults(verbose=False)  # They end with our own tables.
    if command == "test":
        parser.add_class_arguments(GroupReport, skip={"show"})
        parser.let_stand_alone("html", "card", "thumbnails")
        parser.add_argument(
            "--run",
            type=str | None,
            default=None,
            help="Folder of a run that `fit` made: tests its best checkpoint by each criterion and writes to "
            "<run>/test/<criterion>, with the configuration of the run unless another is given.",
        )
