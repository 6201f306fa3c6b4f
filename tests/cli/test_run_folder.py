"""The saved configuration of a run, damaged."""

import pytest
import torch

from drurank.cli.run_folder import with_config_of_run
from drurank.errors import InputError
from drurank.run_folder.checkpoint_io import read_checkpoint


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
