"""The polyphase filter bank on arrays."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _tautline
from .arrays import dense_rows, host_array, require_axes, voltages
from .arguments import whole
from .errors import refuse


def channelize(
    x: Any,
    channels: int,
    *,
    taps: int = 8,
    window: str = "hann",
    output: str = "cf32",
    corner_turned: bool = False,
    gains: Any = None,
    cutoff: float = 1.0,
    coefficients: Any = None,
    oversample: Fraction | str | int = 1,
    lower_sideband: bool = False,
    device: str = "auto",
) -> npt.NDArray[Any]:
    """Voltages to channels by a polyphase filter bank.

    Parameters
    ----------
    x
        Voltages, [time] or [input, time]: complex64, float32 (real), int8 or int16 (real, or with a last axis of 2, re and
        im).  complex128 and float64 are rounded to single precision.
    channels
        Channels C, 2 to 65,536.  Complex samples make frames of C samples, real ones of 2C.
    taps
        Taps T of the filter; a spectrum spans T frames.
    window
        Of the prototype: hann, hamming, kaiser:BETA or rect.  One tap with rect is the plain FFT, divided by the square root
        of its length, as the squares of the coefficients add up to 1.
    output
        cf32, or ci8: rounded to int8 with a last axis of 2 after being multiplied by `gains`.
    corner_turned
        Whether the axes are [channel, input, time] instead of [input, time, channel]; always so for ci8.
    gains
        Of ci8: a number, or [channel, input].
    cutoff
        Of the prototype, in channel widths; 1 puts -6 dB at a channel's edge.
    coefficients
        The prototype itself, taps x frame of them in sample order, instead of window and cutoff.
    oversample
        P/Q of 1 or more: spectra start every frame Q / P samples.
    lower_sideband
        Conjugate the voltages first.
    device
        auto, cpu, reference, cuda:N or opencl:N.

    Returns
    -------
    complex64 [input, spectrum, channel] (without the first axis where x had no axis of inputs), channels in ascending
    order of frequency; real input: channel k at k/C of half the sampling rate.  Empty where x is shorter than a spectrum.

    Raises
    ------
    ConfigError
        An argument or x is not what is allowed.  NaN in x makes the spectra that span it NaN.
    """
    samples, pairs = voltages(x, "x")
    require_axes(samples, "x", (2, 3) if pairs else (1, 2), "[time] or [input][time]")
    one = samples.ndim == (2 if pairs else 1)
    if one:
        samples = samples[np.newaxis]
    if output not in ("cf32", "ci8"):
        raise refuse("output", output, "cf32 or ci8")
    ratio = Fraction(oversample)
    own = [] if coefficients is None else host_array(coefficients, "coefficients").ravel().tolist()
    made, _ = _tautline.channelize(
        samples,
        pairs,
        whole(channels, "channels"),
        whole(taps, "taps"),
        window,
        float(cutoff),
        own,
        (ratio.numerator, ratio.denominator),
        bool(lower_sideband),
        output,
        bool(corner_turned),
        _gains(gains, output, (whole(channels, "channels"), samples.shape[0])),
        device,
    )
    if not one:
        return made  # type: ignore[no-any-return]
    return made[:, 0] if corner_turned or output == "ci8" else made[0]  # type: ignore[no-any-return]


def _gains(gains: Any, output: str, shape: tuple[int, int]) -> npt.NDArray[np.float32] | None:
    if output == "cf32":
        if gains is not None:
            raise refuse("gains", "given for cf32", "ci8, which is rounded", "leave them out")
        return None
    if gains is None:
        raise refuse("gains", "none", "a number, or [channel][input]: what voltages are multiplied by before rounding")
    array = host_array(gains, "gains").astype(np.float32)
    try:
        return dense_rows(np.ascontiguousarray(np.broadcast_to(array, shape)))
    except ValueError:
        raise refuse("gains", f"shape {array.shape}", f"[channel][input], {shape[0]} x {shape[1]}") from None
