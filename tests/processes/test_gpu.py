"""Only with a CUDA device; every other test runs on the CPU."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from lightning.pytorch import Callback

from drurank.data import Shortcut, Text
from drurank.methods import DFR, DRU, ERM, IRM, JTT, ChiSquare, Const, CVaR, GroupDRO, Worst
from drurank.networks import MLP, TextClassifier
from encoders import write_tiny
from fits import dru_weights
from reference import criteria

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
]
IN_BATCH = {
    "GroupDRO": GroupDRO,
    "GroupDRO sagawa": lambda **k: GroupDRO("sagawa", **k),
    "CVaR": CVaR,
    "ChiSquare": ChiSquare,
    "IRM": IRM,
}
METHODS = {
    "ERM": ERM,
    "qDRU+M": DRU,
    "gDRU+G": lambda **k: DRU("index", "all", **k),
    "Worst": Worst,
    "Const": Const,
    "JTT": JTT,
    "DFR": DFR,
    **IN_BATCH,
}


def data():
    return Shortcut(groups=[6, 4, 4], group_size=10, batch_size=16)


def network(sizes):
    return MLP(sizes, hidden=16, dropout=0.0)


@pytest.fixture
def on_gpu(trainer):
    return lambda **options: trainer(accelerator="gpu", devices=1, precision="bf16-mixed", **options)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_method_fits_in_mixed_precision_with_its_tables_on_the_device(on_gpu, method):
    run, module = on_gpu(max_epochs=2), method(network=network)
    run.fit(module, datamodule=data())
    (split,) = module.evaluation.splits
    right, count = split.criteria.counts()
    tables = {"correct": module.record.correct, "group": module.record.group, "weight": module.state["weight"]}
    counts = {"count": count, "right": right}
    for name, table in {**tables, **counts}.items():
        assert table.device.type == "cuda", name
    assert module.record.correct.dtype == torch.int8
    assert module.state["weight"].dtype == torch.float32
    assert count.dtype == torch.int64
    should = criteria(right.cpu(), count.cpu())
    for name, value in should.items():
        assert float(run.callback_metrics[f"val_{name}"]) == pytest.approx(value, rel=1e-5), name


@pytest.mark.parametrize("accuracy_from", ["evaluation", "training"])
def test_weights_are_those_of_numpy(on_gpu, accuracy_from):
    module = DRU(network=network, accuracy_from=accuracy_from)
    on_gpu(max_epochs=2).fit(module, datamodule=data())
    correct, group = module.record.correct.cpu().numpy(), module.record.group.cpu().numpy()
    np.testing.assert_allclose(module.state["weight"].cpu(), dru_weights(correct, group), rtol=1e-6)


def test_bookkeeping_takes_at_most_10_bytes_a_sample(on_gpu):
    module = DRU(network=network)
    on_gpu().fit(module, datamodule=data())
    tables = [value for value in vars(module.record).values() if isinstance(value, torch.Tensor)]
    tables += module.state.values()
    assert sum(table.numel() * table.element_size() for table in tables if table.is_cuda) <= 10 * 60


class NoWaiting(Callback):
    """From the second batch on, an operation that waits for the device is an error within the steps.

    The hooks around them are Lightning's: it switches the check off before it logs or moves a batch.
    """

    def __init__(self):
        self.steps = {"training": 0, "validation": 0}

    def _on(self, which, batch_idx):
        torch.cuda.synchronize()
        if batch_idx > 0:
            self.steps[which] += 1
            torch.cuda.set_sync_debug_mode("error")

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        self._on("training", batch_idx)

    def on_after_backward(self, trainer, module):
        torch.cuda.set_sync_debug_mode("default")

    def on_validation_batch_start(self, trainer, module, batch, batch_idx, dataloader_idx=0):
        self._on("validation", batch_idx)

    def on_validation_batch_end(self, *args, **kwargs):
        torch.cuda.set_sync_debug_mode("default")


@pytest.fixture
def default_sync_mode():
    yield
    torch.cuda.set_sync_debug_mode("default")


@pytest.mark.usefixtures("default_sync_mode")
@pytest.mark.parametrize("accuracy_from", ["evaluation", "training"])
def test_no_step_waits_for_the_device(on_gpu, accuracy_from):
    watch, module = NoWaiting(), DRU(network=network, accuracy_from=accuracy_from)
    run = on_gpu(callbacks=[watch], num_sanity_val_steps=0, log_every_n_steps=1000)
    run.fit(module, datamodule=data())
    # 60 training and 40 validation rows in batches of 16, the training set twice with accuracy_from="evaluation".
    assert watch.steps == {"training": 3, "validation": 2 + (3 if accuracy_from == "evaluation" else 0)}


@pytest.mark.usefixtures("default_sync_mode")
@pytest.mark.parametrize("method", IN_BATCH.values(), ids=IN_BATCH)
def test_no_step_of_a_method_that_looks_at_the_batch_waits_either(on_gpu, method):
    watch = NoWaiting()
    run = on_gpu(callbacks=[watch], num_sanity_val_steps=0, log_every_n_steps=1000)
    run.fit(method(network=network), datamodule=data())
    assert watch.steps == {"training": 3, "validation": 2}


def test_checkpoint_of_a_gpu_is_read_on_the_cpu(on_gpu, tmp_path):
    run, module = on_gpu(), DRU(network=MLP)
    run.fit(module, datamodule=data())
    run.save_checkpoint(tmp_path / "gpu.ckpt")
    saved = torch.load(tmp_path / "gpu.ckpt", weights_only=True)["drurank"]["training"]
    assert saved["state"]["weight"].device.type == "cpu"
    assert saved["record"]["correct"].device.type == "cpu"
    again = DRU.load_from_checkpoint(tmp_path / "gpu.ckpt", map_location="cpu")
    torch.testing.assert_close(again.network.head.weight, module.network.head.weight.cpu())


@pytest.fixture
def texts(tmp_path):
    rows = {"text": ["good", "bad " * 9, "fine a b"] * 20, "label": [1, 0, 1] * 20, "group": list("abcdef") * 10}
    pq.write_table(pa.table({**rows, "split": ["train"] * 42 + ["val"] * 18}), tmp_path / "t.parquet")
    where = {"tokenizer": str(write_tiny(tmp_path / "tiny")), "cache_dir": str(tmp_path / "cache")}
    return Text(str(tmp_path / "t.parquet"), "label", "group", "split", max_length=32, batch_size=7, **where)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_method_fine_tunes_in_mixed_precision(on_gpu, texts, method):
    run, module = on_gpu(max_epochs=2), method(network=TextClassifier)
    run.fit(module, datamodule=texts)
    assert {parameter.dtype for parameter in module.parameters()} == {torch.float32}
    assert all(parameter.isfinite().all() for parameter in module.parameters())


@pytest.mark.usefixtures("default_sync_mode")
def test_no_step_on_texts_waits_for_the_device(on_gpu, texts):
    watch, module = NoWaiting(), DRU(network=TextClassifier)
    on_gpu(callbacks=[watch], num_sanity_val_steps=0, log_every_n_steps=1000).fit(module, datamodule=texts)
    assert watch.steps == {"training": 5, "validation": 2 + 5}
