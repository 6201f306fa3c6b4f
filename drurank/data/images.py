"""Pictures with a label, a group and a split by row."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from lightning.pytorch.utilities.rank_zero import rank_zero_warn

from drurank.data.encoding import trained_names
from drurank.data.image_encoder import ImageEncoder
from drurank.data.image_rows import ImageRows, PictureFeatures
from drurank.data.options import TablePath
from drurank.data.picture_table import Broken, PictureTable
from drurank.data.standards import Standards
from drurank.data.state_checks import MOST_PIXELS, check_pictures
from drurank.errors import InputError, check_choice, check_count
from drurank.images.augmenting import NONE, Augmentation, check_augment
from drurank.images.backbones import HUB
from drurank.images.features import embed_pictures
from drurank.images.pictures import Check
from drurank.images.pixels import Decoded, Pixels, decode_once
from drurank.networks import Sizes
from drurank.tabular.columns import Column
from drurank.tabular.columns import Names as ColumnNames
from drurank.tabular.feature import Feature
from drurank.tabular.rows import GroupedRows
from drurank.words import as_names

WIDER = 8 / 7
"""A picture's shorter side before its middle is cut out, as a multiple of what is cut out: 256 for 224."""


class Images(PictureTable):
    """Pictures with a label, a group and a split by row: a table with their file names, or a folder of folders.

    The table is a file as of ``Table``. Its column of pictures holds paths below ``root``, or the pictures themselves,
    as in Parquet files and data sets of the library ``datasets``. All formats that Pillow reads are taken. Pictures are
    turned as their EXIF orientation says, transparent parts lie on white, 16-bit greys are scaled to 8 bits, and grey
    becomes three channels. The shorter side is then resized, and the middle cut out.

    All files are opened before training, in parallel, so that one that is missing or broken is found then.

    Args:
        path: the table: the file or folder, several files by commas or a pattern, or in Python a table in memory (see
            ``FileData``); or a folder of folders of pictures, as ``train/cat/1.jpg`` (see ``levels``).
        label: column of the label; text or whole numbers.
        group: column of the group, as the place, or several (with commas), whose combinations are the groups. Without
            any, only the criterion ``overall`` is offered.
        split: column of the split; its values are train, ood_val, id_val, val, ood_test, id_test and test, or what
            ``split_names`` says, as {0: train, 1: ood_val, 2: ood_test}. Without it all rows are for testing.
        image: column of the pictures.
        root: folder that the paths are relative to, and within which all of them lie, though links there may lead
            elsewhere; that of the table, if not given.
        levels: of a folder of folders, what the folders on the way to a picture say, the outermost first (with
            commas), as split,label: names of columns for the options above; label, if not given.
        size: side of the square that the network sees, in pixels.
        resize: length that the shorter side of a picture gets before its middle is cut out, in pixels; 8/7 of ``size``,
            if not given, so 256 for 224.
        augment: how training pictures change from epoch to epoch. ``none``; ``light``: a square cut out at random, and
            flipped left to right in half of the cases; ``standard``: 70 to 100 % of the area cut out, resized and
            flipped; or transforms of torchvision.transforms.v2 in their order, as [{RandomCrop: {size: 224}}]. The
            changes depend on the seed, the epoch and the row alone.
        check: what is read of each picture before training: ``heads`` (quick) or ``whole`` pictures. Where they are
            decoded into a cache, whole ones are.
        broken: ``error`` stops at a picture that is missing or broken; ``drop`` leaves such rows out and reports how
            many.
        frozen: whether a backbone stays as it is: its features of each picture are then computed once and kept, and the
            network learns from these, standardised by the training rows, as from numbers (``MLP``).
        backbone: with ``frozen``, the network that makes the features, as timm calls it (resnet50), or
            torchvision/resnet50; resnet50, if not given.
        weights: with ``frozen``, its weights: hub (from the local cache or the hub), none, or a file; hub, if not
            given.
        cache_dir: folder of decoded pictures: these are decoded once, and later epochs, other methods, seeds and
            processes read them from there, which takes ``3 * resize**2`` bytes a picture. If not given, each epoch
            decodes, and with ``frozen`` the features are kept in the user's folder for caches.
        **kwargs: those of ``FileData``.

    Raises:
        InputError: if an option is not one of these; bad data stops a run as it starts.
    """

    def __init__(
        self,
        path: TablePath,
        label: str = "label",
        group: ColumnNames = None,
        split: str | None = None,
        image: str = "image",
        root: str | None = None,
        levels: ColumnNames = None,
        size: int = 224,
        resize: int | None = None,
        augment: str | list[dict[str, Any]] = NONE,
        check: Check = "heads",
        broken: Broken = "error",
        frozen: bool = False,
        backbone: str | None = None,
        weights: str | None = None,
        cache_dir: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(path, label, group, split, **kwargs)
        if image in (label, split, *self.group):
            raise InputError(f"image is {image!r}, and so is the label, the group or the split; name another column")
        check_count("size", size, ", as 224")
        if size > MOST_PIXELS:
            raise InputError(f"size is {size}; give {MOST_PIXELS} at most, as 224")
        resize = min(round(size * WIDER), MOST_PIXELS) if resize is None else resize
        if not size <= resize <= MOST_PIXELS:
            raise InputError(f"resize is {resize} and size {size}; give {size} or more, and at most {MOST_PIXELS}")
        check_augment(augment)
        check_choice("check", check, Check)
        check_choice("broken", broken, Broken)
        for name, value in (("root", root), ("cache_dir", cache_dir)):
            if value is not None and not value.strip():
                raise InputError(f"{name} is {value!r}; give a folder, or leave it out")
        for name, value in (("backbone", backbone), ("weights", weights)):
            if value is not None and not frozen:
                raise InputError(
                    f"{name} is {value!r} and frozen is False, so it has no effect; give it to the network"
                )
        if frozen and augment != NONE:
            raise InputError(f"augment is {augment!r} and the features are computed once; leave it out, or frozen")
        self.image, self.root, self.levels = image, root, as_names(levels)
        self.size, self.resize, self.augment = size, resize, augment
        self.check, self.broken, self.cache_dir = check, broken, cache_dir
        self.backbone: str | None = (backbone or "resnet50") if frozen else None
        self.weights: str | None = (weights or HUB) if frozen else None

    @property
    def named_columns(self) -> list[str]:
        """Columns that the options name."""
        return [*super().named_columns, self.image]

    @property
    def sizes(self) -> Sizes:
        """Pixels or features, and classes."""
        encoder = self.encoder
        if encoder.backbone:
            return Sizes(len(encoder.mean), len(encoder.label_names))
        return Sizes(0, len(encoder.label_names), image_size=encoder.size)

    def make_rows(self, data: GroupedRows, rows: np.ndarray, where: str) -> ImageRows | PictureFeatures:
        """Pixels or features, and labels, of the rows at these places."""
        encoder, label = self.encoder, self.encoder.label(data, rows)
        marks = torch.from_numpy(self._pictures.marks(rows))
        if encoder.backbone:
            features = encoder.standardised(self._features[0][np.searchsorted(self._used, rows)])
            return PictureFeatures(torch.from_numpy(features), label, marks, self._decoded, rows)
        changes = self.augment != NONE and self._stage() in (None, "fit")  # of which only a training epoch has any
        return ImageRows(self._pixels, rows, label, marks, encoder.size, self._augmentation if changes else None)

    def fit_encoder(self, data: GroupedRows) -> ImageEncoder:
        """Note the labels and groups of the training rows, and how pictures are cut."""
        standards, weights = Standards([], []), ""
        if self.backbone is not None:
            features, weights = self._features
            standards = Standards.of(features, np.searchsorted(self._used, data.learnt))
        label_names, group_names = trained_names(data)
        return ImageEncoder(
            label_names=label_names,
            group_names=group_names,
            **vars(standards),
            size=self.size,
            resize=self.resize,
            augment=self.augment,
            backbone=self.backbone or "",
            weights=weights,
        )

    @classmethod
    def check_state(cls, of: str, state: Any, key: str) -> None:
        """As of all data that is encoded."""
        check_pictures(of, state, key)

    def read_encoder(self, state: dict[str, Any]) -> ImageEncoder:
        """What a checkpoint kept."""
        encoder = ImageEncoder(**state)
        for name, value in (("size", self.size), ("resize", self.resize), ("backbone", self.backbone or "")):
            if getattr(encoder, name) != value:
                rank_zero_warn(
                    f"{name}={value} has no effect: pictures are read as in training, with "
                    f"{name}={getattr(encoder, name)}"
                )
        self.size, self.resize, self.backbone = encoder.size, encoder.resize, encoder.backbone or None
        self.weights = (self.weights or HUB) if self.backbone else None
        for name in ("_pixels", "_features", "_used", "_augmentation"):
            self.__dict__.pop(name, None)
        return encoder

    def raw_rows(self) -> GroupedRows:
        """Label, group, split and pictures as they stand in the file, nothing refused."""
        return replace(self._gather(texts=[self.image]), texts_are="pictures")

    def inspected_rows(self) -> GroupedRows:
        """The rows with a look at each whole picture; two with the same content are the same."""
        data = self.raw_rows()
        looks = self._pictures.looks(np.arange(len(data.split)), self.path)
        content = pa.chunked_array([[look.digest or str(row) for row, look in enumerate(looks)]])
        same = Column(self.path, self.image, content, files=self._source.several)
        return replace(
            data,
            texts=[Feature(same, is_number=False)],
            pictures=data.texts[0].column,
            looks=looks,
            side=self.resize,
            missing="error" if self.broken == "error" else "drop",
        )

    def facts(self) -> dict[str, Any]:
        """What a report says of the pictures: how they are cut, and how many rows were left out, being broken."""
        encoder = self.encoder
        broken = sum(map(bool, self._looked.values()))
        return {"pictures": {"size": encoder.size, "resize": encoder.resize, "broken": broken}}

    @cached_property
    def _used(self) -> np.ndarray:
        """Rows whose pictures are cached, int64 ``[k]``, ascending."""
        return np.sort(np.concatenate([np.zeros(0, np.int64), *self._index.values()]))

    @cached_property
    def _augmentation(self) -> Augmentation:
        """What changes training pictures, tried out once."""
        return Augmentation(self.augment, self.encoder.size, self.encoder.resize)

    @property
    def _decodes_once(self) -> bool:
        return self.cache_dir is not None or self.backbone is not None

    @property
    def _decoded(self) -> Decoded:
        return Decoded(self._pictures, self.resize, self._name_of)

    @cached_property
    def _pixels(self) -> Pixels:
        if self.cache_dir is None:
            return self._decoded
        return decode_once(self._decoded, self._used, self.cache_dir, self.path)

    @cached_property
    def _features(self) -> tuple[np.ndarray, str]:
        """Of the rows that are used, float32 ``[k, d]``, and a digest of the backbone's weights.

        Raises:
            InputError: if training had those of another backbone, which mean something else.
        """
        assert self.backbone is not None
        assert self.weights is not None
        features, weights = embed_pictures(
            self._decoded,
            self._used,
            backbone=self.backbone,
            weights=self.weights,
            size=self.size,
            cache_dir=self.cache_dir,
            source=self.path,
        )
        if self._encoder is not None and weights != self._encoder.weights:
            raise InputError(
                f"the checkpoint was trained on features of other weights of {self.backbone} than {self.weights}; give "
                "those as weights=..."
            )
        return features, weights
