"""Data whose labels, groups and features are encoded by its training rows; checkpoints keep how."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from drurank.data.encoding import Names
from drurank.data.module import GroupDataModule
from drurank.data.state_checks import check_names
from drurank.errors import InputError
from drurank.run_folder.checkpoint_checks import KEY, REMEDY
from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules import refuse


def saved_state(data: type, checkpoint: Mapping[str, Any], file: str | Path) -> dict[str, Any] | None:
    """What a checkpoint holds of data of this class or of its kin, which saves the same: WILDS is Text.

    Args:
        data: class of the data.
        checkpoint: the whole of it.
        file: where it was read from.

    Raises:
        InputError: if that is damaged, or the network has another number of classes.
    """
    family = [data, *data.__mro__[1:], *data.__subclasses__()]
    kin = [cls.__qualname__ for cls in family if issubclass(cls, GroupDataModule) and not inspect.isabstract(cls)]
    key = next((name for name in kin if name in checkpoint), None)
    if key is None:
        return None
    state: dict[str, Any] = checkpoint[key]
    # Another one may take over something else.
    if issubclass(data, EncodedData) and data.load_state_dict is EncodedData.load_state_dict:
        data.check_state(str(file), state, key)
        sizes = checkpoint.get(KEY, {}).get("sizes") or {}
        labels, classes = len(state["label_names"]), sizes.get("num_classes")
        if isinstance(classes, int) and classes != labels:
            raise InputError(
                f"{file} is damaged: its {key}.label_names are {labels}, and the network's classes {classes}; {REMEDY}"
            )
    return state


class EncodedData(GroupDataModule):
    """Rows that are encoded as the training rows say, now or in the checkpoint of a fit.

    Args:
        path: what the rows are called in messages.
        **kwargs: those of ``GroupDataModule``.
    """

    required: ClassVar[str]
    """Its required arguments, as messages show them."""

    def __init__(self, path: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.path = path
        self._encoder: Any = None
        self._unlabelled: list[str] | None = None
        self._checked = False
        """Whether all rows were checked, as before a fit."""

    @property
    def label_names(self) -> list[str]:
        """Labels of training, as written."""
        return list(self.encoder.label_names)

    def splits(self) -> list[str]:
        """Splits that have rows.

        Raises:
            InputError: if they are to be evaluated and nothing says how training encoded them.
        """
        if self._stage() not in (None, "fit"):
            self.check_encoded()
        return list(self._index)

    def check_encoded(self) -> None:
        """Refuse to read other rows than a fit's where nothing says how training encoded them.

        Raises:
            InputError: saying what to give.
        """
        if self._encoder is None:
            kind = type(self).__name__
            raise InputError(
                f"{self.path}: no encoding of a {kind.lower()} came with the model; give a checkpoint that learnt from "
                f"one, as ckpt_path=..., or {kind}.load_from_checkpoint(<checkpoint>, {self.required})"
            )

    @abstractmethod
    def fit_encoder(self, data: GroupedRows) -> Names:
        """Fit on the training rows what is kept of them."""

    @abstractmethod
    def read_encoder(self, state: dict[str, Any]) -> Names:
        """What was fitted, from what its ``state_dict`` gave."""

    @property
    def encoder(self) -> Any:
        """That of the checkpoint, or else fitted on the training rows, after all rows are checked.

        Raises:
            InputError: if these cannot be learnt from.
        """
        if self._encoder is None:
            self._need("train")
            refuse(self._rows, "fit")
            self._checked = True
            self._encoder = self.fit_encoder(self._rows)
        return self._encoder

    @classmethod
    def check_state(cls, of: str, state: Any, key: str) -> None:
        """Refuse what ``state_dict`` cannot have given.

        Args:
            of: the checkpoint, as it is called in the sentence.
            state: what it keeps.
            key: under which.

        Raises:
            InputError: naming the first entry.
        """
        check_names(of, state, key)

    def state_dict(self) -> dict[str, Any]:
        """What was fitted on the training rows; it travels in checkpoints."""
        state: dict[str, Any] = self.encoder.state_dict()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what was fitted.

        Raises:
            InputError: if it is damaged, or training is to go on and these training rows give another encoding.
        """
        self.check_state("the checkpoint", state_dict, type(self).__qualname__)
        if self._stage() == "fit" and not self.encoder.agrees(state_dict):
            for name in self.encoder.fixed:
                before, now = state_dict[name], getattr(self.encoder, name)
                if before != now:
                    raise InputError(
                        f"the checkpoint was made with {name}={before!r}, and this run has {name}={now!r}; give the "
                        "same, or fit anew"
                    )
            raise InputError(
                f"the checkpoint was made with other training data or options than {self.path} now; give those, or fit "
                "anew"
            )
        if self._encoder is None or self._encoder.state_dict() != state_dict:
            self._encoder, self._checked, self._unlabelled = self.read_encoder(state_dict), False, None
            for name in ("_table", "_rows", "_index"):  # How cells are read, and which rows are used.
                self.__dict__.pop(name, None)
            self.forget_datasets()

    def unlabelled(self) -> list[str]:
        """Splits for testing of which no row has a label."""
        if self._unlabelled is None:
            self._unlabelled = self._rows.unlabelled
        return self._unlabelled

    @property
    @abstractmethod
    def _rows(self) -> GroupedRows:
        """The rows that are used; kept until what is known of training changes."""

    @cached_property
    def _index(self) -> dict[str, np.ndarray]:
        """Places in the table of the rows of each split that has some, int64 ``[k]``."""
        return {split: rows for split in self._rows.splits if len(rows := self._rows.rows_of(split))}

    def _stage(self) -> str | None:
        return None if self.trainer is None else self.trainer.state.fn

    def _predicts(self) -> bool:
        return self._stage() == "predict"
