"""Input that cannot be used is answered in one sentence, with the nearest right word."""

import re
from pathlib import Path

import pytest
import yaml

from runs import FIT, SMALL, read_csv


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*FIT, "--model.cutof", "3"], "'cutof'.*did you mean 'cutoff'"),
        ([*FIT, "--data.group_sise", "3"], "'group_sise'.*did you mean 'group_size'"),
        ([*FIT, "--trainer.max_epoch", "3"], "--trainer.max_epoch: did you mean '--trainer.max_epochs'"),
        ([*FIT, "--selct", "worst"], "--selct: did you mean '--select'"),
        ([*FIT, "--model.network", "MLP", "--model.network.hiden", "3"], "'hiden'.*did you mean 'hidden'"),
        ([*FIT, "--model.optimizer", "SGD", "--model.optimizer.momentun", "0"], "'momentun'.*did you mean 'momentum'"),
        (["fit", "--model", "DUR", *SMALL], "'DUR'.*did you mean 'DRU'"),
        (["fit", "--model", "DRU", "--data", "Shortcutt"], "'Shortcutt'.*did you mean 'Shortcut'"),
        ([*FIT, "--model.network", "MPL"], "'MPL'.*did you mean 'MLP'"),
        ([*FIT, "--model.optimizer", "AdmW"], "there is no optimizer 'AdmW'.*did you mean 'AdamW'"),
        ([*FIT, "--model.lr_scheduler", "OneCycleL"], "'OneCycleL'.*did you mean 'OneCycleLR'"),
        ([*FIT, "--model.lr_scheduler", "ReduceLROnPlateau"], "lightning.pytorch.cli.ReduceLROnPlateau"),
        ([*FIT, "--select", "worst,qdgc10"], "'qdgc10'.*did you mean 'qdcg10'"),
        ([*FIT, "--select", "qdcg101"], "'qdcg101'.*1 to 100"),
        ([*FIT, "--select", "qdcg0"], "'qdcg0'.*1 to 100"),
        ([*FIT, "--select", "worst,worst"], "twice"),
        ([*FIT, "--model.upweight", "misclasified"], "'misclasified'.*did you mean 'misclassified'"),
        ([*FIT, "--model.rank_by", "qantile"], "'qantile'.*did you mean 'quantile'"),
        (["ftt", *FIT[1:]], "'ftt'.*did you mean 'fit'"),
        ([*FIT, "--model.cutoff", "101"], "cutoff.*101.*0 to 100"),
        ([*FIT, "--model.cutoff", "much"], "cutoff is 'much'; give a number$"),
        ([*FIT, "--data.groups", "some"], "groups.*'some'.*list"),
        (["fit", *SMALL], "--model is missing; give it on the command line, as --model DRU, or by --config$"),
        (["fit", "--model", "DRU"], "--data is missing; .* as --data Table --data.path FILE --data.label COLUMN"),
        (["fit"], "--data, --model are missing; .*--data.path FILE .*--model DRU, or by --config$"),
        (
            ["fit", "--model", "DRU", "--data.path", "t.csv"],
            "^--data.path is an option of a class, but no class is given; write --data Table first, known: Images",
        ),
        (["fit", *SMALL, "--model.cutoff", "5"], "no class is given; write --model DRU first, known: CVaR"),
        (["fit", "--config", "{model: {class_path: DRU, init_args: {bta: 1}}}", *SMALL], "'bta'"),
        (["fit", "--config", "nowhere.yaml"], "nowhere.yaml"),
        (
            ["fit", "--model", "ERM", "--config", "{data: {class_path: Table, init_args: {path: [a.csv, b.csv]}}}"],
            "--data.path is .*; give text, with commas between several files$",
        ),
        ([*FIT, "--model.loss", "CrossEntropyLoss"], "give it --model.loss.reduction none"),
        ([*FIT, "--trainer.overfit_batches", "1"], "overfit_batches"),
        ([*FIT, "--data.batch_size", "0"], "batch_size is 0"),
        ([*FIT, "--data.seed", "-1"], "seed"),
        (
            ["fit", "--model", "GroupModule", *SMALL],
            "GroupModule is the base of the methods; use one of them, such as ERM",
        ),
        (["test", "--model", "DRU", *SMALL], "--run.*--ckpt_path"),
        (["validate", "--model", "DRU", *SMALL], "--ckpt_path"),
        (["predict", "--model", "DRU", *SMALL], "--ckpt_path"),
        (["test", "--run", "nowhere"], "nowhere"),
        (["test", "--model", "DRU", *SMALL, "--ckpt_path", "nowhere.ckpt"], "no checkpoint nowhere.ckpt"),
        (["test", "--ckpt_path", "nowhere.ckpt"], "no checkpoint nowhere.ckpt"),
    ],
)
def test_input_that_cannot_be_used_is_answered_in_one_sentence(refused, tmp_path, words, said):
    assert re.search(said, refused(*words))
    assert not list(tmp_path.rglob("*")), "a run that cannot start leaves nothing"


