"""Seven small projects after the kinds that people have: what each changes to use drurank, and that it is then right.

A project stands in a file of its own, written without drurank; ``changes.py`` holds what changes at each grade.
"""

import difflib
import importlib.util
import math
import types
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning.pytorch import Callback

from domains import DOMAINS, Pictures
from reference import accuracies, criteria, cross_entropy, discounts, ranks, spread, unless_equal

FOLDER = Path(__file__).parent
MOST_LINES = 10


def load(path):
    spec = importlib.util.spec_from_file_location(f"projects_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHANGES = load(FOLDER / "changes.py").CHANGES
GRADES = ("metric", "rule", "rebased", "method")


def written(project):
    return (FOLDER / f"{project}.py").read_text(encoding="utf-8")


def changed(project, grade):
    source = written(project)
    for old, new in CHANGES[project][grade]:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return source


def run(source, name):
    module = types.ModuleType(name)
    exec(compile(source, f"{name}.py", "exec"), vars(module))
    return module


class SeenAccuracy(Callback):
    """Accuracy by domain in the last epoch, where the project counts it."""

    def on_train_epoch_end(self, trainer, module):
        if hasattr(module, "seen"):
            self.accuracy = module.seen.compute().numpy()


def predicted(project, module, seed):
    """Logits, label and domain of the rows of a seed, by the module as it is after training."""
    rows = getattr(project, "Tokens", Pictures)(seed)
    module.eval()
    with torch.no_grad():
        logits = project.logits(module, rows).numpy()
    label = rows.labels if hasattr(rows, "labels") else rows.label
    return logits, label.numpy(), rows.domain.numpy()


@pytest.mark.parametrize("project", CHANGES)
def test_projects_know_nothing_of_us_and_run(project):
    assert "drurank" not in written(project)
    assert run(written(project), project).fit().current_epoch == 3


@pytest.mark.parametrize("project", CHANGES)
@pytest.mark.parametrize("grade", GRADES)
def test_few_lines_change(project, grade):
    before, after = (
        [line for line in text.splitlines() if line.strip()] for text in (written(project), changed(project, grade))
    )
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    sizes = [(old_end - old, new_end - new) for kind, old, old_end, new, new_end in blocks if kind != "equal"]
    assert 0 < sum(new for _, new in sizes) <= MOST_LINES
    assert sum(max(old - new, 0) for old, new in sizes) <= MOST_LINES, "whole steps that are deleted"


@pytest.mark.parametrize("project", CHANGES)
@pytest.mark.parametrize("grade", GRADES)
def test_figures_and_weights_are_right(project, grade):
    found, noted = run(changed(project, grade), f"{project}_{grade}"), SeenAccuracy()
    trainer = found.fit([noted])
    module, values = trainer.lightning_module, trainer.callback_metrics
    logits, label, domain = predicted(found, module, 1)
    right = logits.argmax(axis=1) == label
    if grade != "rule":
        counts = [np.bincount(domain, by, DOMAINS) for by in (right, None)]
        assert float(values["val_qdcg10"]) == pytest.approx(criteria(*counts)["qdcg10"], rel=1e-5)
    if grade == "rule":
        weight = module.weight.numpy()
        np.testing.assert_allclose(weight, discounts(ranks(noted.accuracy), 100), rtol=1e-6)
        worst = noted.accuracy == noted.accuracy.min()
        np.testing.assert_allclose(weight[worst], math.log2(102), rtol=1e-6)
        assert weight[~worst].max() < math.log2(102)
    if grade in ("rebased", "method"):
        logits_of_train, train_label, train_domain = predicted(found, module, 0)
        correct = logits_of_train.argmax(axis=1) == train_label
        accuracy = accuracies(correct, train_domain, DOMAINS)
        by_group = unless_equal(discounts(ranks(accuracy), 100), accuracy)
        want = spread(by_group, correct, train_domain, "misclassified")
        np.testing.assert_allclose(module.state["weight"].numpy(), want, rtol=1e-6)
        assert want.max() == pytest.approx(math.log2(102))
    if project == "torchgeo_like" and grade in ("rebased", "method"):
        loss = cross_entropy(logits, label).mean()
        assert float(values["val_loss"]) == pytest.approx(loss, rel=1e-4)
        (config,) = trainer.lr_scheduler_configs
        assert config.scheduler.best <= loss * (1 + 1e-4)
    if project == "lightly_like" and grade == "rebased":
        assert float(values["val_acc"]) == pytest.approx(right.mean())
        assert module.largest > 0, "their own hook ran too"
