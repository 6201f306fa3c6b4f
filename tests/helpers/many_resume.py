"""Runs of several processes that go on from the file of an epoch, beside the run that was not stopped."""

import torch
from lightning.pytorch import Callback, seed_everything
from lightning.pytorch.callbacks import ModelCheckpoint

from drurank.methods import DRU, JTT, GroupDRO
from many_data import GLOBAL_BATCH, Deeper, Watch, python_trainer
from many_methods import GROUP, data

EPOCHS = 4
METHODS = {
    "DRU": (DRU, [2]),
    "JTT": (lambda **k: JTT(first_stage_epochs=2, **k), [1, 2, 3]),  # in the first stage, at its end, in the second
    "GroupDRO": (lambda **k: GroupDRO(step_size=0.3, **k), [2]),
    "DRU of training": (lambda **k: DRU(accuracy_from="training", **k), [2]),
    "DRU before the reweighting": (lambda **k: DRU(accuracy_from="training", **k), [2]),
    "DRU before the evaluation": (DRU, [1, 3]),
    "DRU within the evaluation": (DRU, [2]),
}


def at_the_end(folder, **options):
    return ModelCheckpoint(folder, "{epoch}", save_top_k=-1, **options)


class SaveWithin(Callback):
    """Writes a file in the pass over the training set, after its first batch."""

    def __init__(self, folder):
        self.folder = folder

    def on_validation_batch_end(self, trainer, module, outputs, batch, batch_idx, dataloader_idx=0):
        if dataloader_idx == 1 and batch_idx == 0 and not trainer.sanity_checking:
            trainer.save_checkpoint(self.folder / f"epoch={trainer.current_epoch}.ckpt")


SAVERS = {
    "DRU before the reweighting": lambda folder: at_the_end(folder, save_on_train_epoch_end=False),
    "DRU before the evaluation": lambda folder: at_the_end(folder, every_n_train_steps=-(-len(GROUP) // GLOBAL_BATCH)),
    "DRU within the evaluation": SaveWithin,
}


def trained(devices, method, folder=None, file=None, make_saver=None):
    """Dropout, and an optimizer with a memory; a file at each epoch's end, where there is a folder."""
    seed_everything(1, verbose=False)
    watch = Watch()
    keep = [] if folder is None else [make_saver(folder)]
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
        straight = trained(devices, method, folder / name, make_saver=SAVERS.get(name, at_the_end))
        files = {stop: folder / name / f"epoch={stop - 1}.ckpt" for stop in stops}
        found[name] = straight, {stop: trained(devices, method, file=file) for stop, file in files.items()}
    return found