def test_known_classes_are_those_that_can_be_used(refused):
    said = refused("fit", "--model", "DRU", "--data", "Nothing")
    assert {"Shortcut", "Synthetic", "Table"} <= set(re.findall(r"\w+", said))
    assert "Generated" not in said


@pytest.mark.parametrize(
    ("callback", "key", "said"),
    [
        ("ModelCheckpoint", "test_worst", "'test_worst'.*'val_worst'"),
        ("EarlyStopping", "id_test_qdcg10", "'id_test_qdcg10'.*'id_val_qdcg10'"),
    ],
)
def test_monitored_key_that_must_not_or_cannot_be_is_refused(refused, tmp_path, callback, key, said):
    assert re.search(said, refused(*FIT, "--trainer.callbacks", callback, "--trainer.callbacks.monitor", key))
    assert not list(tmp_path.rglob("*.ckpt"))


@pytest.mark.parametrize("callback", ["ModelCheckpoint", "EarlyStopping"])
def test_a_monitored_key_that_is_never_logged_is_told_its_likely_name(refused, callback):
    with pytest.warns(UserWarning, match="'val_wrost' is monitored and was never logged; did you mean 'val_worst'"):
        refused(*FIT, "--trainer.callbacks", callback, "--trainer.callbacks.monitor", "val_wrost")


@pytest.mark.parametrize("pattern", ["{step}", "{epoch},{step}", "{epoch}-{step}", "{val_worst:.2f}", "best"])
def test_a_pattern_in_braces_is_text(printed, pattern):
    words = ["--trainer.callbacks", "ModelCheckpoint", "--trainer.callbacks.filename", pattern, "--print_config"]
    (callback,) = yaml.safe_load(printed(*FIT, *words))["trainer"]["callbacks"]
    assert callback["init_args"]["filename"] == pattern


def test_monitored_criterion_of_any_number_is_logged(fit):
    early = ["--trainer.callbacks", "EarlyStopping", "--trainer.callbacks.monitor", "val_gdcg33"]
    folder = fit("runs", *early, "--trainer.callbacks.mode", "min", epochs=1)
    assert "val_gdcg33" in read_csv(folder / "metrics.csv")[0]


def test_run_whose_loss_is_nan_ends_with_a_sentence(refused):
    said = refused(*FIT, "--model.optimizer", "SGD", "--model.optimizer.lr", "1e30", "--trainer.max_epochs", "3")
    assert re.search("nan or inf.*epoch [01]", said)


def test_file_that_is_no_checkpoint_is_refused(refused):
    Path("table.csv").write_text("a,b\n1,2\n")
    assert "table.csv" in refused("test", "--model", "DRU", *SMALL, "--ckpt_path", "table.csv")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "ERM", *SMALL], "made with .*DRU.*not .*ERM"),
        (["--data.seed", "4"], "other training data"),
        (["--data.groups", "[5,4,4]"], "other training data.*60 rows, now 50"),
        (["--model.network.hidden", "4"], "hidden=128.*hidden=4"),
    ],
)
def test_fit_does_not_go_on_from_a_checkpoint_of_something_else(refused, copied, words, said):
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    sentence = refused("fit", "--ckpt_path", copied / "checkpoints/last.ckpt", "--trainer.max_epochs", "5", *words)
    assert re.search(said, sentence)
    after = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    assert {path.name for path in before | after if before.get(path) != after.get(path)} == set()
