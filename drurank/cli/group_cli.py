"""LightningCLI for our methods and data, with a folder for each run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from lightning.pytorch import Callback, LightningDataModule
from lightning.pytorch.callbacks import ProgressBar
from lightning.pytorch.cli import ArgsType, LightningArgumentParser, LightningCLI
from lightning.pytorch.profilers import Profiler
from lightning.pytorch.strategies import Strategy
from lightning.pytorch.trainer.states import TrainerFn
from lightning.pytorch.utilities.rank_zero import rank_zero_only

from drurank.callbacks import GroupHistory, GroupProgressBar, GroupReport, PredictionWriter, best_by
from drurank.callbacks.pictures import folder_of
from drurank.cli.class_paths import made_of_path
from drurank.cli.commands import command, report_words
from drurank.cli.flags import logged_as_flags, named_as_flags, warned_as_flags
from drurank.cli.parser import reason_of
from drurank.cli.program import usage
from drurank.cli.restoring import naming_checkpoint
from drurank.cli.saved_config import RunConfig
from drurank.cli.training_checks import check_evaluation, check_fit, check_weights, refuse_taken_version
from drurank.cli.training_options import add_options
from drurank.cli.training_parser import RunParser, TrainingParser
from drurank.cli.training_shown import say_what_to_try, show_kept, show_validation
from drurank.cli.trusted import check_kinds
from drurank.cli.undoing import Begun, undone_if_not_begun
from drurank.criteria import describe_criteria
from drurank.errors import InputError, check_seed
from drurank.files import remove_leftovers
from drurank.methods import GroupModule
from drurank.run_folder.checkpoint_io import read_checkpoint
from drurank.run_folder.layout import CHECKPOINT_FOLDER, SELECTION_FILE, TEST_FOLDER
from drurank.run_folder.links import refuse_links
from drurank.run_folder.lock import hold
from drurank.run_folder.logger import RunLogger, is_first_process
from drurank.run_folder.loggers import with_runs_of
from drurank.run_folder.place import run_of
from drurank.run_folder.selection import alike_in_weights, copy_test, read_selection
from drurank.terminal import say
from drurank.training import requeue
from drurank.training.loaders import as_list
from drurank.training.resume import first_step_to_log
from drurank.training.stopping import STOPPING
from drurank.words import joined

DEFAULT_EPOCHS = 20
ROOT = "runs"
"""Where runs are kept, if nothing else is said."""
NAMED = {"strategy": Strategy, "profiler": Profiler}
"""Options of the trainer that take a name of Lightning's or a class."""
OF_PREDICT = ("keep", "output", "by_class", "overwrite")
"""Options of ``predict``, those of ``PredictionWriter``."""
OF_TEST = ("figure", "html", "card", "thumbnails")
"""Options of ``test``, those of ``GroupReport``."""
MADE: dict[tuple[type, str, str], tuple[LightningArgumentParser, list[str]]] = {}
"""Parsers of subcommands that this process has made, and what their method takes."""
LOGGERS = ("lightning.pytorch.utilities.rank_zero", "lightning.fabric.utilities.rank_zero")


