"""DRU on pictures in several processes, which share one cache of them and change each row alike."""

from functools import partial

import torch
import torch.distributed as dist

from drurank.data import Images
from drurank.images import pixels
from drurank.methods import DRU
from drurank.networks import ConvNet
from drurank.processes import rank_and_world
from many_data import GLOBAL_BATCH, Watch, python_trainer
from painting import NAMES, write_pictures

TRAIN = 37  # the last global batch has a single row, so that a process has none
EPOCHS = 2


def of_images(devices, folder):
    """Batches, weights, criteria, parameters, and how many pictures this process decoded."""
    if rank_and_world()[0] == 0:
        table = write_pictures(folder / "of_images", splits={"train": TRAIN, "val": 25})
        lines = table.read_text(encoding="utf-8").splitlines()
        lines[1::5] = [line.replace(",red,", ",blue,") for line in lines[1::5]]  # labels that are hard to learn
        table.write_text("\n".join(lines), encoding="utf-8")
    if devices > 1:
        dist.barrier()  # those before have started the processes
    decoded, real = [], pixels.Decoded.square
    pixels.Decoded.square = lambda self, row: decoded.append(row) or real(self, row)
    data = Images(
        str(folder / "of_images/meta.csv"),
        **NAMES,
        size=16,
        augment="standard",
        batch_size=GLOBAL_BATCH // devices,
        cache_dir=str(folder / "cache"),
    )
    watch = Watch()
    torch.manual_seed(0)
    method = DRU(network=partial(ConvNet, channels=[4]), optimizer=lambda params: torch.optim.SGD(params, lr=0.05))
    python_trainer(devices, EPOCHS, callbacks=[watch]).fit(method, datamodule=data)
    pixels.Decoded.square = real
    parameters = {name: value.detach().clone() for name, value in method.network.named_parameters()}
    return {**watch.seen(), "parameters": parameters, "decoded": len(decoded)}
