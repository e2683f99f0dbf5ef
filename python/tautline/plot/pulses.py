"""Figures of filterbanks and of pulses in them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..arguments import DISPERSION_CONSTANT, Quantity, megahertz, number, numbers, whole
from ..arrays import host_array, is_array
from ..candidates import Candidates
from ..correlation import Visibilities
from ..errors import refuse
from ..pulses import dedisperse
from .figures import colour_bar, loaded, panels, shades, start
from .filterbanks import Filterbank, deviations

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def waterfall(
    x: Any,
    *,
    frequencies: Any = None,
    sample_time_s: Quantity | None = None,
    start_s: Quantity = 0.0,
    duration_s: Quantity | None = None,
    dm: float = 0.0,
    normalise: bool = True,
    most_times: int = 1000,
    most_channels: int = 512,
    figure: Figure | None = None,
) -> Figure:
    """A filterbank against time and frequency.

    Parameters
    ----------
    x
        A filterbank: a file, what tautline.open gave of it, or an array [time, channel].
    frequencies, sample_time_s
        Of an array: centre of each channel in MHz, and s.
    start_s, duration_s
        The part to draw; all by default.
    dm
        Dispersion measure to take out, pc cm^-3; times are then those of the highest channel.
    normalise
        Each channel less its median, over its deviation (1.4826 times the median absolute deviation).
    most_times, most_channels
        Cells of the picture; more samples are averaged, and what is left over at the end is not drawn.
    figure
        To draw into; a new one by default.

    Returns
    -------
    Figure
        Of one panel, with its colour bar.
    """
    bank = Filterbank(x, frequencies, sample_time_s)
    first, count = bank.piece(start_s, duration_s)
    times = -(-count // whole(most_times, "most_times", 1))
    channels = -(-bank.mhz.size // whole(most_channels, "most_channels", 1))
    image = bank.averaged(first, count, number(dm, "dm"), times, channels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # channels without a sample
        if normalise:
            image = deviations(image, axis=0)
    figure = start(figure, 8, 4.5)
    (axes,) = panels(figure, [1])
    begin = first * bank.sample_time_s
    extent = (begin, begin + len(image) * times * bank.sample_time_s, *bank.edges_mhz(channels))
    shown = _image(axes, image.T, extent)
    axes.set(xlabel="time (s)" + (f", dedispersed at {dm:g} pc cm$^{{-3}}$" if dm else ""), ylabel="frequency (MHz)")
    colour_bar(figure, shown, axes, "deviations from the channel's median" if normalise else "power (file's units)")
    return figure


def _image(axes: Any, image: npt.NDArray[Any], extent: tuple[float, ...]) -> Any:
    """[y, x], the lower edge of y below whichever end it comes first at."""
    shown = axes.imshow(
        image, aspect="auto", origin="lower", extent=extent, interpolation="nearest", **shades(image, 99.8)
    )  # fmt: skip
    axes.set_ylim(min(extent[2:]), max(extent[2:]))
    return shown


def spectra(
    x: Any,
    *,
    frequencies: Any = None,
    sample_time_s: Quantity | None = None,
    start_s: Quantity = 0.0,
    duration_s: Quantity | None = None,
    inputs: Any = None,
    decibels: bool = True,
    figure: Figure | None = None,
) -> Figure:
    """Power against frequency: of each input of an array, or the bandpass of a filterbank.

    Parameters
    ----------
    x
        What tautline.correlate gave (means over time of each input with itself), what tautline.channelize gave, [input,
        spectrum, channel] or [spectrum, channel] of complex64, or a filterbank as waterfall takes it (mean and standard
        deviation of each channel).
    frequencies
        Of arrays: centre of each channel in MHz.
    sample_time_s, start_s, duration_s
        Of a filterbank, as waterfall has them.
    inputs
        Of voltages: those to draw; all by default.
    decibels
        Of voltages: 10 log10 of the power instead of the power.
    figure
        To draw into; a new one by default.

    Returns
    -------
    Figure
        Of one panel with a line for each input.
    """
    if isinstance(x, Visibilities):
        mhz, power = x.frequencies / 1e6, _autocorrelations(x)
    elif is_array(x) and np.iscomplexobj(host_array(x, "x")):
        voltages = host_array(x, "x")
        if frequencies is None:
            raise refuse("frequencies", "none", "the centre of each channel in MHz")
        mhz = np.array(megahertz(frequencies))
        voltages = voltages.reshape((-1, *voltages.shape[-2:]))
        if voltages.shape[-1] != mhz.size:
            raise refuse("frequencies", f"{mhz.size}", f"one for each of the {voltages.shape[-1]} channels of x")
        power = (np.abs(voltages) ** 2).mean(axis=1)
    else:
        return _bandpass(Filterbank(x, frequencies, sample_time_s), start_s, duration_s, figure)
    chosen = range(len(power)) if inputs is None else [whole(one, "inputs") for one in np.atleast_1d(inputs)]
    figure = start(figure, 8, 4)
    (axes,) = panels(figure, [1])
    for one in chosen:
        if one >= len(power):
            raise refuse("inputs", one, f"0 to {len(power) - 1}")
        with np.errstate(divide="ignore"):
            axes.plot(mhz, 10 * np.log10(power[one]) if decibels else power[one], label=f"input {one}", linewidth=1)
    axes.set(xlabel="frequency (MHz)", ylabel="power (dB)" if decibels else "power (units of the voltages squared)")
    axes.ticklabel_format(axis="x", useOffset=False)
    if 1 < len(chosen) <= 16:
        axes.legend(fontsize="small", ncols=4)
    return figure


def _autocorrelations(vis: Visibilities) -> npt.NDArray[np.float64]:
    """[input, channel], means over time weighted by the samples behind them."""
    rows = [i if vis.data.shape[2] == vis.inputs else i * (i + 1) // 2 + i for i in range(vis.inputs)]
    weights = vis.counts[:, :, rows].astype(float)
    with np.errstate(invalid="ignore"):
        return ((vis.data[:, :, rows].real * weights).sum(axis=0) / weights.sum(axis=0)).T  # type: ignore[no-any-return]


def _bandpass(bank: Filterbank, start_s: Quantity, duration_s: Quantity | None, figure: Figure | None) -> Figure:
    first, count = bank.piece(start_s, duration_s)
    total, squares = np.zeros(bank.mhz.size), np.zeros(bank.mhz.size)
    for at in range(first, first + count, 1 << 14):
        block = bank.read(at, min(1 << 14, first + count - at)).astype(np.float64)
        total += block.sum(axis=0)
        squares += (block**2).sum(axis=0)
    mean = total / count
    deviation = np.sqrt(np.maximum(0, squares / count - mean**2))
    figure = start(figure, 8, 4)
    (axes,) = panels(figure, [1])
    axes.fill_between(bank.mhz, mean - deviation, mean + deviation, alpha=0.3, linewidth=0, label="standard deviation")
    axes.plot(bank.mhz, mean, label="mean", linewidth=1)
    axes.set(xlabel="frequency (MHz)", ylabel="power (file's units)")
    axes.legend(fontsize="small")
    return figure


def dm_time(
    x: Any,
    pulse: Any,
    *,
    frequencies: Any = None,
    sample_time_s: Quantity | None = None,
    trials: int = 128,
    widths: float = 16,
    device: str = "auto",
    figure: Figure | None = None,
) -> Figure:
    """A pulse: its profile, its dedispersed spectrum and its dispersion measure against time.

    Parameters
    ----------
    x
        The filterbank, as waterfall takes it.
    pulse
        A row of what tautline.search gave, or (dm, time_s) or (dm, time_s, width_s): pc cm^-3, and seconds from the
        start at the highest channel.
    frequencies, sample_time_s
        Of an array: centre of each channel in MHz, and s.
    trials
        Of dispersion measure, so far to both sides that the pulse is smeared over half of what is drawn.
    widths
        Of the pulse that are drawn before and after it.
    device
        For the sums: auto, cpu, reference, cuda:N or opencl:N.
    figure
        To draw into; a new one by default.

    Returns
    -------
    Figure
        Of three panels, from above: profile, frequency against time, dispersion measure against time.
    """
    bank = Filterbank(x, frequencies, sample_time_s)
    dm, time_s, width = _pulse(pulse, bank.sample_time_s)
    at = int(time_s / bank.sample_time_s)
    if not 0 <= at < bank.samples:
        raise refuse("pulse", f"{time_s:g} s", f"a time from 0 to below {bank.samples * bank.sample_time_s:g} s")
    step = max(1, width // 4)  # samples of a cell
    half = -(-max(32, round(number(widths, "widths") * width)) // step) * step
    first = max(0, at - half)
    sweep = DISPERSION_CONSTANT * (bank.mhz.min() ** -2.0 - bank.mhz.max() ** -2.0) / bank.sample_time_s
    reach = half / sweep if sweep > 0 else 1.0
    dms = np.linspace(max(0.0, dm - reach), dm + reach, whole(trials, "trials", 2))
    while first + half + int(bank.delays(dms[-1]).max()) >= bank.samples and dms[-1] > dm:
        dms = dms[:-1]
    piece = bank.read(first, at + half - first + int(bank.delays(dms[-1]).max()) + 1)
    series = dedisperse(
        piece, dms, frequencies=bank.mhz, sample_time_s=bank.sample_time_s, device=device
    )[:, : at + half - first]  # fmt: skip
    cells = series.shape[1] // step
    if cells < 4:
        raise refuse("pulse", f"{time_s:g} s", "a pulse whose lowest channel is in the file")
    series = series[:, : cells * step].astype(np.float64).reshape(len(dms), cells, step).mean(axis=2)
    spectrum = deviations(bank.averaged(first, cells * step, dm, step, -(-bank.mhz.size // 128)), axis=0)
    ms = 1000 * ((first - at + (np.arange(cells) + 0.5) * step) * bank.sample_time_s)
    edges = (ms[0] - 500 * step * bank.sample_time_s, ms[-1] + 500 * step * bank.sample_time_s)

    figure = start(figure, 6.5, 8)
    profile, band, plane = panels(figure, [1, 1.6, 1.6])
    profile.step(ms, deviations(series[np.abs(dms - dm).argmin()], axis=0), where="mid", linewidth=1)
    profile.set(ylabel=f"S/N of {1000 * step * bank.sample_time_s:.3g} ms", xlim=edges)
    shown = _image(band, spectrum.T, (*edges, *bank.edges_mhz(-(-bank.mhz.size // 128))))
    band.set(ylabel="frequency (MHz)")
    colour_bar(figure, shown, band, "deviations from the channel's median")
    trial = (dms[1] - dms[0]) / 2
    shown = _image(plane, deviations(series, axis=1), (*edges, dms[0] - trial, dms[-1] + trial))
    plane.set_ylim(bottom=max(0.0, dms[0] - trial))
    plane.axhline(dm, color="white", linewidth=0.6, linestyle="--")
    plane.set(xlabel=f"time after {time_s:.6g} s (ms)", ylabel="DM (pc cm$^{-3}$)")
    colour_bar(figure, shown, plane, "S/N of a cell")
    return figure


def _pulse(pulse: Any, sample_time_s: float) -> tuple[float, float, int]:
    """Dispersion measure, time, and width in samples."""
    names = getattr(getattr(pulse, "dtype", None), "names", None)
    if names is not None:
        if np.ndim(pulse) != 0 or not {"dm", "time_s", "width_samples"} <= set(names):
            raise refuse("pulse", "an array", "one row of what search gave, as found[0]")
        return float(pulse["dm"]), float(pulse["time_s"]), max(1, int(pulse["width_samples"]))
    given = numbers(pulse, "pulse")
    if len(given) not in (2, 3):
        raise refuse("pulse", f"{len(given)} numbers", "(dm, time_s) or (dm, time_s, width_s)")
    width = round(given[2] / sample_time_s) if len(given) == 3 else 1
    return given[0], given[1], max(1, width)


def candidates(found: Any, *, figure: Figure | None = None) -> Figure:
    """The pulses of a search against time and dispersion measure; discs grow with S/N.

    Parameters
    ----------
    found
        What tautline.search or tautline.load gave, or a list of candidates.
    figure
        To draw into; a new one by default.

    Returns
    -------
    Figure
        Of one panel, with its colour bar.
    """
    found = loaded(found, "found", Candidates)
    names = getattr(getattr(found, "dtype", None), "names", None) or ()
    if not {"dm", "time_s", "snr"} <= set(names):
        raise refuse("found", f"a {type(found).__name__}", "what search gave, or a list of candidates")
    figure = start(figure, 8, 4)
    (axes,) = panels(figure, [1])
    shown = axes.scatter(
        found["time_s"], found["dm"], s=np.clip(2 * found["snr"], 8, 400), c=found["snr"], cmap="viridis_r",
        edgecolors="black", linewidths=0.4,
    )  # fmt: skip
    axes.set(xlabel="time (s)", ylabel="DM (pc cm$^{-3}$)")
    colour_bar(figure, shown, axes, "S/N")
    return figure
