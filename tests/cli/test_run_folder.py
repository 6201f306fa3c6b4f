"""The saved configuration of a run, damaged."""

import pytest
import torch

from drurank.cli.run_folder import with_config_of_run
from drurank.errors import InputError
from drurank.run_folder.checkpoint_io import read_checkpoint
from runs import SMALL


@pytest.mark.parametrize(
    "content",
    [
        *(
            "",
            "text",
            "[1, 2]",
            "[[trainer, {}]]",
            "trainer: [1]",
            "trainer: text",
            "trainer: 1",
            "model: 1",
            "model: [a]",
        ),
        *("data: 1", "data: null", "data: [a]", "a: [", "a: !!python/name:os.system x", "[" * 2000, "\x00", "1"),
    ],
)
def test_damaged_configuration_is_named(tmp_path, content):
    (tmp_path / "config.yaml").write_text(content)
    with pytest.raises(InputError, match=r"config\.yaml (is damaged|cannot be read)"):
        with_config_of_run(["test", "--run", str(tmp_path)])


def test_configuration_that_is_not_utf8_is_named(tmp_path):
    (tmp_path / "config.yaml").write_bytes(b"trainer: {}\n\xff")
    with pytest.raises(InputError, match=r"config\.yaml cannot be read"):
        with_config_of_run(["test", "--run", str(tmp_path)])


@pytest.mark.parametrize("content", [1, [], {}, {"drurank": None}, {"drurank": [1]}, {"drurank": "text"}])
def test_file_without_our_section_is_no_checkpoint(tmp_path, content):
    torch.save(content, tmp_path / "c.ckpt")
    with pytest.raises(InputError, match="is not a checkpoint of drurank"):
        read_checkpoint(tmp_path / "c.ckpt")


SAVED = ["fit", "test"]


@pytest.mark.parametrize("saved", ["config.yaml", "test/qdcg10/config.yaml"], ids=SAVED)
@pytest.mark.parametrize("command", ["validate", "test", "predict"])
def test_every_command_takes_the_configuration_that_another_saved(done, run, tmp_path, saved, command):
    config, checkpoint = done / saved, done / "checkpoints/worst.ckpt"
    assert "ckpt_path: null" in config.read_text()
    where = ["--trainer.default_root_dir", tmp_path]
    drop = ["--run", "null"] if saved.startswith("test") and command == "test" else []
    run(command, "--ckpt_path", checkpoint, "--config", config, *drop, *where)
    assert (tmp_path / "version_0").is_dir()


def test_a_run_is_predicted_and_validated_by_its_first_criterion(done, run, tmp_path, capsys):
    for command, words in (("predict", ["--output", tmp_path / "p.csv"]), ("validate", [])):
        capsys.readouterr()
        run(command, "--run", done, *words, "--trainer.default_root_dir", tmp_path / "runs")
        assert f"{done / 'checkpoints/qdcg10.ckpt'}: best by qdcg10 in epoch" in capsys.readouterr().out
        # A prediction leaves its output, and no folder of a run.
        assert (tmp_path / "runs").exists() == (command == "validate")
    run("predict", "--ckpt_path", done / "checkpoints/qdcg10.ckpt", "--output", tmp_path / "q.csv")
    assert (tmp_path / "p.csv").read_bytes() == (tmp_path / "q.csv").read_bytes()
    assert not list(done.rglob("predictions*"))


@pytest.mark.parametrize("command", ["validate", "test", "predict"])
@pytest.mark.parametrize(
    "words", [[], ["--run", "{run}", "--ckpt_path", "{run}/checkpoints/last.ckpt"]], ids=["", "both"]
)
def test_either_a_run_or_a_checkpoint_is_evaluated(done, refused, command, words):
    words = [word.format(run=done) for word in words] or ["--model", "DRU", *SMALL]
    said = refused(command, *words)
    assert said == (
        f"{command} needs trained weights; give either --run FOLDER, of a run that `fit` made, as --run "
        "runs/version_0, or --ckpt_path FILE"
    )


def test_a_model_beside_a_run_says_that_nothing_of_the_run_is_taken(done):
    for words in (["fit", "--ckpt_path", str(done / "checkpoints/last.ckpt")], ["test", "--run", str(done)]):
        with pytest.raises(
            InputError,
            match=r"with --model ERM lacks --data\. Leave --model out to take model and data of that run, or give",
        ):
            with_config_of_run([*words, "--model", "ERM"])
