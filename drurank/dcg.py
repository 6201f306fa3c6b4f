"""Percentiles and discounted sums over groups.

Arrays are those of numpy or of torch, on any device, ``[..., m]`` for ``m`` groups with any leading dimensions; what is
returned is of the same kind. A group without a value is ``nan``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from array_api_compat import array_namespace, device

from drurank.checks import check_array
from drurank.errors import InputError, check_choice, is_count

Array = TypeVar("Array", bound=Any)
RankBy = Literal["index", "quantile"]
KUnit = Literal["percent", "groups"]


def precise(value: Any) -> Any:
    """The widest float of an array's library on its device: float64, or float32 on MPS."""
    xp = array_namespace(value)
    return xp.float32 if str(device(value)).startswith("mps") else xp.float64


def float_like(value: Any) -> Any:
    """The dtype of an array of floats, float32 at least, so that ranks and sums fit; else ``precise``."""
    xp = array_namespace(value)
    if not xp.isdtype(value.dtype, "real floating"):
        return precise(value)
    return value.dtype if xp.finfo(value.dtype).bits >= 32 else xp.float32


def accuracy_from_counts(correct: Array, count: Array) -> Array:
    """``correct / count``, ``nan`` where ``count`` is 0; both integer ``[..., m]``.

    The division is one correctly rounded float64 operation, so groups of equal accuracy (1 of 3, 2 of 6) tie exactly.
    """
    xp, dtype = array_namespace(correct, count), precise(correct)
    some = xp.where(count > 0, count, xp.ones_like(count))
    return xp.where(count > 0, xp.astype(correct, dtype) / xp.astype(some, dtype), xp.nan)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Ordered(Generic[Array]):
    """Values of groups in order, known ones first.

    Attributes:
        value: ``[..., m]``, float; 0 after the known ones.
        number: how many are known, integer ``[..., 1]``.
    """

    value: Array
    number: Array

    @classmethod
    def of(cls, value: Array, *, descending: bool = False) -> Ordered[Array]:
        """Sort values; ``nan`` means unknown."""
        xp = array_namespace(value)
        if value.shape[-1] == 0:
            value = xp.full((*value.shape[:-1], 1), xp.nan, dtype=value.dtype, device=device(value))
        known = ~xp.isnan(value)
        filled = xp.where(known, xp.astype(value, precise(value)), -xp.inf if descending else xp.inf)
        number = xp.sum(xp.astype(known, xp.int64), axis=-1, keepdims=True)
        ordered = cls(xp.sort(filled, axis=-1, descending=descending), number)
        return cls(xp.where(ordered.known, ordered.value, 0.0), number)

    @property
    def known(self) -> Array:
        """Which places hold a known value, bool ``[..., m]``."""
        return self._place(self.value.shape[-1]) < self.number  # type: ignore[no-any-return]

    def share(self, share: Any) -> Array:
        """Values a given share of the way from the first to the last known, with linear interpolation.

        Args:
            share: float ``[q]``, in [0, 1].

        Returns:
            ``[..., q]``, ``nan`` where none is known.
        """
        xp = array_namespace(self.value)
        last = xp.where(self.number > 0, self.number - 1, xp.zeros_like(self.number))
        position = xp.astype(share, self.value.dtype) * xp.astype(last, self.value.dtype)
        low = xp.astype(xp.floor(position), xp.int64)
        near = xp.take_along_axis(self.value, low, axis=-1)
        far = xp.take_along_axis(self.value, xp.minimum(low + 1, last), axis=-1)
        part = position - xp.floor(position)
        # Between equal values, infinite ones too, there is nothing to interpolate.
        between = xp.where((near == far) | (part == 0), near, (1 - part) * near + part * far)
        return xp.where(self.number > 0, between, xp.nan)  # type: ignore[no-any-return]

    def dcg(self, k: int, *, rank_by: RankBy, k_unit: KUnit = "percent", normalize: bool = False) -> Array:
        """Discounted sum of values in descending order; see ``group_dcg``."""
        xp, m = array_namespace(self.value), self.value.shape[-1]
        if rank_by == "quantile":
            items = self.share(xp.astype(self._place(k + 1), self.value.dtype) / 100)
            used = xp.ones_like(items, dtype=xp.bool)
        else:
            take = min(k, m) if k_unit == "groups" else -(-k * m // 100)
            items, limit = self.value[..., :take], xp.full_like(self.number, k)
            want = xp.minimum(self.number, limit) if k_unit == "groups" else (k * self.number + 99) // 100
            used = self._place(take) < want
        place = xp.astype(self._place(items.shape[-1]), self.value.dtype)
        discount = xp.where(used, 1 / xp.log2(place + 2), 0.0)
        total = xp.sum(xp.where(used, items * discount, 0.0), axis=-1)
        total = total / xp.clip(xp.sum(discount, axis=-1), min=1) if normalize else total
        return xp.where(self.number[..., 0] > 0, total, xp.nan)  # type: ignore[no-any-return]

    def _place(self, size: int) -> Array:
        return array_namespace(self.value).arange(size, device=device(self.value))  # type: ignore[no-any-return]


def group_dcg(
    score: Array,
    k: int = 10,
    *,
    rank_by: RankBy = "quantile",
    k_unit: KUnit = "percent",
    normalize: bool = False,
) -> Array:
    r"""Discounted cumulative gain of the worst groups' scores; lower is better.

    .. math:: \mathrm{DCG}(s) = \sum_i s_i / \log_2(i + 1), \quad s_1 \ge s_2 \ge \dots

    ``rank_by="index"`` (gDCG) takes as ``s`` the scores of the worst ``ceil(k m / 100)`` groups, or of the worst ``k``
    with ``k_unit="groups"``; ``rank_by="quantile"`` (qDCG) the ``k + 1`` percentiles ``100, 99, ..., 100 - k``.

    Args:
        score: ``[..., m]``, float, higher is worse (an error or a loss), ``nan`` for a group to leave out. Negative
            scores are added as they are, and an infinite one makes the sum infinite.
        k: how far down the list to go, an int from 1 to 100 (with ``k_unit="groups"`` any from 1; all groups where
            there are fewer).
        rank_by: ``quantile`` or ``index``, see above.
        k_unit: what ``k`` counts, ``percent`` or ``groups``; the latter goes with ``rank_by="index"`` only.
        normalize: divide by the sum of the discounts used, which makes it a weighted mean.

    Returns:
        The DCG, dtype of ``score`` but at least float32, ``[...]``, ``nan`` where no group has a score.

    Raises:
        InputError: if ``score`` is not an array ``[..., m]``, ``k`` is out of range or the options do not go together.
    """
    check_k(k, rank_by=rank_by, k_unit=k_unit)
    check_array("score", score)
    xp = array_namespace(score)
    exact = xp.astype(score, float_like(score))
    found = Ordered.of(exact, descending=True).dcg(k, rank_by=rank_by, k_unit=k_unit, normalize=normalize)
    return xp.astype(found, exact.dtype)  # type: ignore[no-any-return]


def check_k(k: int, *, rank_by: str = "quantile", k_unit: str = "percent") -> None:
    """Refuse a ``k`` of a discounted cumulative gain that is out of range, or options that do not go together."""
    check_choice("rank_by", rank_by, RankBy)
    check_choice("k_unit", k_unit, KUnit)
    if k_unit == "groups" and rank_by != "index":
        raise InputError("k_unit='groups' counts groups, not quantiles; give rank_by='index' with it")
    if not is_count(k) or (k_unit == "percent" and k > 100):
        limit = "from 1 to 100" if k_unit == "percent" else "of 1 or more"
        raise InputError(f"k is {k!r}; give a whole number {limit} (k_unit={k_unit!r}), as k=10")
