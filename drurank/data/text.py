"""Texts with a label, a group and a split by row."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from lightning.pytorch.utilities.rank_zero import rank_zero_info, rank_zero_warn
from torch.utils.data import DataLoader

from drurank.data.dataset import Batch
from drurank.data.encoding import trained_names
from drurank.data.file import FileData
from drurank.data.options import TablePath
from drurank.data.standards import Standards
from drurank.data.state_checks import check_texts
from drurank.data.text_encoder import TextEncoder
from drurank.data.text_rows import FeatureRows, TextRows
from drurank.errors import InputError, check_choice, check_count
from drurank.networks import Sizes, TextClassifier
from drurank.tabular.columns import Names as ColumnNames
from drurank.tabular.rows import GroupedRows
from drurank.text.features import embed_tokens
from drurank.text.pooling import Pooling
from drurank.text.pretrained import DEFAULT, fingerprint_of, load_tokenizer
from drurank.text.tokens import Tokens, tokenise
from drurank.words import as_names


class Text(FileData):
    """Texts with a label, a group and a split by row, from a file or a folder.

    CSV, TSV, JSON lines (``.jsonl``, ``.ndjson``, ``.json``; all three also compressed, as ``.csv.gz``), one JSON array
    of objects (``.json``), Parquet, Arrow and Feather are read, and what the library ``datasets`` saved or has on the
    hub (see ``FileData``). Only the named columns are looked at.

    Texts are cut into tokens once and kept in a cache, for all methods, seeds and processes; other texts or another
    tokenizer are noticed. A batch is padded to its own longest text, and holds texts of about one length.

    Args:
        path: the file or folder, several files by commas or a pattern, or in Python a table in memory (see
            ``FileData``).
        label: column of the label; text or whole numbers.
        group: column of the group, as the writer, or several (with commas), whose combinations are the groups.
            Without any, only the criterion ``overall`` is offered.
        split: column of the split; its values are train, ood_val, id_val, val, ood_test, id_test and test. Without it
            all rows are for testing.
        text: column of the text, or several (with commas), which a newline joins; a missing cell is an empty text.
        tokenizer: local folder or hub name of a pretrained encoder with its tokenizer; ``TextClassifier`` takes that
            encoder too, if it is given no other. That of the checkpoint, or else distilbert-base-uncased, if not given.
        max_length: most tokens of a text, 2 or more; of a longer one the rest is left out, and how many there are is
            said in the report.
        frozen: whether the encoder stays as it is: its features of each text are then computed once and kept, and the
            network learns from these, standardised by the training rows, as from numbers (``MLP``).
        pooling: with ``frozen``, the features of a text: the ``first`` token's output or the ``mean`` over tokens;
            mean, if not given.
        pool_batches: each epoch shuffles the texts, and sorts them by length within so many batches at a time; 1 leaves
            them as they were shuffled; 50, if not given. Of use neither with ``frozen`` nor with the sampler
            ``groups_per_batch``.
        cache_dir: folder that tokens and features are kept in; ``drurank`` in the user's folder for caches, if not
            given.
        **kwargs: those of ``FileData``.

    Raises:
        InputError: if an option is not one of these; bad data stops a run as it starts.
    """

    def __init__(
        self,
        path: TablePath,
        label: str,
        group: ColumnNames = None,
        split: str | None = None,
        text: ColumnNames = "text",
        tokenizer: str | None = None,
        max_length: int = 512,
        frozen: bool = False,
        pooling: Pooling | None = None,
        pool_batches: int | None = None,
        cache_dir: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(path, label, group, split, **kwargs)
        self.text = as_names(text)
        if not all(self.text) or len(set(self.text)) < max(len(self.text), 1):
            raise InputError(f"text is {text!r}, and names no column or one twice; give each that holds texts once")
        for name, value in (("tokenizer", tokenizer), ("cache_dir", cache_dir)):
            if value is not None and not value.strip():
                raise InputError(f"{name} is {value!r}; give a name, or leave it out")
        for name in self.text:
            if name in (label, split):
                raise InputError(f"text names {name!r}, which is the label or the split; name the column of the texts")
        check_count("max_length", max_length, ", as 512", least=2)
        if pool_batches is not None:
            check_count("pool_batches", pool_batches)
        if pool_batches is not None and frozen:
            raise InputError(
                f"pool_batches is {pool_batches} and the encoder frozen, whose features are all of one length; leave "
                "it out"
            )
        if pooling is not None:
            check_choice("pooling", pooling, Pooling)
            if not frozen:
                raise InputError(
                    f"pooling is {pooling!r} and the encoder is not frozen; give the network its pooling=..., or "
                    "frozen=True"
                )
        self._asked, self.max_length, self.cache_dir = tokenizer, max_length, cache_dir
        self.pooling: Pooling | None = (pooling or "mean") if frozen else None
        self.pool_batches = pool_batches

    @property
    def named_columns(self) -> list[str]:
        """Columns that the options name."""
        return [*super().named_columns, *self.text]

    @property
    def tokenizer(self) -> str:
        """Folder or hub name of what cuts the texts."""
        return self._asked or (DEFAULT if self._encoder is None else str(self._encoder.name))

    @property
    def sizes(self) -> Sizes:
        """Tokens or features, and classes."""
        encoder = self.encoder
        if encoder.pooling is not None:
            return Sizes(len(encoder.mean), len(encoder.label_names))
        classes, vocabulary, longest = len(encoder.label_names), encoder.vocabulary, encoder.max_length
        return Sizes(
            0,
            classes,
            vocabulary=vocabulary,
            max_length=longest,
            tokenizer=self.tokenizer,
            largest_token=self._tokens.largest if self._checked else None,  # those of a fit, which has read them
        )

    def _evaluation(self, splits: list[str]) -> list[DataLoader[Batch]]:
        # Of other data than a fit's, whose tokens the network was not built for.
        network = None if self.trainer is None else getattr(self.trainer.lightning_module, "network", None)
        if isinstance(network, TextClassifier):
            network.check_tokens(replace(self.sizes, largest_token=self._tokens.largest))
        return super()._evaluation(splits)

    def make_rows(self, data: GroupedRows, rows: np.ndarray, where: str) -> TextRows | FeatureRows:
        """Tokens or features, and labels, of the rows at these places."""
        encoder = self.encoder
        texts = TextRows(self._tokens, rows, encoder.label(data, rows))
        if encoder.pooling is None:
            return texts
        features = encoder.standardised(self._features[self._tokens.place[rows]])
        return FeatureRows(torch.from_numpy(features), texts)

    def fit_encoder(self, data: GroupedRows) -> TextEncoder:
        """Note the labels and groups of the training rows, and how texts are cut."""
        standards, weights, cut = Standards([], []), "", self._tokenizer
        if self.pooling is not None:
            standards, weights = Standards.of(self._features, self._tokens.place[data.learnt]), self._embedded[1]
        label_names, group_names = trained_names(data)
        return TextEncoder(
            label_names=label_names,
            group_names=group_names,
            **vars(standards),
            tokenizer=fingerprint_of(cut),
            name=self.tokenizer,
            vocabulary=len(cut),
            max_length=self.max_length,
            pooling=self.pooling,
            weights=weights,
        )

    @classmethod
    def check_state(cls, of: str, state: Any, key: str) -> None:
        """As of all data that is encoded."""
        check_texts(of, state, key)

    def read_encoder(self, state: dict[str, Any]) -> TextEncoder:
        """What a checkpoint kept.

        Raises:
            InputError: if the tokenizer is another one now.
        """
        encoder = TextEncoder(**state)
        if self._asked is None:
            self._asked = encoder.name
            self.__dict__.pop("_tokenizer", None)
        if fingerprint_of(self._tokenizer) != encoder.tokenizer:
            raise InputError(
                f"the checkpoint was trained on texts cut by another tokenizer than {self.tokenizer}; give that one as "
                "tokenizer=..."
            )
        for name, value in (("max_length", self.max_length), ("pooling", self.pooling)):
            if getattr(encoder, name) != value:
                # No pooling is that of a fine-tuned encoder.
                rank_zero_warn(
                    f"{name}={value} has no effect: texts are read as in training, with {name}={getattr(encoder, name)}"
                )
        for name in ("_tokens", "_embedded"):
            self.__dict__.pop(name, None)  # They depend on the longest that a text may be.
        return encoder

    def raw_rows(self) -> GroupedRows:
        """Label, group, split and texts as they stand in the file, nothing refused."""
        return self._gather(texts=self.text)

    def facts(self) -> dict[str, Any]:
        """What a report says of the texts: the longest that one may be, and how many were longer by split."""
        cut = {split: self._tokens.truncated[rows] for split, rows in self._index.items()}
        truncated = {split: int(longer.sum()) for split, longer in cut.items()}
        return {"texts": {"max_length": self.encoder.max_length, "truncated": truncated}}

    @cached_property
    def _tokenizer(self) -> Any:
        return load_tokenizer(self.tokenizer)

    @cached_property
    def _tokens(self) -> Tokens:
        max_length = self.max_length if self._encoder is None else self._encoder.max_length
        tokens = tokenise(self._texts(), self._tokenizer, max_length, source=self.path, cache_dir=self.cache_dir)
        longer = int(tokens.truncated.sum())
        texts, different, blank = len(tokens.place), len(tokens.ends) - 1, int(tokens.blank.sum())
        rank_zero_info(
            f"{self.path}: {texts:,} texts of {tokens.lengths.mean():.0f} tokens on average"
            + (f", {different:,} of them different" if different < texts else "")
            + (f", {longer:,} cut off at {max_length:,}" if longer else "")
            + (f", {blank:,} blank, of which nothing can be learned or predicted" if blank else "")
        )
        return tokens

    @property
    def _features(self) -> np.ndarray:
        """Of the different texts of the file, float32 ``[k, d]``; ``_tokens.place`` says which each text is.

        Raises:
            InputError: if training had those of another encoder, which mean something else.
        """
        features, weights = self._embedded
        if self._encoder is not None and weights != self._encoder.weights:
            raise InputError(
                f"the checkpoint was trained on features of another encoder than {self.tokenizer}; give that one as "
                "tokenizer=..."
            )
        return features

    @cached_property
    def _embedded(self) -> tuple[np.ndarray, str]:
        encoder = self._encoder
        return embed_tokens(
            self._tokens,
            self.tokenizer,
            source=self.path,
            pooling=(self.pooling if encoder is None else encoder.pooling) or "mean",
            max_length=self.max_length if encoder is None else encoder.max_length,
            cache_dir=self.cache_dir,
        )

    def _texts(self) -> pa.LargeStringArray:
        cells = []
        for text in self._rows.texts:
            if not text.column.is_text:
                raise InputError(
                    f"{self.path}: column {text.name!r} holds {text.column.values.type} and no text; name the column "
                    "of the texts as text=..."
                )
            cells.append(pc.fill_null(text.column.values, ""))
        joined: pa.LargeStringArray = cells[0]
        if len(cells) > 1:
            joined = pc.binary_join_element_wise(*cells, pa.scalar("\n", pa.large_string()))
        return joined
