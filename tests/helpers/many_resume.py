"""Runs of several processes that go on from the file of an epoch's end, beside the run that was not stopped."""

import torch
from lightning.pytorch import seed_everything
from lightning.pytorch.callbacks import ModelCheckpoint

from drurank.methods import DRU, JTT, GroupDRO
from many_data import Deeper, Watch, python_trainer
from many_methods import data

EPOCHS = 4
METHODS = {
    "DRU": (DRU, [2]),
    "JTT": (lambda **k: JTT(first_stage_epochs=2, **k), [1, 2, 3]),  # in the first stage, at its end, in the second
    "GroupDRO": (lambda **k: GroupDRO(step_size=0.3, **k), [2]),
    "DRU of training": (lambda **k: DRU(accuracy_from="training", **k), [2]),
    "DRU before the reweighting": (lambda **k: DRU(accuracy_from="training", **k), [2]),
}


def trained(devices, method, folder=None, file=None, **save):
    """Dropout, and an optimizer with a memory; a file at each epoch's end, where there is a folder."""
    seed_everything(1, verbose=False)
    watch = Watch()
    keep = [] if folder is None else [ModelCheckpoint(folder, "{epoch}", save_top_k=-1, **save)]
    trainer = python_trainer(devices, EPOCHS, callbacks=[watch, *keep], enable_checkpointing=bool(keep))
    module = method(network=Deeper(dropout=0.3), optimizer=lambda params: torch.optim.Adam(params, lr=0.05))
    trainer.fit(module, datamodule=data(devices, "auto"), ckpt_path=file)
    moments = trainer.optimizers[0].state_dict()["state"]
    return {
        **{name: seen[-1] for name, seen in watch.seen().items() if name != "best"},
        "parameters": {name: value.detach().clone() for name, value in module.network.named_parameters()},
        "moments": {
            number: {name: value.clone() for name, value in state.items()} for number, state in moments.items()
        },
        "state": {name: value.nan_to_num(-1) for name, value in module.state.items()},
        "correct": module.record.correct,
        "epochs": len(watch.weights),
    }


def resumed(devices, folder):
    found = {}
    for name, (method, stops) in METHODS.items():
        save = {"save_on_train_epoch_end": False} if "before" in name else {}
        straight = trained(devices, method, folder / name, **save)
        files = {stop: folder / name / f"epoch={stop - 1}.ckpt" for stop in stops}
        found[name] = straight, {stop: trained(devices, method, file=file) for stop, file in files.items()}
    return found
