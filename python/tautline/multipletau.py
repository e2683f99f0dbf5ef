"""The functions of the package multipletau, at tautline's speed: the same arguments and results.

Beside them, `a` and `v` may have two axes, [time, sensor]: the result is then [sensor, lag, 2].
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _tautline
from .arguments import whole
from .arrays import dense_rows, host_array, native
from .correlation import Progress
from .errors import refuse, unsupported
from .opening import contents

__all__ = ["autocorrelate", "correlate", "DtypeWarning", "InvalidMWarning"]

_ZERO_CUTOFF = 1e-15  # multipletau's: a mean that is so much smaller than the values is taken for zero


class DtypeWarning(UserWarning):
    """The input is not of floats."""


class InvalidMWarning(UserWarning):
    """m is odd, or the inputs' types differ."""


def autocorrelate(
    a: Any,
    m: int = 16,
    deltat: float = 1,
    normalize: bool = False,
    copy: bool = True,
    dtype: Any = None,
    compress: str = "average",
    ret_sum: bool = False,
    *,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Any:
    """Autocorrelation on a logarithmic scale of lags, as multipletau.autocorrelate.

    Parameters
    ----------
    a
        [time], or [time, sensor], at least 2 m times long; real numbers.  Or a file of counts, [time, sensor]: a path, or
        what tautline.open gave of it.
    m
        Lags of a level, even.
    deltat
        Between two samples.
    normalize
        Divide by the square of the mean of a, after subtracting it, and by the number of products.
    copy
        Without meaning: a is never changed.
    dtype
        Of the result: a's, or float64 for integers.
    compress
        How a level is made of the one before: average, first or second.
    ret_sum
        Return sums of products, and how many products each has.
    device
        cpu, or reference, which sums after its progress.
    progress
        Is called with the times that are done, and all.

    Returns
    -------
    [lag, 2]: lag times and values; with ret_sum also the numbers of products, [lag].
    """
    return _correlate({"a": a}, DtypeWarning, m, deltat, normalize, copy, dtype, compress, ret_sum, device, progress)


def correlate(
    a: Any,
    v: Any,
    m: int = 16,
    deltat: float = 1,
    normalize: bool = False,
    copy: bool = True,
    dtype: Any = None,
    compress: str = "average",
    ret_sum: bool = False,
    *,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Any:
    """Cross-correlation on a logarithmic scale of lags, as multipletau.correlate: sums of v[n] a[n + k].

    Arguments and result are autocorrelate's, of two series of the same shape.
    """
    return _correlate({"a": a, "v": v}, InvalidMWarning, m, deltat, normalize, copy, dtype, compress, ret_sum, device, progress)


def _series(
    arrays: dict[str, Any], dtype: Any, warning: type[Warning]
) -> tuple[list[npt.NDArray[Any]], np.dtype[Any]]:
    """The arrays, of one shape, and the result's type."""
    series: list[npt.NDArray[Any]] = []
    kinds: list[np.dtype[Any]] = []
    for field, x in arrays.items():
        array = native(host_array(contents(x, field, "counts"), field, "stages.autocorrelate.Plan"))
        if array.ndim not in (1, 2):
            raise refuse(field, f"an array of {array.ndim} axes", "[time] or [time][sensor]")
        if series and array.shape != series[0].shape:
            raise refuse(field, f"shape {array.shape}", f"the shape of a, {series[0].shape}")
        kind = array.dtype if dtype is None else np.dtype(dtype)
        if kind.kind == "c" or array.dtype.kind == "c":
            raise unsupported(field, "complex numbers", "real ones", "use the package multipletau")
        if kind.kind != "f":
            warnings.warn("Input dtype is not float; casting to np.float64!", warning, stacklevel=4)
            kind = np.dtype(np.float64)
        if array.dtype.kind not in "iufb":
            raise refuse(field, f"dtype {array.dtype}", "real numbers")
        series.append(array)
        kinds.append(kind)
    if kinds[0] != kinds[-1]:
        warnings.warn("Input dtypes not equal; casting to np.float64!", InvalidMWarning, stacklevel=4)
        return series, np.dtype(np.float64)
    return series, kinds[0]


def _exact(highest: int, times: int, levels: int) -> bool:
    """Whether no sum of products can reach 2^63."""
    total = highest * times  # of a sensor, at most
    return min(highest << (levels - 1), total) * total < 2**63


def _counted(array: npt.NDArray[Any], levels: int) -> npt.NDArray[Any]:
    """Counts of 8, 16 or 32 bits, whose sums are exact in 64, else double."""
    if array.dtype.kind not in "uib" or array.size == 0:
        return array.astype(np.float64, copy=False)
    if array.dtype.name in ("uint8", "uint16") and _exact(int(np.iinfo(array.dtype).max), array.shape[0], levels):
        return array
    low, high = int(array.min()), int(array.max())
    for small in (np.uint8, np.uint16, np.uint32):
        if low >= 0 and high <= np.iinfo(small).max and _exact(high, array.shape[0], levels):
            return array.astype(small, copy=False)
    return array.astype(np.float64, copy=False)


def _require_mean(array: npt.NDArray[Any], field: str, centred: bool) -> None:
    if array.dtype.kind in "ub" or array.size == 0 or array.min() >= 0:  # such a mean is no rounding error of zero
        return
    mean = np.asarray(array.mean(axis=0, dtype=np.float64))
    for sensor, value in enumerate(np.atleast_1d(mean)):
        column = (array if array.ndim == 1 else array[:, sensor]).astype(np.float64, copy=False)
        size = max(abs(float(column.min())), abs(float(column.max()))) + abs(float(value))
        if not np.abs(value) < _ZERO_CUTOFF * size:
            continue
        if np.abs(value) < _ZERO_CUTOFF * np.median(np.abs(column - value if centred else column)):
            raise ValueError(f"Cannot normalize: Average of `{field}` is zero!")


def _correlate(
    arrays: dict[str, Any],
    warning: type[Warning],
    m: int,
    deltat: float,
    normalize: bool,
    copy: bool,
    dtype: Any,
    compress: str,
    ret_sum: bool,
    device: str,
    progress: Progress | None,
) -> Any:
    """Both functions: of one series, or of two."""
    if normalize is True and ret_sum is True:
        raise ValueError("'normalize' and 'ret_sum' must not both be True!")
    series, kind = _series(arrays, dtype, warning)
    a = series[0]
    for name, value in (("normalize", normalize), ("copy", copy), ("ret_sum", ret_sum)):
        if not isinstance(value, bool):
            raise ValueError(f"`{name}` must be boolean!")
    if compress not in ("average", "first", "second"):
        raise ValueError("Invalid value for `compress`! Possible values are 'average,first,second'.")
    m = whole(m, "m", 1)
    if m % 2:
        warnings.warn(f"Invalid value of m={m}. Using m={m + 1} instead", InvalidMWarning, stacklevel=3)
        m += 1
    times = a.shape[0]
    if times < 2 * m:
        raise ValueError("`len(a)` must be >= `2m`!")
    if normalize and len(series) == 2:
        _require_mean(series[0], "a", False)
        _require_mean(series[1], "v", False)
    sensors = 1 if a.ndim == 1 else a.shape[1]
    pairs: list[tuple[int, int]] = []
    samples = a.reshape(times, sensors)
    if len(series) == 2:
        samples = np.concatenate([samples, series[1].reshape(times, sensors)], axis=1)
        pairs = [(sensors + s, s) for s in range(sensors)]  # the later one is a, as multipletau computes it
    levels = int(np.floor(np.log2(times / m))) + 1
    lags, level, counts, g, totals, squares = _tautline.standard_curves(
        dense_rows(_counted(samples, levels)), m, levels, compress, "global" if normalize else "none", pairs, device, progress
    )
    if normalize and len(series) == 1:
        # Means that are far above zero need no look at every sample: none is larger than the root of the sum of
        # squares.
        size = times * np.sqrt(squares) + np.abs(totals)
        for sensor in np.flatnonzero(~(np.abs(totals) > _ZERO_CUTOFF * size)):
            _require_mean(a if a.ndim == 1 else a[:, sensor], "a", True)
    last = len(lags)
    if times >> (levels - 1) == m:  # multipletau leaves out two lags where the last level is as short as can be
        last -= 2
    lags, level, counts, g = lags[:last], level[:last], counts[:last], g[:, :last]
    if not normalize:
        if compress == "average":
            g = g / 4.0**level
        if not ret_sum:
            g = g * (times / (times >> level))
    curves = np.empty((sensors, last, 2), dtype=kind)
    curves[:, :, 0] = deltat * lags
    curves[:, :, 1] = g
    result = curves[0] if a.ndim == 1 else curves
    return (result, counts.astype(kind)) if ret_sum else result
