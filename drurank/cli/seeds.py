"""fit --seeds: the same options with several seeds, as a study, and one report of all of them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from lightning.pytorch import Trainer

from drurank.cli.commands import exporting
from drurank.cli.program import program
from drurank.cli.seeds_shown import show_seeds
from drurank.cli.study_checks import refuse_overlap
from drurank.cli.study_run import Options, prepare, run_plan
from drurank.cli.training_parser import TrainingParser
from drurank.errors import InputError, check_count, check_seed
from drurank.files import replace_file
from drurank.imports import import_words
from drurank.run_folder.logger import RunLogger
from drurank.study import Plan
from drurank.study.runs import check_trainer
from drurank.terminal import say
from drurank.words import as_names
from drurank.yaml_files import PlanLoader, dump_yaml, read_yaml

STUDY_FILE = "study.yaml"


def check_seeds(first: Any, seeds: int, checkpoint: str | None) -> None:
    """Refuse what cannot be trained with several seeds.

    Args:
        first: ``seed_everything``.
        seeds: how many.
        checkpoint: ``ckpt_path``.

    Raises:
        InputError: naming the option.
    """
    check_count("seeds", seeds, least=2)
    if not isinstance(first, int) or isinstance(first, bool):
        raise InputError(f"seed_everything is {first!r}; with --seeds give the first seed, a whole number of 0 or more")
    check_seed("seed_everything", first + seeds - 1, 2**32)
    if checkpoint is not None:
        raise InputError("--seeds begins anew, but --ckpt_path is given; leave one of them out")


def fit_seeds(parser: TrainingParser, config: Any, seeds: int, trainer: Trainer, data: Any) -> None:
    """Train a method with several seeds and test each, and report on all of them.

    Args:
        parser: of ``fit``.
        config: settings of the fit, as parsed.
        seeds: how many; the first is ``seed_everything``.
        trainer: of the fit, in the folder of whose run the study is made.
        data: of the fit.

    Raises:
        InputError: if the settings cannot be those of a study.
        SystemExit: if some seed is not finished.
    """
    refuse_overlap(data)
    environment, logger = getattr(trainer.strategy, "cluster_environment", None), trainer.logger
    if environment is not None and environment.creates_processes_externally:
        raise InputError("--seeds starts the processes of its runs by itself; call it once, without torchrun or srun")
    if not isinstance(logger, RunLogger):
        raise InputError(
            "--seeds makes a study of runs with files of their own; leave --trainer.logger and --trainer.fast_dev_run "
            "out"
        )
    folder = Path(logger.log_dir)
    content = _content(parser, config, seeds)
    plan, file = Plan.of("--seeds", content), folder.resolve() / STUDY_FILE
    check_trainer(config["trainer"])
    prepare(folder, plan)  # without a rehearsal: the fit has been through one
    replace_file(file, lambda path: path.write_text(dump_yaml(content), encoding="utf-8"))
    again = [*program(), *import_words(), "study", "run", "--config", str(folder / STUDY_FILE), "--output", str(folder)]
    say(f"If it is interrupted, go on with: {shlex.join(again)}")
    options = Options()
    with options.workers_of(plan, file, folder) as workers:
        run_plan(plan, folder, options, workers)
    show_seeds(str(folder), plan.criteria[0])
    say(f"Copy the best of them, for `predict --run best`: {exporting(str(folder), plan.criteria[:1])}")


def _content(parser: TrainingParser, config: Any, seeds: int) -> dict[str, Any]:
    """The file of the study of these settings, one candidate a seed."""
    plain = read_yaml(parser.dump(config, skip_unset=False, skip_validation=True), PlanLoader)
    first, method = plain["seed_everything"], plain["model"]
    usual = read_yaml(parser.dump(parser.get_defaults(), skip_unset=False, skip_validation=True), PlanLoader)["trainer"]
    trainer = {name: value for name, value in plain["trainer"].items() if value != usual[name]}
    return {
        "model": {"init_args": method.get("init_args", {})},
        "data": plain["data"],
        "trainer": trainer | {"max_epochs": plain["trainer"]["max_epochs"], "default_root_dir": None},
        "candidates": [{"model": method["class_path"].removeprefix("drurank.methods.")}],
        "seeds": [*range(first, first + seeds)],
        "criteria": as_names(plain["select"]),
    }
