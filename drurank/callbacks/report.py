"""The report that ends a test, and the pictures that end a fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from drurank.callbacks.answers import tested_answers
from drurank.callbacks.classes import TestedClasses
from drurank.callbacks.errors import shows_pictures, write_mistakes
from drurank.callbacks.pictures import folder_of, keep_picture, send_file, send_picture
from drurank.callbacks.selection import BestByCriterion
from drurank.callbacks.validation import split_counts
from drurank.checks import MOST_ROWS
from drurank.criterion_keys import logged_criterion
from drurank.errors import InputError
from drurank.figures import FIGURES, figure_named
from drurank.methods import GroupModule
from drurank.report import print_report, write_report
from drurank.report.card import write_card
from drurank.report.page import Section, write_page
from drurank.report.write import figure_files
from drurank.run_folder.checkpoint_checks import REMEDY
from drurank.run_folder.layout import (
    CARD_FILE,
    CRITERIA_PICTURE,
    ERRORS_PICTURE,
    GROUPS_CSV,
    GROUPS_PICTURE,
    PAGE_FILE,
    REPORT_FILE,
)
from drurank.shapes import MANY, check_shape, wrong
from drurank.tabular.columns import Names
from drurank.terminal import say
from drurank.training.loaders import as_list
from drurank.training.preflight import refuse_other_answers
from drurank.words import as_names

OF, PLACE = "the checkpoint", "GroupReport"
"""What a state of it is read from, and where it is there."""


class GroupReport(Callback):
    """Ends each test with a report of how each group was served, and each fit with pictures of how it went.

    A test writes ``groups.csv``, ``groups.parquet`` (one row a split and group), ``report.json`` (by split: each
    criterion as observed, its estimated true value and what chance alone would give; the balanced accuracy and the best
    constant answer) and ``groups.png`` into its folder, and shows the criteria and the worst and best groups; how to
    read them it says with the first of several tests. Of each further figure there are ``groups_<figure>.csv``,
    ``.parquet`` and ``.png`` beside. A fit
    writes ``criteria.png`` (criteria by epoch) into the run's folder. A TensorBoard, W&B or MLflow logger gets the
    pictures and the report too.

    Args:
        show: whether to print the tables.
        figure: further figures than accuracy that a test reports (with commas): error, selection_rate, tpr, fnr, tnr,
            fpr, precision, npv, off_by_more_than_one, f1, balanced_accuracy, mae, auroc, log_loss, brier,
            calibration_error. Most need the model's ``positive``.
        html: whether a test writes the report as one page too, ``report.html``.
        card: whether a test also writes ``model_card.md``: the report as a section of a model card, as the Hugging Face
            hub has them.
        thumbnails: of pictures, whether that page, and loggers, show those that the worst groups got wrong; people
            other than you may see them.

    Raises:
        InputError: if there is no such figure, or thumbnails are asked for without a page.
    """

    def __init__(
        self, show: bool = True, figure: Names = None, html: bool = False, card: bool = False, thumbnails: bool = False
    ) -> None:
        if thumbnails and not html:
            raise InputError("thumbnails are shown on the page, and none is asked for; give html=True too")
        self.show, self.html, self.card, self.thumbnails = show, html, card, thumbnails
        self.figures = [figure_named(name) for name in as_names(figure)]
        self._history: dict[int, dict[str, float]] = {}
        self._classes = TestedClasses()
        self._has_explained = False

    def state_dict(self) -> dict[str, Any]:
        """The criteria of the epochs so far, so that a resumed fit draws all of them."""
        return {"history": self._history}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` gave.

        Raises:
            InputError: if it is of another shape, as of a damaged checkpoint.
        """
        check_shape(OF, state_dict, {"history": dict}, REMEDY, PLACE)
        for epoch, values in state_dict["history"].items():
            if type(epoch) is not int or not 0 <= epoch < MOST_ROWS:
                raise wrong(OF, f"{PLACE}.history key", epoch, REMEDY)
            check_shape(OF, values, {MANY: int | float}, REMEDY, f"{PLACE}.history.{epoch}")
        self._history = state_dict["history"]

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Note the criteria of the epoch."""
        if trainer.state.fn == "fit" and not trainer.sanity_checking:
            values = trainer.callback_metrics.items()
            self._history[trainer.current_epoch] = {key: float(value) for key, value in values if logged_criterion(key)}

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Draw the criteria by epoch."""
        from drurank.report.pictures import draw_criteria  # here, since matplotlib is slow to import

        folder = folder_of(trainer)
        if folder is None:
            return
        history = {epoch: values for epoch, values in self._history.items() if values}
        if history:
            kept = [one for one in trainer.checkpoint_callbacks if isinstance(one, BestByCriterion)]
            chosen = {one.criterion_name: epoch for one in kept if (epoch := one.chosen_epoch) is not None}
            keep_picture(draw_criteria(history, chosen), folder / CRITERIA_PICTURE, trainer.loggers)

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Begin to count classes.

        Raises:
            InputError: if the model is no ``GroupModule``.
        """
        if not isinstance(pl_module, GroupModule):
            raise InputError(
                f"GroupReport reads the counts of a GroupModule, and the model is a {type(pl_module).__name__}; rebase "
                "it on GroupModule, or hand its predictions to drurank.report.report_predictions"
            )
        self._classes.begin(trainer, pl_module)
        if self.figures:
            refuse_other_answers(pl_module, f"figure {self.figures[0].name!r}")
            pl_module.evaluation.keep_answers(self.figures)
        elif pl_module.names_classes and any(map(shows_pictures, _tested(trainer))):
            pl_module.evaluation.keep_answers([])

    def on_test_batch_end(
        self, trainer: Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Note the classes of a batch."""
        self._classes.note(dataloader_idx, pl_module.unpack(batch))

    def on_test_end(self, trainer: Trainer, pl_module: Any) -> None:
        """Write and show the report."""
        names = getattr(trainer.datamodule, "label_names", None)  # type: ignore[attr-defined]
        splits = split_counts(pl_module, self._classes.counts(pl_module, names))
        folder = folder_of(trainer)
        if folder is None:
            return
        answers = tested_answers(pl_module.evaluation) if self.figures else None
        further = {one.name: answers.of(one) for one in self.figures} if answers else {}
        _forget_earlier(folder)
        report = write_report(
            folder,
            splits,
            pl_module.evaluation.names,
            min_count=pl_module.evaluation.min_count,
            shrink=pl_module.evaluation.shrink,
            about=_about(trainer, pl_module),
            figures=further,
        )
        send_picture(folder / GROUPS_PICTURE, trainer.loggers, trainer.global_step)
        for name in (REPORT_FILE, GROUPS_CSV):
            send_file(folder / name, trainer.loggers, trainer.global_step)
        if self.show:
            print_report(report, splits, folder, further, explains=not self._has_explained)
            self._has_explained = True
        mistakes = None
        shown = [split for split in pl_module.evaluation.splits if split.answers and shows_pictures(split.dataset)]
        labels, least = pl_module.evaluation.labels, pl_module.evaluation.min_count
        if shown and write_mistakes(folder / ERRORS_PICTURE, shown, labels, least):
            mistakes = folder / ERRORS_PICTURE
            if self.thumbnails:
                send_picture(mistakes, trainer.loggers, trainer.global_step)
            say(f"Pictures that the worst groups got wrong: {folder / ERRORS_PICTURE}")
        if self.html:
            title = f"How groups are served: {pl_module.title}"
            seen = mistakes if self.thumbnails else None
            write_page(folder / PAGE_FILE, [Section(report, splits, further)], title=title, mistakes=seen)
            say(f"Page: {folder / PAGE_FILE}")
        if self.card:
            card = write_card(folder, report, splits, further)
            send_file(card, trainer.loggers, trainer.global_step)
            say(f"Model card: {card}")


def _tested(trainer: Any) -> list[Any]:
    """Those that are tested."""
    return [loader.dataset for loader in as_list(trainer.test_dataloaders)]


def _forget_earlier(folder: Path) -> None:
    """Remove what an earlier test was asked for and this one may not write anew."""
    for name in [*(file for figure in FIGURES for file in figure_files(figure)), PAGE_FILE, CARD_FILE, ERRORS_PICTURE]:
        (folder / name).unlink(missing_ok=True)


def _about(trainer: Any, method: GroupModule) -> dict[str, Any]:
    data = trainer.datamodule
    return {
        "method": method.title,
        "data": data.describe() if hasattr(data, "describe") else None,
        "sampler": data.draw_of(method) if hasattr(data, "draw_of") else None,
        **(data.facts() if hasattr(data, "facts") else {}),
        "checkpoint": str(trainer.ckpt_path) if trainer.ckpt_path else None,
    }
