"""Dedispersion, and searches for pulses in filterbanks and in dedispersed series."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _tautline
from .arguments import (
    DISPERSION_CONSTANT,
    Fields,
    Quantity,
    documented,
    documented_arguments,
    file_paths,
    history,
    megahertz,
    number,
    numbers,
    rational,
    whole,
)
from .arrays import dense_rows, host_array, is_array, is_file, native, require_axes, require_type
from .candidates import Candidates, candidates_of
from .correlation import Progress
from .devices import Foreign, array_beside, behind_its_stream, for_plans, place_of, require_output, type_name, unread_by_host
from .errors import ConfigError, refuse, warn
from .stages import dedisperse as dedisperse_stage
from .stages import detect as detect_stage

_DEDISPERSE = Fields("dedisperse")
_SEARCH = Fields("search")
_DETECT = Fields("stages.detect")
_BY_HOST = ("mask", "flag_channels", "iqrm", "inject", "picture_folder", "cutout_folder")
_DETECT_MAX_WIDTH_S = 0.1
_STAGE_FIELDS = ("dm_constant", "reference_mhz", "ignored_channels", "zero_dm", "downsample")


@documented(_DEDISPERSE, ("list", "range", "format"))
def dedisperse(
    x: Any,
    dms: Any,
    *,
    frequencies: Any = None,
    sample_time_s: Quantity | None = None,
    axes: str = "tf",
    out: Any = None,
    device: str = "auto",
    progress: Progress | None = None,
    **fields: Any,
) -> Any:
    """Sums of channels along the delays of trial dispersion measures.

    Parameters
    ----------
    x
        A filterbank: a file or several, what tautline.open gave of them, or an array of two axes: uint8, int8, uint16,
        int16 or float32 (float64 is rounded).  An array of a GPU (cupy, torch, jax), [time, channel], stays there, and so
        does the result; of cupy and torch on their current stream.
    dms
        Trials in pc cm^-3: numbers, as numpy.arange(0, 400, 0.5), or of files also a text "LO:HI" or "LO:HI:STEP".  Two
        trials are a list: (0, 400) may be meant as a range, and is refused.
    frequencies
        Of an array: centre of each channel in MHz (or texts as "1.4GHz"), in any order.
    sample_time_s
        Of an array: seconds, or a text as "256us".
    axes
        Of an array: tf is [time, channel], ft is [channel, time].
    out
        Of an array: where the result goes, an array of exactly its type and shape, in the memory of `x` and apart from
        it, its last axis dense.  jax's arrays have none.
    device
        auto, cpu, reference, cuda:N or opencl:N.
    progress
        Called now and then with the times done and those there are.

    Arrays take dm_constant, reference_mhz, ignored_channels, zero_dm and downsample besides.  Fields of a run over
    files, all optional:

    {fields}

    Returns
    -------
    [trial, time]: int32 sums of integers, which are exact, or float32 (float input and zero_dm).  Time t is that at
    which a pulse passes the highest channel's centre; the series end when the largest delay has.  `out` where it was
    given.

    Raises
    ------
    ConfigError
        Shapes, types or fields that are not allowed, or delays as long as the data.

    Warns
    -----
    DataWarning
        Something is wrong with the data of files, or values of an array are not finite.
    """
    here = place_of(x, "x", device)
    if here is not None:
        return _dedisperse_on_device(x, dms, frequencies, sample_time_s, axes, out, here, progress, fields)
    if is_array(x):
        return _dedisperse_array(x, dms, frequencies, sample_time_s, axes, out, device, progress, fields)
    if out is not None:
        raise refuse("out", "given for a file", "an array of samples", "leave it out")
    _refuse_array_arguments(frequencies, sample_time_s, axes)
    texts, trials = _trials(_DEDISPERSE, dms, fields)
    segments, said = _tautline.dedisperse_files(file_paths(x), texts, trials, history("dedisperse"), device, progress)
    warn(said["warnings"])
    if len(segments) != 1:
        raise refuse("downsample_tolerance", f"{len(segments)} kinds of sampling", "one, which an array has")
    return segments[0][2]


def _dedisperse_array(
    x: Any, dms: Any, frequencies: Any, sample_time_s: Any, axes: str, out: Any, device: str, progress: Progress | None,
    fields: dict[str, Any],
) -> Any:
    samples = _filterbank(x, axes, "stages.dedisperse.Plan")
    _require_of_array(fields, _STAGE_FIELDS, "an array")
    ignored = np.atleast_1d(fields.get("ignored_channels", []))
    if frequencies is None or sample_time_s is None:
        raise refuse("frequencies and sample_time_s", "not both given", "those of the array, in MHz and s")
    if out is not None:
        require_output(out, samples)
    made, not_finite = _tautline.dedisperse(
        samples,
        axes == "tf",
        megahertz(frequencies),
        number(sample_time_s, "sample_time_s"),
        _trials_of_array(dms),
        number(fields.get("dm_constant", DISPERSION_CONSTANT), "dm_constant"),
        number(fields.get("reference_mhz", 0), "reference_mhz"),
        [whole(channel, "ignored_channels") for channel in ignored],
        bool(fields.get("zero_dm", False)),
        whole(fields.get("downsample", 1), "downsample", 1),
        out,
        device,
        progress,
    )
    warn([not_finite] if not_finite else [])
    return made if out is None else out


@documented(_SEARCH, ("list", "range", "plot_folder", "most_plots"))
def search(
    x: Any,
    dms: Any = None,
    *,
    threshold: float = 6,
    frequencies: Any = None,
    sample_time_s: Quantity | None = None,
    axes: str = "tf",
    start: str | None = None,
    output: str = "",
    overwrite: bool = False,
    device: str = "auto",
    progress: Progress | None = None,
    **fields: Any,
) -> Candidates:
    """Searches a filterbank, or files of dedispersed series, for pulses; what the command `tautline search` does.

    Parameters
    ----------
    x
        A filterbank: a file or several, what tautline.open gave of them, or an array of two axes: uint8, int8, uint16,
        int16 or float32 (float64 is rounded).  An array must not change while this runs.  An array of a GPU (cupy,
        torch, jax), [time, channel], stays there; stretches and channels in it that never change are data
        (`keep_constant`), and what is not finite makes its time missing in all trials.  Or files of dedispersed series
        (.npy, .dat, .tim), opened or not; arrays of series, as `dedisperse` gives them, are searched by `detect`.
    dms
        Trials in pc cm^-3: a text "LO:HI" (steps by the S/N that may be lost) or "LO:HI:STEP", or numbers.  Of a
        filterbank alone: files of series say their own.
    threshold
        S/N from which on a pulse is one.
    frequencies, sample_time_s, axes, start
        Of an array: centre of each channel in MHz (or texts as "1.4GHz"), seconds (or a text as "256us"), tf ([time,
        channel]) or ft ([channel, time]), UTC.
    output
        A list to write, too: .csv, .cand or .singlepulse; none by default.
    device
        auto, cpu, reference, cuda:N or opencl:N.
    progress
        Called now and then with the times done and those there are.

    Fields of the run, all optional:

    {fields}

    Returns
    -------
    Candidates, a structured array, best first: dm, snr, time_s, sample, width_samples, dm_index, members, first_sample,
    last_sample, beam, beams, injected (1: of a pulse that `inject` put in; how many were, and were recalled, is in
    `facts`), filled (the fraction of the values along the sweep that stand in for data; nan: not known).
    pandas.DataFrame and astropy.table.Table take it as it is.

    Raises
    ------
    ConfigError, FormatError, InputOutputError, OutOfMemoryError

    Warns
    -----
    DataWarning
        Something is wrong with the data.
    """
    samples: Any = None
    facts, names, stream = dict[str, Any](), list[str](), 0
    if is_array(x):
        if dms is None:
            raise _no_trials("series are searched by tautline.detect")
        here = place_of(x, "x", device)
        _require_short_samples(sample_time_s, fields.get("max_width_s"))
        samples, facts = described_filterbank(x, frequencies, sample_time_s, axes, start, here is not None)
        if here is not None:
            device, fields = here, unread_by_host(here, _SEARCH, fields, _BY_HOST)
            samples, stream = behind_its_stream(samples, "x", here)
    else:
        _refuse_array_arguments(frequencies, sample_time_s, axes)
        names = file_paths(x)
    fields = {"threshold": threshold, **fields}
    texts, trials = (_SEARCH.texts(fields), []) if dms is None else _trials(_SEARCH, dms, fields)
    try:
        columns, said = _tautline.search(
            names, samples, facts, texts, trials, output, bool(overwrite), history("search"), device, stream, progress
        )
    except ConfigError as error:
        raise _about_dms(error, dms) from None
    warn(said["warnings"])
    return candidates_of(columns, said)


@documented_arguments(_DETECT)
def detect(
    series: Any,
    dms: Any = None,
    *,
    sample_time_s: Quantity,
    threshold: float = 6,
    max_width_s: Quantity = _DETECT_MAX_WIDTH_S,
    baseline_s: Quantity = 0,
    noise: str = "trial",
    noise_s: Quantity = 0,
    time_samples: int = 3,
    dm_trials: int = 8,
    width_octaves: int = 3,
    device: str = "auto",
    progress: Progress | None = None,
) -> Candidates:
    """Finds pulses in dedispersed series: running mean, noise, boxcars, threshold, groups.

    Parameters
    ----------
    series
        [trial, time] as `dedisperse` gives them, or [time] of one trial: int32 or float32 (float64 is rounded).
        Samples that are NaN, infinite or too large (2^30 and 1e30) are missing.  An array of a GPU (cupy, torch, jax) is
        read there; of cupy and torch on their current stream.
    dms
        Of the trials, in pc cm^-3, for the column `dm`; without them that is NaN.  Trials are in ascending order of DM.
    {fields}
    device
        auto, cpu, reference, cuda:N or opencl:N.
    progress
        Called now and then with the times done and those there are.

    Returns
    -------
    Candidates, a structured array, best first, with the columns that `search` gives but `filled`.  Of its `facts`:
    detect_backend; widths, those of the boxcars in samples; samples; missing and detections, over all trials.

    Raises
    ------
    ConfigError
        An argument or the array is not what is allowed.

    Warns
    -----
    DataWarning
        Samples are missing.
    """
    if is_file(series):
        raise refuse("series", "a file", "an array, [trial][time]", "give the file to tautline.search")
    here = place_of(series, "series", device)
    if here is not None:
        rows, device = for_plans(series), here
    else:
        rows = native(host_array(series, "series", "stages.detect.Plan"))
        if rows.dtype.name == "float64":
            rows = rows.astype(np.float32)
    if type_name(rows) not in _SERIES:
        raise refuse("series", type_name(rows), "one of " + " ".join(_SERIES), "convert it")
    require_axes(rows, "series", (1, 2), "[time] or [trial][time]")
    rows = rows if rows.ndim == 2 else rows[None]
    if here is None:
        rows = dense_rows(rows)
    trials, times = rows.shape
    _require_short_samples(sample_time_s, max_width_s)
    plan = detect_stage.Plan(
        trials, dms, sample_time_s=sample_time_s, threshold=threshold, max_width_s=max_width_s, baseline_s=baseline_s,
        noise=noise, noise_s=noise_s, time_samples=time_samples, dm_trials=dm_trials, width_octaves=width_octaves,
        dtype=_SERIES[type_name(rows)], max_samples=min(max(times, 1), _PIECE), device=device,
    )  # fmt: skip
    pieces = []  # of jax copies, which the GPU may read until finish()
    for start in range(0, times, _PIECE):
        pieces.append(rows[:, start : start + _PIECE])
        plan.execute(pieces[-1])
        if progress is not None:
            progress(min(start + _PIECE, times), times)
    plan.finish()
    found = plan.take()
    missing = found.facts["missing"]
    what = "1 sample of the series is" if missing == 1 else f"{missing} samples of the series are"
    found.facts["warnings"] = [f"{what} missing: NaN, infinite or too large"] if missing else []
    warn(found.facts["warnings"])
    return found


_FORMATS = {"uint8": "u8", "int8": "i8", "uint16": "u16", "int16": "i16", "float32": "f32"}
_DEVICE_FIELDS = ("dm_constant", "zero_dm", "downsample")
_SERIES = {"int32": "i32", "float32": "f32"}
_PIECE = 1 << 16  # times in an execute


def _dedisperse_on_device(
    x: Any, dms: Any, frequencies: Any, sample_time_s: Any, axes: str, out: Any, device: str, progress: Progress | None,
    fields: dict[str, Any],
) -> Any:
    x = for_plans(_on_device(x, axes))
    _require_of_array(fields, _DEVICE_FIELDS, "an array of a GPU")
    if frequencies is None or sample_time_s is None:
        raise refuse("frequencies and sample_time_s", "not both given", "those of the array, in MHz and s")
    if out is not None:
        require_output(out, x)
    all_times = x.shape[0]
    whole_array = isinstance(x, Foreign)  # slices of jax are copies
    piece = max(all_times, 1) if whole_array else _PIECE
    plan = dedisperse_stage.Plan(frequencies, sample_time_s, _trials_of_array(dms), dtype=_FORMATS[type_name(x)], max_samples=piece, device=device, **fields)
    times = max(0, all_times // fields.get("downsample", 1) - plan.max_delay)
    shape = (plan.trials, times)
    if out is not None:
        if tuple(out.shape) != shape or type_name(out) != plan.dtype.name:
            raise refuse("out", f"{type_name(out)} {tuple(out.shape)}", f"{plan.dtype.name} {shape}, as the result")
    room = 0 if whole_array else plan.room
    made = out if out is not None else array_beside(x, (plan.trials, times + room), plan.dtype.type)
    done = 0
    for start in range(0, all_times, piece):
        if whole_array:
            plan._execute(x, made)
        else:
            done += plan._execute(x[start : start + piece], made[:, done:])
        if progress is not None:
            progress(min(start + piece, all_times), all_times)
    del plan  # waits for the series
    if out is not None:
        return out
    return made.array if isinstance(made, Foreign) else made[:, :times]


def _require_of_array(fields: dict[str, Any], taken: tuple[str, ...], kind: str) -> None:
    for name in fields:
        if name not in taken:
            _DEDISPERSE.full_name(name)  # refuses what is no field at all
            raise refuse(name, f"given for {kind}", "one of " + ", ".join(taken), "leave it out")


def described_filterbank(
    x: Any, frequencies: Any, sample_time_s: Any, axes: str, start: str | None, on_device: bool = False
) -> tuple[Any, dict[str, Any]]:
    """[time, channel] that runs take, with either axis dense, and what is said of it."""
    samples = _on_device(x, axes) if on_device else _filterbank(x, axes, "search")
    if axes == "ft":
        samples = samples.T
    if frequencies is None or sample_time_s is None:
        raise refuse("frequencies and sample_time_s", "not both given", "those of the array, in MHz and s")
    rate = 1 / rational(sample_time_s, "sample_time_s")
    return samples, {
        "frequencies": megahertz(frequencies),
        "sample_time_s": float(1 / rate),
        "rate_hz": f"{rate.numerator}/{rate.denominator}",
        "start": start or "",
    }


def _on_device(x: Any, axes: str) -> Any:
    """An array of a GPU that is a filterbank."""
    name = type_name(x)
    if name not in _FORMATS or x.ndim != 2 or axes != "tf":
        raise refuse("x", f"{name} of {x.ndim} axes, {axes}", "[time][channel] of " + " ".join(_FORMATS), "convert it")
    return x


def _filterbank(x: Any, axes: str, *takers: str) -> npt.NDArray[Any]:
    samples = native(host_array(x, "x", *takers))
    if samples.dtype.name == "float64":
        samples = samples.astype(np.float32)
    if samples.dtype == np.int32 and "search" in takers:
        raise refuse("x", "int32, as of series", "one of " + " ".join(_FORMATS), "give series to tautline.detect")
    require_type(samples, "x", tuple(_FORMATS))
    require_axes(samples, "x", (2,), "two axes, of time and channel")
    if axes not in ("tf", "ft"):
        raise refuse("axes", axes, "tf ([time][channel]) or ft ([channel][time])")
    return dense_rows(samples)


def _refuse_array_arguments(frequencies: Any, sample_time_s: Any, axes: str) -> None:
    if frequencies is not None or sample_time_s is not None or axes != "tf":
        raise refuse("frequencies, sample_time_s and axes", "given for a file", "an array: files say it", "leave them out")


def _no_trials(advice: str = "") -> ConfigError:
    return refuse("dms", "none", 'trials in pc cm^-3, as "0:500" or numbers', advice)


def _about_dms(error: ConfigError, dms: Any) -> ConfigError:
    """What a run says of two fields, a range and a list, of which one is given: here they are one argument."""
    if error.field == "dms.range" and dms is None:
        return _no_trials("only files of dedispersed series say them")
    if error.field == "dms.range" and error.value.startswith("given for "):
        return refuse("dms", error.value, error.limit, "leave it out")
    return error


def _trials(known: Fields, dms: Any, fields: dict[str, Any]) -> tuple[dict[str, str], list[float]]:
    if isinstance(dms, str):
        ends = dms.split(":")
        try:
            backwards = float(ends[0]) > float(ends[1])
        except (IndexError, ValueError):
            backwards = False
        if backwards:
            raise refuse("dms", dms, "LOW:HIGH, the lower one first", f'"{ends[1]}:{ends[0]}"')
        return known.texts({"dms.range": dms, **fields}), []
    trials = numbers(dms, "dms")
    if not trials:
        raise refuse("dms", "none", "one dispersion measure or more")
    _refuse_pair(dms, trials, '"{}:{}"')
    for before, dm in zip(trials, trials[1:], strict=False):
        if dm <= before:  # rows and dm_index follow the order
            raise refuse("dms", f"{dm:.10g} after {before:.10g}", "rising numbers", "numpy.unique(dms) sorts them")
    return known.texts(fields), trials


def _trials_of_array(dms: Any) -> list[float]:
    if isinstance(dms, str):
        raise refuse("dms", dms, "numbers, of an array", "a range is numpy.arange(LOW, HIGH, STEP)")
    trials = numbers(dms, "dms")
    _refuse_pair(dms, trials, "numpy.arange({}, {}, STEP)")
    return trials


def _refuse_pair(dms: Any, trials: list[float], form: str) -> None:
    """A tuple of two may be meant as a range."""
    if isinstance(dms, tuple) and len(trials) == 2:
        given = ", ".join(f"{dm:.10g}" for dm in trials)
        low, high = (f"{dm:.10g}" for dm in sorted(trials))
        a_range = form.format(low, high)
        raise refuse("dms", f"({given})", "a range or a list", f"{a_range} is a range, [{low}, {high}] two trials")


def _require_short_samples(sample_time_s: Any, max_width_s: Any) -> None:
    """Refuses a number of microseconds, which would be found too long for the boxcars."""
    if sample_time_s is None or isinstance(sample_time_s, str):
        return
    widest_s = number(_DETECT_MAX_WIDTH_S if max_width_s is None else max_width_s, "max_width_s")
    sample_s = number(sample_time_s, "sample_time_s")
    if sample_s >= 1 and sample_s > widest_s:
        limit = f"seconds, at most the {widest_s:g} of max_width_s"
        raise refuse("sample_time_s", f"{sample_s:g}", limit, "of microseconds give a text, as 256us, or 256e-6")
