"""The polyphase filter bank on arrays."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _tautline
from .arrays import are_pairs, dense_rows, host_array, is_file, require_axes, voltages
from .arguments import whole
from .correlation import Progress
from .devices import Foreign, for_plans, place_of, require_output, type_name
from .errors import ConfigError, refuse, warn
from .opening import opened_as
from .stages.channelize import Plan


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
    out: Any = None,
    device: str = "auto",
    progress: Progress | None = None,
) -> Any:
    """Voltages to channels by a polyphase filter bank.

    Parameters
    ----------
    x
        Voltages: an array [time] or [input, time]: complex64, float32 (real), int8 or int16 (real, or with a last axis of 2, re
        and im).  complex128 and float64 are rounded to single precision.  An array of a GPU (cupy, torch, jax) stays
        there, of the first types, and so does the result; of cupy and torch on their current stream.  Or a file, or what
        tautline.open gave of one, which is read whole, [input, time]; what was lost is zero.
    channels
        Channels C, 2 to 65,536.  Complex samples make frames of C samples, real ones of 2C.
    taps
        Taps T of the filter; a spectrum spans T frames.
    window
        Of the prototype: hann, hamming, kaiser:BETA or rect.  One tap with rect is the plain FFT, divided by the
        square root of its length, as the squares of the coefficients add up to 1.
    output
        cf32; ci8: rounded to int8 with a last axis of 2 after being multiplied by `gains`; ci4: the same in uint8, 4
        bits a part, re in the low half.
    corner_turned
        Whether the axes are [channel, input, time] instead of [input, time, channel]; always so for ci8 and ci4.
    gains
        Of ci8 and ci4: a number, or [channel, input].
    cutoff
        Of the prototype, in channel widths; 1 puts -6 dB at a channel's edge.
    coefficients
        The prototype itself, taps x frame of them in sample order, instead of window and cutoff.
    oversample
        P/Q of 1 or more: spectra start every frame Q / P samples.
    lower_sideband
        Conjugate the voltages first; done in any case where a file's bandwidth is negative.
    out
        Where the result goes: an array of exactly its type and shape, in the memory of `x` and apart from it, its last
        axis dense.  In a loop it saves new memory for each call, which the system clears.  jax's arrays have none.
    device
        auto, cpu, reference, cuda:N or opencl:N.
    progress
        Called now and then with the samples done and those there are; of an array of a GPU once.

    Returns
    -------
    complex64 [input, spectrum, channel] (without the first axis where x had no axis of inputs), channels in ascending
    order of frequency; real input: channel k at k/C of half the sampling rate.  Empty where x is shorter than a
    spectrum.  `out` where it was given.

    Raises
    ------
    ConfigError
        An argument or x is not what is allowed.  NaN in x makes the spectra that span it NaN.
    OutOfMemoryError
        A file or its spectra do not fit in the memory that is free: a plan (`stages.channelize`) takes pieces, and the
        command `tautline channelize` writes files.

    Warns
    -----
    DataWarning
        Rounded spectra were clipped (of arrays in the host's memory).
    """
    if is_file(x):
        x, descending = _of_file(x)
        lower_sideband = lower_sideband or descending
    here = place_of(x, "x", device)
    if here is not None:
        if output != "cf32" or gains is not None or coefficients is not None or Fraction(oversample) != 1:
            wanted = "one in the host's memory for rounded output, coefficients or oversample"
            raise refuse("x", f"an array of {here}", wanted)
        return _on_device(
            x, channels, here, out, progress, taps=taps, window=window, cutoff=cutoff, corner_turned=corner_turned,
            lower_sideband=lower_sideband,
        )  # fmt: skip
    samples, pairs = voltages(x, "x", "stages.channelize.Plan")
    require_axes(samples, "x", (2, 3) if pairs else (1, 2), "[time] or [input][time]")
    one = samples.ndim == (2 if pairs else 1)
    if one:
        samples = samples[np.newaxis]
    if output not in ("cf32", "ci8", "ci4"):
        raise refuse("output", output, "cf32, ci8 or ci4")
    ratio = Fraction(oversample)
    if coefficients is not None and (window != "hann" or cutoff != 1.0):
        name, value = ("window", window) if window != "hann" else ("cutoff", cutoff)
        raise refuse(name, f"{value} beside coefficients", "one of them: coefficients are the whole filter", "leave one out")
    own = [] if coefficients is None else host_array(coefficients, "coefficients").ravel().tolist()
    turned = bool(corner_turned) or output != "cf32"
    if out is not None:
        require_output(out, samples)
    made, clipped = _tautline.channelize(
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
        _with_inputs(out, turned) if one and out is not None else out,
        device,
        progress,
    )
    warn([f"{clipped.sum()} components of the spectra were clipped; lower `gains`"] if clipped.any() else [])
    if out is not None:
        return out
    if not one:
        return made
    return made[:, 0] if turned else made[0]


def _of_file(x: Any) -> tuple[Any, bool]:
    """The voltages of a file, and whether its frequencies descend."""
    try:
        file = opened_as(x, "x", "voltages")
    except ConfigError as error:
        if not error.field.endswith("sample rate"):
            raise
        advice = "give numpy.load of it, or tautline.open(path, rate_hz=...)"
        raise refuse("x", "a file that says no sample rate", "one that does, or an array", advice) from None
    channels = file.header["channels"]
    if channels > 1:
        advice = "give one of file[:], which has [channel, input, time]"
        raise refuse("x", f"{file.paths[0]}, of {channels} channels", "voltages of one", advice)
    return file.read(), file.header["bandwidth_hz"] < 0


def _with_inputs(out: Any, turned: bool) -> Any:
    """The array of one input with an axis of inputs."""
    require_axes(out, "out", (2, 3), "the axes of the result")
    return out[:, None] if turned else out[None]


_FORMATS = {"complex64": "cf32", "float32": "f32", "int8": "i8", "int16": "i16"}


def _on_device(x: Any, channels: int, device: str, out: Any, progress: Progress | None, **options: Any) -> Any:
    x = for_plans(x)
    pairs = are_pairs(x, "x")
    require_axes(x, "x", (2, 3) if pairs else (1, 2), "[time] or [input][time]")
    axes = x.ndim - (1 if pairs else 0)
    samples = x if axes == 2 else x[None]
    if out is not None:
        require_output(out, x)
    plan = Plan(
        channels, samples.shape[0], dtype=("c" if pairs else "") + _FORMATS[type_name(x)], max_samples=max(1, samples.shape[1]),
        device=device, **options,
    )  # fmt: skip
    turned = bool(options["corner_turned"])
    made = None
    if out is not None:
        made = out if axes == 2 else _with_inputs(out, turned)
        shape = plan._shape(plan.spectra(samples.shape[1]))
        if tuple(made.shape) != shape:
            raise refuse("out", f"shape {tuple(made.shape)}", f"{shape}, that of the result")
    made, _ = plan._execute(samples, made)
    del plan  # waits for the spectra
    if progress is not None:
        progress(samples.shape[1], samples.shape[1])
    if out is not None:
        return out
    made = made.array if isinstance(made, Foreign) else made
    return made if axes == 2 else made[:, 0] if turned else made[0]


def _gains(gains: Any, output: str, shape: tuple[int, int]) -> npt.NDArray[np.float32] | None:
    if output == "cf32":
        if gains is not None:
            raise refuse("gains", "given for cf32", "ci8 or ci4, which are rounded", "leave them out")
        return None
    if gains is None:
        raise refuse("gains", "none", "a number, or [channel][input]: what voltages are multiplied by before rounding")
    array = host_array(gains, "gains").astype(np.float32)
    try:
        return dense_rows(np.ascontiguousarray(np.broadcast_to(array, shape)))
    except ValueError:
        raise refuse("gains", f"shape {array.shape}", f"[channel][input], {shape[0]} x {shape[1]}") from None
