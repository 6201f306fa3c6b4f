"""Checks of counts, accuracies and groups, of numpy and of torch; each refusal is one sentence.

Types and shapes cost nothing to check. Reading values waits for the device where that is not the CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array

from drurank.errors import InputError

NONE = -1
"""The group of a sample that belongs to none."""
MOST_ROWS = 2**53
"""Up to which counts of files are taken: so far sums of them are exact as fractions."""


def on_host(array: Any) -> bool:
    """Whether values can be read without waiting for a device."""
    return str(device(array)) == "cpu"


def check_array(name: str, array: Any, *, each: str = "group") -> None:
    """Refuse anything but an array of numbers, ``[..., m]``.

    Args:
        name: of the argument.
        array: what was given.
        each: what an entry belongs to.

    Raises:
        InputError: naming its type.
    """
    try:
        xp = array_namespace(array)
    except TypeError:
        raise InputError(f"{name} is a {type(array).__name__}; give an array of numpy or torch") from None
    if not xp.isdtype(array.dtype, ("bool", "integral", "real floating")):
        raise InputError(f"{name} is {array.dtype}; give numbers")
    if is_torch_array(array) and xp.isdtype(array.dtype, "unsigned integer") and array.element_size() > 1:
        raise InputError(f"{name} is {array.dtype}, which torch supports only in part; give torch.int64")
    if array.ndim == 0:
        raise InputError(f"{name} is a single number; give one for each {each}")


def check_tensor(name: str, value: object, *, each: str = "sample") -> None:
    """Refuse anything but a tensor of numbers, ``[..., m]``.

    Args:
        name: of the argument.
        value: what was given.
        each: what an entry belongs to.

    Raises:
        InputError: naming its type.
    """
    if not is_torch_array(value):
        raise InputError(f"{name} is a {type(value).__name__}; give a tensor")
    check_array(name, value, each=each)


def is_integer(array: Any) -> bool:
    """Whether an array holds integers; booleans are not."""
    return bool(array_namespace(array).isdtype(array.dtype, "integral"))


def check_counts(correct: Any, count: Any) -> None:
    """Refuse counts of groups that cannot be counts.

    Args:
        correct: samples classified correctly by group, ``[..., m]``.
        count: samples by group, ``[..., m]``.

    Raises:
        InputError: if they are not integers, are of different groups, are negative, or ``correct`` exceeds ``count``.
    """
    for name, array in (("correct", correct), ("count", count)):
        check_array(name, array)
        if not is_integer(array):
            raise InputError(f"{name} is {array.dtype}; give counts as integers")
    try:
        xp = array_namespace(correct, count)
    except TypeError:
        kinds = f"correct is a {type(correct).__name__}, count a {type(count).__name__}"
        raise InputError(f"{kinds}; give both of one library") from None
    check_same_length("correct", correct, "count", count, each="group")
    for name, array in (("correct", correct), ("count", count)):
        if 0 not in array.shape and (least := int(xp.min(array))) < 0:
            raise InputError(f"{name} is {least} in a group; give counts of 0 or more")
    excess = correct > count
    if bool(xp.any(excess)):
        place = int(xp.argmax(xp.reshape(xp.astype(excess, xp.int64), (-1,))))
        right, of = (int(xp.reshape(xp.broadcast_to(array, excess.shape), (-1,))[place]) for array in (correct, count))
        raise InputError(
            f"correct is {right} and count {of} in group {place % excess.shape[-1]}; give correct, then count"
        )


def counts_of_groups(
    correct: Any, count: Any, *, may_be_empty: bool = True, effective: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Counts of one set of groups, for what is computed with numpy; waits for the device.

    Args:
        correct: samples classified correctly by group, integer ``[m]``, of numpy or torch.
        count: samples by group, integer ``[m]``.
        may_be_empty: whether groups without samples may be among them.
        effective: whether they are effective numbers of weighted samples, which need not be whole and are
            not checked.

    Returns:
        Both, int64 ``[m]``, or as they are where they are effective numbers.

    Raises:
        InputError: as of ``check_counts``, or if there is more than one dimension, or a group without samples.
    """
    if effective:
        return correct, count
    check_counts(correct, count)
    if correct.ndim > 1 or count.ndim > 1:
        raise InputError(
            f"correct {list(correct.shape)}, count {list(count.shape)}; give one of each per group, [m], or call this "
            "for each row"
        )
    return _as_numpy(correct), _as_numpy(count) if may_be_empty else check_sizes(count)


