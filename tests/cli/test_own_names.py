"""Names of our classes are ours."""

import pytest
from torch import nn

import drurank.networks
from drurank.cli import main
from drurank.yaml_files import read_yaml


class MLP(nn.Module):
    """Another one of that name, as torchvision has one."""


@pytest.mark.parametrize("route", ["flag", "file"])
def test_a_name_that_another_package_has_too_is_ours(fit, tmp_path, route):
    assert MLP is not drurank.networks.MLP
    words = ["--model.network", "MLP", "--model.network.hidden", "5"]
    if route == "file":
        (tmp_path / "n.yaml").write_text(
            "model:\n  init_args:\n    network:\n      class_path: MLP\n      init_args: {hidden: 5}\n"
        )
        words = ["--config", "n.yaml"]
    made = fit(tmp_path / "runs", *words, epochs=1)
    network = read_yaml((made / "config.yaml").read_text(encoding="utf-8"))["model"]["init_args"]["network"]
    assert network["class_path"] == "drurank.networks.MLP"
    assert network["init_args"]["hidden"] == 5


def test_help_of_a_name_that_another_package_has_too_is_of_ours(capsys):
    with pytest.raises(SystemExit):
        main(["fit", "--model.help", "ERM", "--help"])
    with pytest.raises(SystemExit) as stop:
        main(["fit", "--model", "ERM", "--model.network.help", "MLP"])
    assert stop.value.code == 0
    assert "the defaults are the one of the paper" in " ".join(capsys.readouterr().out.split())
