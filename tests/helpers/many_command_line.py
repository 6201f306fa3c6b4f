"""fit, test and predict by the command line in several processes, and a fit that goes on from its last epoch."""

from drurank.cli import main
from drurank.methods import DRU
from many_data import GLOBAL_BATCH, Watch
from runs import QUIET

EPOCHS = 3
ADAM = ["--model.optimizer", "AdamW", "--model.optimizer.lr", "0.01"]
ROWS = 25  # training and validation rows: the last global batch has a single one


class Watching(DRU):
    """DRU with a callback, which the command line takes no instance of."""

    seen_by = Watch()

    def configure_callbacks(self):
        return [*super().configure_callbacks(), self.seen_by]


def fit(devices, folder, epochs):
    Watching.seen_by = Watch()
    data = ["--data", "Shortcut", "--data.groups", "[5,5,3]", "--data.group_size", "5", "--data.agreement", "0.6"]
    method = ["--model", f"{__name__}.Watching", "--model.network", "MLP", "--model.network.dropout", "0"]
    where = ["--trainer.default_root_dir", str(folder), "--trainer.max_epochs", str(epochs), "--select", "worst,qdcg10"]
    parallel = ["--trainer.devices", str(devices)] + (["--trainer.strategy", "ddp"] if devices > 1 else [])
    size = ["--data.batch_size", str(GLOBAL_BATCH // devices)]
    main(["fit", *method, *data, *where, *size, *parallel, *ADAM, *QUIET])
    return Watching.seen_by.seen()


def command_line(devices, folder):
    """Leaves version_0, and with two processes stopped/version_0, which ended an epoch early and went on."""
    seen = fit(devices, folder, EPOCHS)
    main(["test", "--run", str(folder / "version_0"), *QUIET])
    main(["predict", "--ckpt_path", str(folder / "version_0/checkpoints/last.ckpt"), *QUIET])
    if devices == 2:
        fit(devices, folder / "stopped", EPOCHS - 1)
        last = str(folder / "stopped/version_0/checkpoints/last.ckpt")
        main(["fit", "--ckpt_path", last, "--trainer.max_epochs", str(EPOCHS), *QUIET])
    return seen