def check_sizes(count: Any) -> np.ndarray:
    """Sizes of groups, int64 ``[m]``.

    Args:
        count: samples by group, integer ``[m]``, of numpy or torch.

    Raises:
        InputError: if they are not integers, there are none, or a group has no samples.
    """
    check_counts(count, count)
    if count.ndim > 1 or len(count) == 0:
        raise InputError(f"count is {list(count.shape)}; give one number for each of one group or more, [m]")
    found = _as_numpy(count)
    if (found == 0).any():
        raise InputError(f"count is 0 in group {int(found.argmin())}; leave out groups without samples")
    return found


def _as_numpy(count: Any) -> np.ndarray:
    found: np.ndarray = np.asarray(count.cpu() if is_torch_array(count) else count).astype(np.int64)
    return found


def check_accuracy(accuracy: float) -> None:
    """Refuse an accuracy outside of 0 to 1.

    Raises:
        InputError: naming it.
    """
    if not 0 <= accuracy <= 1:
        raise InputError(f"accuracy is {accuracy}; give a number from 0 to 1")


def check_same_length(name: str, array: Any, other_name: str, other: Any, *, each: str = "sample") -> None:
    """Refuse two arrays whose last dimensions differ, or whose leading ones do not go together.

    Args:
        name: of the one argument.
        array: what was given as it.
        other_name: of the other.
        other: what was given as that.
        each: what an entry belongs to.

    Raises:
        InputError: with both shapes.
    """
    shape, other_shape = tuple(array.shape), tuple(other.shape)
    try:
        np.broadcast_shapes(shape, other_shape)
        fits = bool(shape) and shape[-1:] == other_shape[-1:]
    except ValueError:
        fits = False
    if not fits:
        raise _of_other_shape(name, array, other_name, other, each)


def _of_other_shape(name: str, array: Any, other_name: str, other: Any, each: str) -> InputError:
    return InputError(f"{name} {list(array.shape)}, {other_name} {list(other.shape)}; give one of each per {each}")


def check_group_of(name: str, value: Any, group: object) -> None:
    """Refuse groups that are not one integer for each entry of a tensor.

    Args:
        name: of the tensor.
        value: the tensor, ``[..., n]``.
        group: what was given, ``[n]`` or ``[..., n]``.

    Raises:
        InputError: with the type, or both shapes.
    """
    check_tensor("group", group)
    if not is_integer(group):
        raise InputError(f"group is {group.dtype}; give groups as integers")  # type: ignore[attr-defined]
    check_same_length(name, value, "group", group)
    if group.ndim > value.ndim:  # type: ignore[attr-defined]
        raise _of_other_shape(name, value, "group", group, "sample")


def check_group_range(lowest: int, highest: int, num_groups: int) -> None:
    """Refuse group numbers out of range.

    Args:
        lowest: the lowest number given.
        highest: the highest.
        num_groups: number of groups.

    Raises:
        InputError: naming the number.
    """
    if lowest < NONE:
        raise InputError(f"group {lowest} is negative; groups count from 0, and only -1 leaves a sample out")
    if highest >= num_groups:
        raise InputError(f"group {highest} is not below num_groups={num_groups}")


def check_group(group: Any, num_groups: int) -> None:
    """Refuse a group of samples that is not an integer from -1 to ``num_groups - 1``; waits for the device.

    Raises:
        InputError: naming the number.
    """
    xp = array_namespace(group)
    if 0 not in group.shape:
        check_group_range(int(xp.min(group)), int(xp.max(group)), num_groups)
