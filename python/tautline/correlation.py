"""Voltages to visibilities."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _tautline
from .arguments import Fields, Quantity, documented, file_paths, history, number, rational, whole
from .arrays import are_pairs, is_array, require_axes, voltages
from .devices import behind_its_stream, place_of, type_name, unread_by_host
from .errors import refuse, warn

Progress = Callable[[int, int], object]
_FIELDS = Fields("correlate")
_BY_HOST = ("settle_s", "follow_gains")
_LEAST_SKY_HZ = 1e6  # a centre below it may be in MHz


class Visibilities:
    """What `correlate` gives: means over integrations, V(i, j) = mean of x_i conj(x_j) for inputs i >= j.

    Attributes
    ----------
    data : complex64 [time, channel, baseline]
        In units of the voltages squared; baseline i (i + 1) / 2 + j.  Zero where there was no valid sample.  Read only.
    counts : int64 [time, channel, baseline]
        Valid samples in each mean.  Read only.
    frequencies : float64 [channel]
        Centres of the channels in Hz.
    times : float64 [time]
        Middles of the integrations, Julian dates in UTC; of arrays without `start` since 1970.
    integration_s : float64 [time]
        Lengths of the integrations.
    inputs : int
    channel_width_hz : float
    flagged_channels : list of int
    nominal_count : int
        Samples of a whole integration.
    facts : dict
        Kernels, samples, and everything that was counted: clipped, lost, not finite; warnings, the texts of all that were
        given.  Of a file that tautline.load read: what it says of itself.
    """

    def __init__(self, kept: Any, facts: dict[str, Any]) -> None:
        self._kept = kept
        self.data: npt.NDArray[np.complex64] = kept.data()
        self.counts: npt.NDArray[np.int64] = kept.counts()
        self.frequencies: npt.NDArray[np.float64] = kept.frequencies()
        self.times: npt.NDArray[np.float64] = kept.times()
        self.integration_s: npt.NDArray[np.float64] = kept.integration_s()
        self.inputs: int = kept.inputs()
        self.channel_width_hz: float = kept.channel_width_hz()
        self.flagged_channels: list[int] = kept.flagged_channels()
        self.nominal_count: int = kept.nominal_count()
        self.facts = facts

    def baseline(self, i: int, j: int) -> npt.NDArray[np.complex64]:
        """[time, channel] of x_i conj(x_j), any order of inputs."""
        i, j = whole(i, "i"), whole(j, "j")
        if max(i, j) >= self.inputs:
            raise refuse("input", max(i, j), f"0 to {self.inputs - 1}")
        if self._kept.autos_only():
            raise refuse("baseline", "of autocorrelations alone", "a run with all products")
        if i >= j:
            return self.data[:, :, i * (i + 1) // 2 + j]
        return self.data[:, :, j * (j + 1) // 2 + i].conj()

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes a UVH5 file (.uvh5) or a Measurement Set (.ms)."""
        self._kept.write(os.fspath(path), bool(overwrite))

    def to_uvdata(self) -> Any:
        """The visibilities as a pyuvdata.UVData."""
        uvdata = importlib.import_module("pyuvdata").UVData
        with tempfile.TemporaryDirectory(prefix="tautline-") as folder:
            path = os.path.join(folder, "visibilities.uvh5")
            self.write(path)
            # Without an array's positions pyuvdata refuses all baselines, whose uvw are zero.
            return uvdata.from_file(path, run_check=False)

    def __reduce__(self) -> Any:
        raise TypeError("Visibilities cannot be pickled: send its arrays (data, counts, times), or write() a file")

    def __repr__(self) -> str:
        times, channels, baselines = self.data.shape
        return f"<tautline.Visibilities: {times} times, {channels} channels, {baselines} baselines of {self.inputs} inputs>"


