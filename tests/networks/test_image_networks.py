"""Networks for pictures."""

import pytest
import torch
from torch import nn

from drurank.errors import InputError
from drurank.images.backbones import load_backbone
from drurank.networks import MLP, ConvNet, ImageClassifier, Sizes, TextClassifier

SIZES = Sizes(0, 3, image_size=32)
PIXELS = torch.randint(0, 256, (4, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def resnet(**options):
    torch.manual_seed(0)
    return ImageClassifier(SIZES, **{"backbone": "resnet10t", "weights": "none", **options})


def test_pixels_are_normalised_as_the_network_was_trained():
    network = resnet(mean=[0.1, 0.2, 0.3], std=[0.5, 1.0, 2.0]).eval()
    values = PIXELS.double() / 255
    by_hand = torch.stack([(values[:, c] - m) / s for c, (m, s) in enumerate([(0.1, 0.5), (0.2, 1), (0.3, 2)])], 1)
    with torch.no_grad():
        assert torch.allclose(network(PIXELS), network(by_hand.float()), atol=1e-5)
        assert torch.equal(network(PIXELS), network.head(network.features(PIXELS)))
    assert network(PIXELS).shape == (4, 3)


def test_its_own_numbers_are_those_of_the_weights():
    import timm

    config = timm.create_model("vit_tiny_patch16_224", num_classes=0, img_size=32).pretrained_cfg
    made = load_backbone("vit_tiny_patch16_224", "none", 32)
    assert made.mean == config["mean"] == (0.5, 0.5, 0.5)
    assert made.width == 192


def test_a_checkpoint_builds_it_again_without_file_or_hub():
    network = resnet(mean=[0.1, 0.2, 0.3])
    assert network.saved_arguments() == {"weights": "none", "mean": [0.1, 0.2, 0.3], "std": network._std}
    again = resnet(**network.saved_arguments())
    again.load_state_dict(network.state_dict())
    with torch.no_grad():
        assert torch.equal(again.eval()(PIXELS), network.eval()(PIXELS))


@pytest.mark.parametrize("ending", ["pth", "safetensors"])
@pytest.mark.parametrize("backbone", ["resnet10t", "torchvision/resnet18"])
def test_weights_come_from_a_file_without_its_last_layer(tmp_path, backbone, ending):
    from safetensors.torch import save_file

    source = load_backbone(backbone, "none", 32).module
    state = {**source.state_dict(), "fc.weight": torch.zeros(7, 512), "fc.bias": torch.zeros(7)}
    file = tmp_path / f"w.{ending}"
    if ending == "pth":
        torch.save({"state_dict": {f"module.{key}": value for key, value in state.items()}, "epoch": 3}, file)
    else:
        save_file(state, file)
    loaded = load_backbone(backbone, str(file), 32).module
    for name, tensor in source.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name


@pytest.mark.parametrize("backbone", ["vgg11", "densenet121", "mobilenet_v3_small", "convnext_tiny", "vit_b_32"])
def test_the_last_layer_of_torchvisions_networks_is_ours(backbone):
    size = 64 if backbone != "vit_b_32" else 224
    network = ImageClassifier(Sizes(0, 3, image_size=size), f"torchvision/{backbone}", weights="none").eval()
    with torch.no_grad():
        assert network(torch.zeros(2, 3, size, size, dtype=torch.uint8)).shape == (2, 3)


@pytest.mark.parametrize("backbone", ["mobilenetv3_small_050", "lcnet_050", "ghostnet_100"])
def test_features_are_counted_where_a_network_counts_others(backbone):
    network = ImageClassifier(SIZES, backbone, weights="none").eval()
    with torch.no_grad():
        assert network.features(PIXELS).shape == (4, network.head.in_features)


@pytest.mark.parametrize("freeze", ["none", "norm", "backbone"])
def test_what_is_frozen_stays(freeze):
    network = resnet(freeze=freeze)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    step = torch.optim.SGD(network.parameter_groups(), lr=0.1)
    network.train()
    network(PIXELS).sum().backward()
    step.step()
    changed = {name for name, tensor in network.state_dict().items() if not torch.equal(tensor, before[name])}
    norms = {
        f"{path}.{name}"
        for path, part in network.named_modules()
        if isinstance(part, nn.BatchNorm2d)
        for name in part.state_dict()
    }
    assert {"head.bias"} <= changed
    if freeze == "none":
        assert changed & norms
    if freeze == "norm":
        assert not changed & norms
        assert {name for name in changed if name.startswith("backbone.conv1")}
    if freeze == "backbone":
        assert not {name for name in changed if name.startswith("backbone.")}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ImageClassifier(Sizes(5, 2)), "ImageClassifier takes pictures and the data gives something else"),
        (lambda: ConvNet(Sizes(5, 2)), "ConvNet takes pictures"),
        (lambda: MLP(SIZES), "the data gives pictures and MLP takes numbers; give network=ImageClassifier"),
        (lambda: TextClassifier(SIZES), "TextClassifier takes tokens of texts"),
        (lambda: ConvNet(SIZES, [8] * 6), "each layer halves"),
        (lambda: ConvNet(SIZES, []), "channels is"),
        (lambda: ConvNet(SIZES, [8, 0]), "channels is 0"),
        (lambda: resnet(backbone="resnet5000"), "timm has no network 'resnet5000'; did you mean 'resnet50"),
        (lambda: resnet(backbone="torchvision/resnet500"), "torchvision has no classifier 'resnet500'"),
        (lambda: resnet(backbone="torchvision/inception_v3"), "has no single last layer"),
        (lambda: resnet(weights="nowhere.pth"), "weights is 'nowhere.pth', and there is no such file"),
        (lambda: resnet(mean=[0.5]), "give three numbers, one a channel"),
        (lambda: resnet(std=[0.5, 0.0, 1.0]), "std is"),
        (lambda: resnet(freeze="all"), "freeze is 'all'"),
        (lambda: resnet(dropout=1.0), "dropout is 1.0"),
    ],
)
def test_what_does_not_fit_is_said(make, said):
    with pytest.raises(InputError) as refused:
        make()
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no weights", "cannot be read as weights"),
        ({"conv1.weight": 3}, "holds no dict of weights by name"),
        ({}, "holds no dict of weights by name"),
        ({"conv1.weight": torch.zeros(1)}, "lacks"),
        ("shape", "has the shape [1]"),
    ],
)
def test_files_that_hold_other_weights_are_refused(tmp_path, content, said):
    file = tmp_path / "w.pth"
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content == "shape":
        state = load_backbone("resnet10t", "none", 32).module.state_dict()
        torch.save({**state, "bn1.weight": torch.zeros(1)}, file)
    else:
        torch.save(content, file)
    with pytest.raises(InputError) as refused:
        load_backbone("resnet10t", str(file), 32)
    assert said in str(refused.value)


def test_a_file_that_would_run_code_is_refused(tmp_path):
    import pickle

    class Runs:
        def __reduce__(self):
            return print, ("run",)

    (tmp_path / "w.pth").write_bytes(pickle.dumps({"conv1.weight": Runs()}))
    with pytest.raises(InputError, match="cannot be read as weights"):
        load_backbone("resnet10t", str(tmp_path / "w.pth"), 32)


def test_conv_net_scales_pixels_to_minus_one_and_one():
    torch.manual_seed(0)
    network = ConvNet(SIZES, [8, 4])
    with torch.no_grad():
        assert torch.allclose(network(PIXELS), network(PIXELS.float() / 127.5 - 1))
    assert network.features(PIXELS).shape == (4, 4)