class GroupCLI(LightningCLI):
    """LightningCLI that keeps the best checkpoints by group criteria and tests each of them.

    Args:
        args: the words after the program's name, or a dict of settings.
        begun: is told once the run has begun.
    """

    def __init__(self, args: ArgsType, begun: Begun) -> None:
        self._begun = begun
        self._called = args[0] if isinstance(args, list) and args else None
        with named_as_flags(self._flags), _said_as_flags(self._flags), STOPPING.saying():
            super().__init__(
                GroupModule,
                LightningDataModule,
                subclass_mode_model=True,
                subclass_mode_data=True,
                auto_configure_optimizers=False,
                load_from_checkpoint_support=False,
                seed_everything_default=0,
                save_config_callback=RunConfig,
                trainer_defaults={"max_epochs": DEFAULT_EPOCHS, "enable_model_summary": False},
                parser_class=RunParser,
                parser_kwargs={"prog": usage()},
                args=args,
            )

    def subcommands(self) -> dict[str, set[str]]:  # type: ignore[override]
        """The one that is called, where it is named first; its parser is slow to make, and so would be the others."""
        every = LightningCLI.subcommands()
        return {self._called: every[self._called]} if self._called in every else every

    def _parse_ckpt_path(self) -> None:
        # Lightning's would let what a checkpoint holds as hyperparameters replace what is typed, classes too.
        pass

    def _set_seed(self) -> None:
        seed = self._get(self.config, "seed_everything")
        if isinstance(seed, int) and not isinstance(seed, bool):
            check_seed("seed_everything", seed, 2**32)
        super()._set_seed()

    def _flags(self) -> list[str]:
        # Once the settings are read, with the flags of the classes that they name.
        config = getattr(self, "config", None)
        return cast(TrainingParser, self.parser).flags_of(config[self.subcommand]) if config is not None else []

    def _prepare_subcommand_parser(self, klass: type, subcommand: str, **kwargs: Any) -> LightningArgumentParser:
        # Parsing leaves a parser as it is, and making one takes as long; a study's worker runs many candidates.
        kind = type(self), subcommand, describe_criteria()  # which its help lists
        if kind not in MADE:
            # The only place that knows which subcommand a parser is for.
            parser = super()._prepare_subcommand_parser(klass, subcommand, **kwargs)
            add_options(cast(TrainingParser, parser), subcommand)
            MADE[kind] = parser, self._subcommand_method_arguments[subcommand]
        parser, self._subcommand_method_arguments[subcommand] = MADE[kind]
        return parser

    def _run_subcommand(self, subcommand: str) -> None:
        checkpoint = self._get(self.config_init, "ckpt_path")
        with naming_checkpoint(self.trainer, checkpoint), undone_if_not_begun(self.trainer, self._folder_to_spare()):
            super()._run_subcommand(subcommand)

    def _folder_to_spare(self) -> Path | None:
        """The folder that the command goes on in, or makes others in."""
        checkpoint, run = (self._get(self.config_init, name) for name in ("ckpt_path", "run"))
        if self.subcommand == "test" and run:
            return Path(run) / TEST_FOLDER
        return run_of(checkpoint) if self.subcommand == "fit" and checkpoint else None

    def instantiate_trainer(self, **kwargs: Any) -> Any:
        """Add the folder of the run and our callbacks."""
        config = self._get(self.config_init, "trainer")
        if config.get("barebones"):
            raise InputError("barebones keeps no checkpoints and logs no criteria; leave --trainer.barebones out")
        for name, base in NAMED.items():  # Text may be anything else, so the parser takes it.
            if isinstance(config.get(name), str):
                config[name] = made_of_path(f"--trainer.{name}", config[name], base)
        given = as_list(config.get("callbacks"))
        of_report = {name: self._get(self.config_init, name) for name in OF_TEST if self.subcommand == "test"}
        callbacks: list[Callback] = [GroupReport(**of_report), self._begun]
        if not any(isinstance(one, GroupHistory) for one in given):
            callbacks.insert(0, GroupHistory())
        if self.subcommand == "predict":
            writer = PredictionWriter(**{name: self._get(self.config_init, name) for name in OF_PREDICT})
            callbacks.append(writer)
            if writer.output is not None:
                self.save_config_callback = None  # It would make a folder of a run.
        if self.subcommand == "fit" and config.get("enable_checkpointing") is not False:
            callbacks += best_by(self._get(self.config_init, "select"))
        own_bar = any(isinstance(one, ProgressBar) for one in given)
        if config.get("enable_progress_bar") is not False and not own_bar:
            callbacks.append(GroupProgressBar())
        logger = config.get("logger")
        if logger is None and self.subcommand == "predict":
            kwargs["logger"] = logger = False  # Nothing is logged, and a logger would leave a folder behind.
        if logger in (None, True):
            # Ours has a row an epoch, whatever the interval.
            warnings.filterwarnings("ignore", ".*is smaller than the logging interval.*")
            kwargs["logger"] = self._run_logger()
        elif not config.get("default_root_dir"):
            config["default_root_dir"] = ROOT
        # The saved configuration is that of a run from the start, whatever it was resumed from.
        self.config[self.subcommand]["ckpt_path"] = None
        self.config[self.subcommand]["trainer"]["logger"] = self._loggers
        if self.subcommand == "fit":
            self.save_config_kwargs = {"checkpoint": self._get(self.config_init, "ckpt_path")}
        config["callbacks"] = [*given, *callbacks]
        try:
            trainer = super().instantiate_trainer(**kwargs)
        except (ValueError, TypeError, RuntimeError, LookupError, AttributeError) as error:
            if reason_of(error) is not None:
                raise
            kind = f"{type(error).__name__}: " if isinstance(error, LookupError) else ""
            said = f"the trainer cannot be created: {kind}{' '.join(str(error).split())}"
            raise InputError(f"{said}; leave out the option or callback that this is about, or give another") from error
        return trainer

    def _run_logger(self) -> RunLogger:
        checkpoint = self._get(self.config_init, "ckpt_path")
        is_resumed = self.subcommand == "fit" and checkpoint
        run = run_of(checkpoint) if is_resumed else None
        if run is not None:
            step = first_step_to_log(read_checkpoint(checkpoint))
            return RunLogger(run.parent, version=run.name, before_step=step)
        return RunLogger(self._get(self.config_init, "trainer").get("default_root_dir") or ROOT)

    def before_instantiate_classes(self) -> None:
        """Refuse to evaluate weights that were never trained; a job that was started again goes on from its file."""
        config = self.config[self.subcommand]
        check_kinds(config)
        seeds = config.get("seeds")
        if seeds is not None:
            from drurank.cli.seeds import check_seeds  # here, since few fits need it

            check_seeds(config["seed_everything"], seeds, config.get("ckpt_path"))
        if self.subcommand == "fit" and not config.get("ckpt_path") and seeds is None:
            found = requeue.requeued_file(config["trainer"].get("default_root_dir") or ".")
            config["ckpt_path"] = None if found is None else str(found)
        check_weights(str(self.subcommand), config)
        if self.subcommand in ("validate", "predict") and config.get("run"):
            name, entry = next(iter(read_selection(Path(config["run"])).items()))
            config["ckpt_path"] = str(entry["file"])
            rank_zero_only(say)(f"{entry['file']}: best by {name} in epoch {entry['epoch']}")
        self._loggers = config["trainer"].get("logger")
        checkpoint = config.get("ckpt_path")
        run = run_of(checkpoint) if checkpoint else None
        for folder in (run, config.get("run")):
            if folder:
                refuse_links(Path(folder))
        if self.subcommand != "fit":
            return
        if run is not None and is_first_process():
            hold(run, "trains")
            remove_leftovers(run)
            remove_leftovers(run / CHECKPOINT_FOLDER)
        if checkpoint and run is not None and self._loggers not in (None, True, False):
            step = first_step_to_log(read_checkpoint(checkpoint))
            config["trainer"]["logger"] = with_runs_of(run, self._loggers, step)

    def before_fit(self) -> None:
        """Check everything before a folder is made or written to: a run that cannot start leaves no trace."""
        checkpoint = self._get(self.config_init, "ckpt_path")
        if not checkpoint:
            refuse_taken_version(self.trainer, self._loggers)
        check_fit(self.model, self.trainer, self.datamodule, checkpoint)

    def before_validate(self) -> None:
        """Read the data before a folder is made."""
        self._read_data(TrainerFn.VALIDATING, self.datamodule.val_dataloader)

    def before_test(self) -> None:
        """Read the data before a folder is made."""
        self._read_data(TrainerFn.TESTING, self.datamodule.test_dataloader)

    def before_predict(self) -> None:
        """Read the data before a folder is made."""
        for writer in self._writers():
            writer.check_early(self.datamodule)
        self._read_data(TrainerFn.PREDICTING, self.datamodule.predict_dataloader)

    def after_validate(self) -> None:
        """Show the criteria by split."""
        rank_zero_only(show_validation)(self.trainer.callback_metrics)

    def after_predict(self) -> None:
        """Name the command that reports on predictions whose rows have labels."""
        for writer in self._writers():
            words = report_words(*writer.written) if writer.written else []
            if words:
                say(f"Report on them: {command('report', words)}")

    def _writers(self) -> list[PredictionWriter]:
        callbacks: list[Callback] = self.trainer.callbacks  # type: ignore[attr-defined]
        return [callback for callback in callbacks if isinstance(callback, PredictionWriter)]

    def _read_data(self, stage: TrainerFn, make_loaders: Callable[[], object]) -> None:
        run, checkpoint = self._get(self.config_init, "run"), self._get(self.config_init, "ckpt_path")
        files = [checkpoint] if run is None else [entry["file"] for entry in read_selection(Path(run)).values()]
        check_evaluation(self.model, self.trainer, self.datamodule, stage, files)
        make_loaders()

    def test(self, ckpt_path: str | None = None, **kwargs: Any) -> None:
        """Test one checkpoint, or that of each criterion of a run, once where several chose the same weights."""
        run = self._get(self.config_init, "run")
        if run is None:
            self.trainer.test(ckpt_path=ckpt_path, **kwargs)
            folder = folder_of(self.trainer)
            if folder is not None:
                rank_zero_only(say_what_to_try)({"that one": folder}, {})
            return
        selection = read_selection(Path(run))
        if is_first_process():
            hold(Path(run) / TEST_FOLDER, "tests")
        for names in alike_in_weights(selection):
            first = selection[names[0]]
            self.trainer.logger = RunLogger(Path(run) / TEST_FOLDER, version=names[0], before_step=0)
            by = joined([f"{name} ({selection[name]['value']:.4f})" for name in names])
            rank_zero_only(say)(f"\n{first['file']}: best by {by} in epoch {first['epoch']}")
            self.trainer.test(ckpt_path=str(first["file"]), **kwargs)
            rank_zero_only(copy_test)(Path(run) / TEST_FOLDER, names, selection)
        tests = {name: Path(run) / TEST_FOLDER / name for name in selection}
        rank_zero_only(say_what_to_try)(tests, selection, Path(run))

    def fit(self, **kwargs: Any) -> None:
        """Train, or train with several seeds."""
        seeds = self._get(self.config_init, "seeds")
        if seeds is None:
            self.trainer.fit(**kwargs)
            return
        from drurank.cli.seeds import fit_seeds  # here, since few fits need it

        fit_seeds(cast(TrainingParser, self._parser("fit")), self.config["fit"], seeds, self.trainer)

    def after_fit(self) -> None:
        """Show what was kept and where."""
        folder = folder_of(self.trainer)
        if folder is None or not (folder / SELECTION_FILE).is_file():
            return
        show_kept(folder, self.config["fit"]["model"], self.datamodule)


@contextmanager
def _said_as_flags(flags: Callable[[], list[str]]) -> Iterator[None]:
    with logged_as_flags(LOGGERS, flags), warned_as_flags(flags):
        yield
