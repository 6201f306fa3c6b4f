"""Deep feature reweighting: ERM, then a last layer that is fitted anew on rows balanced by group."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import torch
from lightning.pytorch.utilities.rank_zero import rank_zero_info
from torch import Tensor

from drurank.data.dataset import InMemory
from drurank.data.loading import TrainingPass, evaluation_loader
from drurank.data.orders import subsample
from drurank.errors import InputError, check_choice, check_number, is_count
from drurank.methods.erm import ERM
from drurank.processes import rank_and_world
from drurank.training import loader_checks, method_checks
from drurank.training.contract import checked_batch
from drurank.training.global_batch import gather_rows
from drurank.training.last_layer import check_subsets, mean_coefficients
from drurank.training.resume import waits_for_its_end
from drurank.training.roll import needed

MOST_SUBSETS = 1000
Penalty = Literal["l1", "l2"]
Fittable = Literal["train", "id_val"]


class DFR(ERM):
    r"""Deep feature reweighting: trains ERM, then fits the last layer anew on rows balanced by group.

    After the last batch of the last epoch, before that epoch's validation, a logistic regression on standardised
    ``network.features(x)`` is fitted to each of several random subsets that hold as many rows of every group as the
    smallest has, and the mean of their coefficients becomes ``network.head``. Only that epoch can be chosen as best, so
    nothing ends the run early. The network must have ``features``, which is ``forward`` without the last layer, and
    ``head``, that layer, an ``nn.Linear``. A class that no subset holds is never predicted. (Kirichenko, Izmailov,
    Wilson: Last Layer Re-Training is Sufficient for Robustness to Spurious Correlations, 2023. There the penalty is
    ``l1`` and its strength is chosen on half of the rows.)

    Args:
        split: the split whose rows are used: ``train``, or ``id_val`` beside another validation split to choose by; the
            criteria ``id_val_*`` then say nothing, as it was trained on. Only that split needs groups.
        subsets: number of balanced subsets, 1 or more.
        penalty: on the coefficients; ``l2``, or the paper's ``l1``, which takes ten times as long where rows are many.
        inverse_strength: how weak the penalty is, above 0 (``C`` of scikit-learn).
        **kwargs: those of ``GroupModule``.

    Raises:
        InputError: if an option is out of range.
    """

    without_groups = "give split='id_val', if that has groups"
    one_group_a_row = True
    chooses_late = True
    fit_checks = (
        method_checks.weights_can_be_replaced,
        method_checks.last_epoch_is_known,
        method_checks.fitted_split_chooses_nothing,
    )
    begun_checks = (method_checks.last_layer_is_unfitted,)

    def __init__(
        self,
        split: Fittable = "train",
        subsets: int = 10,
        penalty: Penalty = "l2",
        inverse_strength: float = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_choice("split", split, Fittable)
        check_choice("penalty", penalty, Penalty)
        if not is_count(subsets) or subsets > MOST_SUBSETS:
            raise InputError(f"subsets is {subsets!r}; give a whole number from 1 to {MOST_SUBSETS}")
        check_number("inverse_strength", inverse_strength, above=True)
        self.split, self.subsets, self.penalty, self.inverse_strength = split, subsets, penalty, inverse_strength
        self.needs_groups = split == "train"

    @property
    def _owner(self) -> Any:
        """What has ``features`` and ``head``: the network, or a rebased module itself."""
        return self if self.forwards_itself else self.network

    @property
    def selectable(self) -> bool:
        """Only once the last layer is fitted anew."""
        return bool(self.state.get("refitted", False))

    def first_state(self) -> dict[str, Tensor]:
        """Also whether the last layer was fitted anew."""
        return {**super().first_state(), "refitted": torch.tensor(False)}

    @needed
    def on_fit_start(self) -> None:
        """Also refuse a network without a last layer to fit."""
        method_checks.check_last_layer(
            self._owner, [value for _, value in self.named_parameters(remove_duplicate=False)]
        )
        super().on_fit_start()

    @needed
    def on_train_start(self) -> None:
        """Also refuse rows and networks from which no last layer can be fitted."""
        super().on_train_start()
        source = self._source()
        self._check_head(source)
        dataset = source.dataset.dataset
        if isinstance(dataset, InMemory):  # where labels are at hand, rather than after days of training
            rows, places = self._draw(source.dataset.group)
            check_subsets(dataset.label[rows].numpy(), places)
        if waits_for_its_end(self.trainer) and not self.selectable:
            self._fit_after_last_batch()

    @needed
    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Fit the last layer where this was the last batch of all."""
        super().on_train_batch_end(outputs, batch, batch_idx)
        if self.trainer.is_last_batch and not self.searching:
            self._fit_after_last_batch()

    def _fit_after_last_batch(self) -> None:
        if self.current_epoch + 1 == self.trainer.max_epochs:
            self._fit_head()
            self.state["refitted"] = torch.tensor(True)

    def _check_head(self, source: TrainingPass) -> None:
        """Refuse a network whose scores are not those of ``head`` on ``features``."""
        network: Any = self._owner
        batch = self._move(source[list(range(min(len(source), 2)))])
        with self._evaluating():
            features, scores = self._features_of(batch["inputs"]), self.logits_of(batch["inputs"])
            same = features.ndim == 2 and torch.allclose(network.head(features), scores)
        if not same:
            raise InputError(
                "DFR needs a network whose scores are head(features(x)), with features [B, d]; those of "
                f"{type(network).__name__} are not"
            )

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        network: Any = self._owner
        training = network.training
        network.eval()
        with torch.no_grad(), self.trainer.precision_plugin.forward_context():
            yield
        network.train(training)

    def _move(self, batch: Any) -> Any:
        trainer: Any = self.trainer
        moved = trainer.precision_plugin.convert_input(trainer.strategy.batch_to_device(batch))
        return checked_batch(self.unpack(moved))

    def _features_of(self, inputs: Any) -> Tensor:
        network: Any = self._owner
        features: Tensor = network.features(**inputs) if isinstance(inputs, dict) else network.features(inputs)
        return features

    def _fit_head(self) -> None:
        source = self._source()
        rows, places = self._draw(source.dataset.group)
        rank_zero_info(f"DFR: last layer from {self.subsets} subsets of {places.shape[1]:,} rows of {self.split}")
        features, label = self._features(source, rows)
        if not np.isfinite(features).all():
            raise InputError("the network's features became nan or inf; lower the learning rate, or clip gradients")
        check_subsets(label, places)  # on every process, since the others would wait for the one that fits
        head: Any = self._owner.head
        fitted = None
        if rank_and_world()[0] == 0:
            fitted = mean_coefficients(
                features,
                label,
                places,
                num_classes=max(head.out_features, 2),
                penalty=self.penalty,
                inverse_strength=self.inverse_strength,
            )
        trainer: Any = self.trainer
        weight, bias = trainer.strategy.broadcast(fitted)
        if head.out_features == 1:
            weight, bias = weight[1:] - weight[:1], bias[1:] - bias[:1]
        with torch.no_grad():
            head.weight.copy_(torch.from_numpy(weight))
            head.bias.copy_(torch.from_numpy(bias))

    def _source(self) -> TrainingPass:
        """The rows to fit, and how batches of them are made."""
        trainer: Any = self.trainer
        if self.split == "train":
            return evaluation_loader(trainer.train_dataloader).dataset  # type: ignore[return-value]
        rows = trainer.datamodule.dataset(self.split)
        loader_checks.check_groups(rows, "DFR", self.without_groups)
        return TrainingPass(rows)

    def _draw(self, group: Tensor) -> tuple[Tensor, np.ndarray]:
        """Rows that are in any subset, ``[k]``, and the places in them of each subset's rows, ``[subsets, ...]``."""
        seed = int(os.environ.get("PL_GLOBAL_SEED", 0))
        generator = torch.Generator().manual_seed(seed)
        drawn = torch.stack([subsample(group, generator) for _ in range(self.subsets)])
        rows, places = torch.unique(drawn, return_inverse=True)
        return rows, places.numpy()

    def _features(self, source: TrainingPass, rows: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """Features and label of the rows, each process reading its share."""
        rank, world = rank_and_world()
        size = getattr(self.trainer.datamodule, "eval_batch_size", 64)  # type: ignore[attr-defined]
        found, labels = [], []
        with self._evaluating():
            for some in torch.split(rows[rank::world], size):
                batch = self._move(source[some.tolist()])
                found.append(self._features_of(batch["inputs"]).float().T)
                labels.append(batch["label"])
        features = gather_rows(torch.cat(found, dim=1), fill=0.0).T[: len(rows)]
        label = gather_rows(torch.cat(labels), fill=0)[: len(rows)]
        return features.cpu().double().numpy(), label.cpu().numpy()