@documented(_FIELDS, ("inputs",))
def correlate(
    x: Any,
    *,
    rate_hz: Any = None,
    centre_hz: Quantity | None = None,
    bandwidth_hz: Quantity | None = None,
    polarisations: int | None = None,
    start: str | None = None,
    device: str = "auto",
    progress: Progress | None = None,
    **fields: Any,
) -> Visibilities:
    """Voltages to visibilities: filter bank, correlator, integrations; what the command `tautline correlate` does.

    Parameters
    ----------
    x
        Voltages: a file or several, what tautline.open gave of them, or an array [time], [input, time] or
        [channel, input, time] (channelized already): complex64, float32, int8 or int16 (real, or with a last axis of
        2, re and im).  An array must not change while this runs.  An array of a GPU (cupy, torch, jax) stays there;
        stretches in it that never change are data (`keep_constant`).
    rate_hz
        Samples a second of each input; needed for arrays.  A number, a Fraction or a text as "800000/3" or "1.28MHz",
        taken exactly.
    centre_hz, bandwidth_hz
        Of the band on the sky, numbers or texts as "150MHz"; without them the band of arrays is about 0 Hz (complex) or from 0 Hz up (real).
        Negative bandwidth: lower sideband.
    polarisations
        Inputs of each antenna, 1 or 2; input = antenna x polarisations + polarisation.
    start
        UTC of the first sample, "2026-01-02-03:04:05", also as utc_start; needed with `phase_centre` for arrays and for
        files that do not say it.
    device
        auto, cpu, reference, cuda:N or opencl:N.
    progress
        Called now and then with the samples (times) done and those there are.

    Fields of the run, all optional:

    {fields}

    Returns
    -------
    Visibilities

    Raises
    ------
    ConfigError, FormatError, InputOutputError, OutOfMemoryError
        Nothing is written in any case.

    Warns
    -----
    DataWarning
        Something is wrong with the data.
    """
    samples: Any = None
    pairs, facts, names, stream = False, dict[str, Any](), list[str](), 0
    given = {
        "rate_hz": rate_hz,
        "centre_hz": centre_hz,
        "bandwidth_hz": bandwidth_hz,
        "polarisations": polarisations,
        "start": start,
    }
    if start is not None and fields.get("utc_start") is not None:
        raise refuse("utc_start", "given beside start", "one of them: they mean the same", "leave one out")
    if is_array(x):
        given["start"] = start if start is not None else fields.pop("utc_start", None)
        if isinstance(rate_hz, (int, float)) and 0 < rate_hz < 1000 and "integration_s" not in fields:
            units = f'a number with its unit: "{rate_hz:g}MHz", or "{rate_hz:g}Hz" if that is meant'
            raise refuse("rate_hz", f"{rate_hz:g}", f"1000 or more, or {units}")
        here = place_of(x, "x", device)
        samples, pairs, facts = described_voltages(x, given, here is not None)
        if here is not None:
            device, fields = here, unread_by_host(here, _FIELDS, fields, _BY_HOST)
            samples, stream = behind_its_stream(samples, "x", here)
    else:
        names = file_paths(x)
        if rate_hz is not None and not isinstance(rate_hz, (int, float, str)):
            given["rate_hz"] = float(rate_hz)
        given["utc_start"] = given.pop("start")
        fields = {**fields, **{name: value for name, value in given.items() if value is not None}}
    kept, said = _tautline.correlate(
        names, samples, pairs, facts, _FIELDS.texts(fields), history("correlate"), device, stream, progress
    )
    warn(said["warnings"])
    return Visibilities(kept, said)


def described_voltages(x: Any, given: dict[str, Any], on_device: bool = False) -> tuple[Any, bool, dict[str, Any]]:
    """[channel][input][time], whether integers are pairs, and what is said of them."""
    samples, pairs = (x, are_pairs(x, "x")) if on_device else voltages(x, "x", "correlate")
    axes = samples.ndim - (1 if pairs else 0)
    require_axes(samples, "x", (2, 3, 4) if pairs else (1, 2, 3), "[time], [input][time] or [channel][input][time]")
    samples = samples[(None,) * (3 - axes)]
    if given["rate_hz"] is None:
        raise refuse("rate_hz", "none", "samples a second of each input, which an array does not say")
    rate = rational(given["rate_hz"], "rate_hz")
    real = not pairs and type_name(samples) != "complex64"
    width = float(rate) / (2 if real else 1) * samples.shape[0]
    if given["bandwidth_hz"] is not None:
        width = number(given["bandwidth_hz"], "bandwidth_hz")
    centre = width / 2 if real else 0.0
    if given["centre_hz"] is not None:
        centre = number(given["centre_hz"], "centre_hz")
        if 0 < centre < _LEAST_SKY_HZ and abs(width) > 2 * centre:
            advice = f"a number without a unit is hertz: {centre:g}MHz"
            raise refuse("centre_hz", f"{centre:g} Hz", f"at least half of the band of {abs(width):g} Hz", advice)
    return samples, pairs, {
        "rate_hz": f"{rate.numerator}/{rate.denominator}",
        "centre_hz": centre,
        "bandwidth_hz": width,
        "polarisations": 1 if given["polarisations"] is None else whole(given["polarisations"], "polarisations", 1),
        "start": given["start"] or "",
    }
