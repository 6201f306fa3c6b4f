"""The folder of a study: every file name in it, and the small files that a study writes before its first run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from drurank.errors import InputError
from drurank.files import read_json, refuse_existing, replace_file, write_json
from drurank.study.candidates import Candidate, SearchTrial
from drurank.study.plan import Plan

CANDIDATE_FOLDER = "candidates"
"""One folder a candidate, each with its run, manifest and counts by group."""
RUN_FOLDER = "version_0"
OF_RESULT = MANIFEST_FILE, COUNTS_FILE, FIGURES_FILE = "manifest.json", "groups.parquet", "figures.parquet"
PLAN_FILE = "plan.json"
"""Key of each candidate of the plan that was started last to its setting and seed."""
TRIAL_FOLDER = "trials"
"""One file a trial of a search, with the key of the candidate that it became."""
SHARED_FOLDER = "shared"
"""Configurations that all candidates of a plan share."""
LOG_FOLDER = "logs"
"""What each worker printed."""
SEEDS_FILE = "seeds.json"
"""What ``study seeds`` found."""
DATABASE_FILE, QUEUE_LOCK = "study.db", "queue.lock"
QUEUE_ID_FILE = "queue.id"
"""Name of the study in the database, which other studies may share."""
TRIAL = {"key": str}
REMEDY = "run the study again, which writes it"


def folder_of(study: Path, candidate: Candidate) -> Path:
    """Folder of a candidate."""
    return study / CANDIDATE_FOLDER / candidate.key


def study_of(run: Path) -> Path | None:
    """The study whose candidate a run is, by the run's folder; ``None`` if it is of none."""
    candidates = run.resolve().parent.parent
    is_of_study = run.resolve().name == RUN_FOLDER and candidates.name == CANDIDATE_FOLDER
    return candidates.parent if is_of_study and (candidates.parent / PLAN_FILE).is_file() else None


def is_of_study(folder: Path, file: Path) -> bool:
    """Whether a file, by its path from a folder, is one that a study there has written."""
    whole = (PLAN_FILE, SEEDS_FILE, DATABASE_FILE, QUEUE_ID_FILE)
    is_result = file.parts[0] == CANDIDATE_FOLDER and file.name in OF_RESULT and len(file.parts) == 3
    is_known = str(file) in whole or file.parts[0] in (TRIAL_FOLDER, SHARED_FOLDER) or is_result
    return is_known and holds_study(folder)


def holds_study(folder: Path) -> bool:
    """Whether a study has begun in a folder."""
    return (folder / PLAN_FILE).is_file() and any(
        (folder / name).is_dir() for name in (SHARED_FOLDER, CANDIDATE_FOLDER)
    )


def refuse_other_files(study: Path, config: str) -> None:
    """Refuse to make a study in a folder whose files are others' and have the names that a study writes.

    Args:
        study: the folder; if a study is in it, that one goes on.
        config: file of the plan.

    Raises:
        InputError: naming the file.
    """
    goes_on = holds_study(study)
    files = [study / name for name in (PLAN_FILE, SEEDS_FILE, DATABASE_FILE, QUEUE_LOCK, QUEUE_ID_FILE)]
    refuse_existing(files, overwrite=goes_on or None, inputs=[config], of=study if goes_on else None)


def outside_of_study(trainer: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a trainer, without those by which a candidate writes into its study."""
    callbacks = trainer.get("callbacks") or []
    kept = [one for one in callbacks if not str(one.get("class_path")).endswith(".ValidationCounts")]
    return {**trainer, "default_root_dir": None, "callbacks": kept or None}


def is_finished(study: Path, candidate: Candidate) -> bool:
    """Whether a candidate has a manifest, which is written last."""
    return (folder_of(study, candidate) / MANIFEST_FILE).is_file()


def shared_files(study: Path, plan: Plan) -> list[Path]:
    """Configurations that ``write_shared`` writes, in the order in which ``fit`` reads them."""
    return [shared_folder(study, plan) / f"{number}.yaml" for number in range(len(plan.shared) + 1)]


def shared_folder(study: Path, plan: Plan) -> Path:
    """Where they are; another plan may be running in the study's folder at the same time."""
    return study / SHARED_FOLDER / plan.base


def write_shared(study: Path, plan: Plan) -> None:
    """Write what all candidates share."""
    contents = (*plan.shared, {"select": ",".join(plan.criteria)})
    for file, content in zip(shared_files(study, plan), contents, strict=True):
        text = yaml.safe_dump(content, sort_keys=False)
        replace_file(file, lambda path, text=text: path.write_text(text, encoding="utf-8"))  # type: ignore[misc]


def write_plan(study: Path, plan: Plan) -> None:
    """Write which candidates there are, for the tables."""
    write_json(study / PLAN_FILE, {entry.key: entry.name for entry in plan.candidates})


def files_read(study: Path) -> list[str]:
    """Files of a study that its results are read from."""
    patterns = (PLAN_FILE, f"{TRIAL_FOLDER}/*.json", *(f"{CANDIDATE_FOLDER}/*/{name}" for name in OF_RESULT))
    return [str(file) for pattern in patterns for file in study.glob(pattern)]


def write_trial(study: Path, trial: SearchTrial, candidate: Candidate) -> None:
    """Write which candidate a trial became."""
    write_json(study / TRIAL_FOLDER / f"{trial.key}.json", {"key": candidate.key})


def read_plan(study: Path) -> dict[str, str] | None:
    """Key of each planned candidate to its setting, repeat and seed; a trial without a candidate has the trial's key.

    Returns:
        ``None`` if no plan was started in this folder.
    """
    if not (study / PLAN_FILE).is_file():
        return None
    planned = {}
    for key, setting in read_json(study / PLAN_FILE, REMEDY, {"*": str}).items():
        trial = study / TRIAL_FOLDER / f"{key}.json"
        if Path(key).name != key or "\0" in key:
            raise InputError(f"{study / PLAN_FILE} is damaged: it has the key {key!r:.80}; {REMEDY}")
        planned[read_json(trial, REMEDY, TRIAL)["key"] if trial.is_file() else key] = setting
    return planned


def keys_of_trials(study: Path) -> set[str]:
    """Keys of the candidates whose options a search proposed."""
    return {read_json(file, REMEDY, TRIAL)["key"] for file in study.glob(f"{TRIAL_FOLDER}/*.json")}
