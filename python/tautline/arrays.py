"""What users give as arrays, in the form that the library takes: see docs/design/python.md."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from .devices import cuda_of, no_host_array, type_name
from .errors import refuse


def host_array(x: Any, field: str, *takers: str) -> npt.NDArray[Any]:
    """Any array of the host's as numpy's, without a copy; sequences of numbers are copied.

    `takers`: what the error of an array of a GPU names as taking it, one after the other.
    """
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise refuse(field, "a masked array", "an array without masked elements", "fill it first")
    if isinstance(x, np.ndarray):
        return np.asarray(x)
    if is_file(x):
        raise refuse(field, "a file", "an array", "tautline.open(path)[:] is the contents of one")
    if cuda_of(x, field) is not None:
        raise no_host_array(x, field, takers)
    try:
        if hasattr(x, "__dlpack__"):
            return np.asarray(np.from_dlpack(x))
        return np.asarray(x)
    except (BufferError, TypeError, ValueError, RuntimeError) as error:
        raise refuse(field, f"a {type(x).__name__} that is no array", "an array of numbers", str(error)) from None


def is_array(x: Any) -> bool:
    """Whether it is numbers, and neither paths nor an opened file."""
    if isinstance(x, np.ndarray) or hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__"):
        return True
    if isinstance(x, bytes) or is_file(x):
        return False
    return isinstance(x, (list, tuple, memoryview)) or hasattr(x, "__array__") or hasattr(x, "__array_interface__")


def is_file(x: Any) -> bool:
    """Whether it is a path, an opened file, or several."""
    several = x if isinstance(x, (list, tuple)) else [x]
    return any(isinstance(one, (str, os.PathLike)) or hasattr(one, "paths") for one in several)


def require_type(x: Any, field: str, types: tuple[str, ...]) -> None:
    if type_name(x) not in types:
        raise refuse(field, type_name(x), "one of " + " ".join(types), "convert it")


def require_axes(x: Any, field: str, axes: tuple[int, ...], meaning: str) -> None:
    if x.ndim not in axes:
        raise refuse(field, f"an array of {x.ndim} axes", meaning)


def native(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """In this machine's byte order, and aligned."""
    return x if x.dtype.isnative and x.flags.aligned else x.astype(x.dtype.newbyteorder("="))


def dense_rows(x: npt.NDArray[Any], row_axis: int = -1) -> npt.NDArray[Any]:
    """With a dense last part (from `row_axis` on) and positive strides otherwise; a copy where it is not so."""
    x = native(x)
    size = x.itemsize
    element = size * (2 if row_axis == -2 else 1)
    ok = True
    for axis in range(x.ndim - 1, -1, -1):
        if axis >= x.ndim + row_axis:
            ok = ok and (x.shape[axis] <= 1 or x.strides[axis] == size)
            size *= x.shape[axis]
        else:
            ok = ok and (x.shape[axis] <= 1 or (x.strides[axis] > 0 and x.strides[axis] % element == 0))
    rows = x.ndim + row_axis
    if ok and rows > 0 and x.shape[rows - 1] > 1:
        ok = x.strides[rows - 1] >= size
    if not ok or any(n <= 1 for n in x.shape):
        return np.ascontiguousarray(x)
    return x


def voltages(x: Any, field: str, *takers: str) -> tuple[npt.NDArray[Any], bool]:
    """[..., time] of complex64, float32, int8 or int16, or with True of int8 or int16 with a last axis of 2."""
    x = host_array(x, field, *takers)
    if x.dtype.name in ("complex128", "float64"):
        x = x.astype(np.complex64 if x.dtype.kind == "c" else np.float32)
    pairs = are_pairs(x, field)
    return dense_rows(x, -2 if pairs else -1), pairs


def are_pairs(x: Any, field: str) -> bool:
    """Whether voltages, of an array of any memory, are integers with a last axis of 2; refuses other types."""
    require_type(x, field, ("complex64", "float32", "int8", "int16"))
    return type_name(x).startswith("int") and x.ndim > 1 and x.shape[-1] == 2
