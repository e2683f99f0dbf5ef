"""Figures: what is drawn is the data, with labels and units, and nothing is left behind."""

import json
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import write_filterbank

pytest.importorskip("matplotlib", reason="matplotlib is not installed in this environment; scripts/interop installs it")

MHZ = np.linspace(1500, 1200, 64)
TSAMP = 256e-6


def delays(dm: Any) -> Any:
    return np.round(tl.DISPERSION_CONSTANT * dm * (MHZ**-2.0 - MHZ.max() ** -2) / TSAMP).astype(int)


def sky(rng: np.random.Generator, times: Any = 6000, dm: Any=60.0, at: Any=2500, height: Any=40) -> Any:
    x = rng.normal(100, 10, (times, MHZ.size))
    for channel, late in enumerate(delays(dm)):
        x[at + late : at + late + 8, channel] += height
    return x.clip(0, 255).astype(np.uint8)


def is_labelled(figure: Any) -> None:
    """Every panel says what its axes are; those of x where they are shown."""
    for axes in figure.axes:
        if axes.get_label() == "<colorbar>":
            assert axes.get_ylabel()
            continue
        assert axes.get_ylabel(), axes
        assert axes.get_xlabel() or not axes.xaxis.get_tick_params()["labelbottom"]


def test_importing_and_drawing_leave_pyplot_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, numpy as np, tautline as tl\n"
         "assert 'matplotlib' not in sys.modules\n"
         "tl.plot.waterfall(np.ones((9, 4), 'u1'), frequencies=[1400, 1300, 1200, 1100], sample_time_s=1)\n"
         "assert 'matplotlib.pyplot' not in sys.modules"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_without_matplotlib_plots_say_what_to_do() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.modules['matplotlib'] = sys.modules['matplotlib.figure'] = None\n"
         "import numpy as np, tautline as tl\n"
         "try:\n    tl.plot.waterfall(np.ones((9, 4), 'u1'), frequencies=[1400, 1300, 1200, 1100], sample_time_s=1)\n"
         "except tl.UnsupportedError as error:\n    print(error)"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert "pip install matplotlib" in done.stdout, done.stderr


def test_waterfall_draws_the_samples(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    x = sky(rng)
    write_filterbank(tmp_path / "x.fil", x, MHZ, TSAMP)
    first, count = 1000, 400
    cases: list[tuple[Any, dict[str, Any]]] = [
        (x, {"frequencies": MHZ, "sample_time_s": TSAMP}),
        (tmp_path / "x.fil", {}),
        (tl.open(tmp_path / "x.fil"), {}),
    ]
    for given, more in cases:
        figure: Any = tl.plot.waterfall(given, start_s=first * TSAMP, duration_s=count * TSAMP, normalise=False, **more)
        axes = figure.axes[0]
        (image,) = axes.images
        assert np.array_equal(image.get_array(), x[first : first + count].T)
        left, right, low, high = image.get_extent()
        assert np.allclose((left, right), (first * TSAMP, (first + count) * TSAMP))
        step = MHZ[1] - MHZ[0]
        assert np.allclose((low, high), (MHZ[0] - step / 2, MHZ[-1] + step / 2))
        assert axes.get_ylim()[0] < axes.get_ylim()[1]
        is_labelled(figure)


def test_waterfall_averages_and_dedisperses(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    x = sky(rng)
    monkeypatch.setattr("tautline.plot.filterbanks._VALUES_AT_ONCE", int(rng.integers(1, 1 << 16)))
    figure: Any = tl.plot.waterfall(
        x, frequencies=MHZ, sample_time_s=TSAMP, dm=60, normalise=False, most_times=700, most_channels=20
    )
    image = np.asarray(np.ma.getdata(figure.axes[0].images[0].get_array()))  # type: ignore[no-untyped-call]
    late = delays(60)
    straight = np.full(x.shape, np.nan)
    for channel, delay in enumerate(late):
        straight[: len(x) - delay, channel] = x[delay:, channel]
    times, channels = -(-len(x) // 700), -(-MHZ.size // 20)
    rows, kept = len(x) // times, MHZ.size // channels
    expected = straight[: rows * times, : kept * channels].reshape(rows, times, kept, channels).mean(axis=(1, 3))
    assert image.shape == expected.T.shape and rows <= 700 and kept <= 20
    assert np.allclose(image, expected.T, equal_nan=True)
    assert np.isnan(image[-1, -1])
    assert "60 pc" in figure.axes[0].get_xlabel()


def test_waterfall_normalises_each_channel(rng: np.random.Generator) -> None:
    x = rng.normal(0, 1, (3000, MHZ.size)) * np.linspace(1, 5, MHZ.size) + np.arange(MHZ.size)
    x[:, 7] = 3
    figure: Any = tl.plot.waterfall(x, frequencies=MHZ, sample_time_s=TSAMP, most_times=3000)
    image = figure.axes[0].images[0].get_array()
    assert np.all(image[7] == 0)
    others = np.delete(np.asarray(image), 7, axis=0)
    assert np.abs(np.median(others, axis=1)).max() < 1e-5 and np.abs(others.std(axis=1) - 1).max() < 0.15


def test_spectra_of_a_filterbank_are_its_bandpass(rng: np.random.Generator) -> None:
    x = sky(rng, 3000)
    figure: Any = tl.plot.spectra(x, frequencies=MHZ, sample_time_s=TSAMP)
    (line,) = figure.axes[0].lines
    assert np.array_equal(line.get_xdata(), MHZ) and np.allclose(line.get_ydata(), x.mean(axis=0))
    (band,) = figure.axes[0].collections
    top = band.get_paths()[0].vertices[:, 1].max()
    assert np.isclose(top, (x.mean(axis=0) + x.std(axis=0)).max())
    is_labelled(figure)


def visibilities(rng: np.random.Generator, seconds: Any = 0.2) -> Any:
    x = rng.standard_normal((3, int(1e6 * seconds))) + 1j * rng.standard_normal((3, int(1e6 * seconds)))
    x[1:] += 0.5 * x[0] * np.exp(1j * np.array([[0.7], [-2.0]]))
    return tl.correlate(
        x.astype(np.complex64), rate_hz=1e6, centre_hz=150e6, channels=32, integration_s=0.02, requantise="off"
    )


def test_spectra_of_voltages_are_powers(rng: np.random.Generator) -> None:
    vis = visibilities(rng)
    figure: Any = tl.plot.spectra(vis)
    assert len(figure.axes[0].lines) == 3
    for i, line in enumerate(figure.axes[0].lines):
        assert np.array_equal(line.get_xdata(), vis.frequencies / 1e6)
        weights = vis.counts[:, :, i * (i + 1) // 2 + i]
        with np.errstate(invalid="ignore"):
            expected = 10 * np.log10((vis.baseline(i, i).real * weights).sum(axis=0) / weights.sum(axis=0))
        assert np.allclose(line.get_ydata(), expected, equal_nan=True)
    is_labelled(figure)
    spectra = tl.channelize(rng.standard_normal((2, 8192)).astype(np.float32), 64)
    figure = tl.plot.spectra(spectra, frequencies=np.arange(64.0), inputs=1, decibels=False)
    (line,) = figure.axes[0].lines
    assert np.allclose(line.get_ydata(), (np.abs(spectra[1]) ** 2).mean(axis=0))


@pytest.mark.parametrize("against", ["time", "frequency"])
def test_fringes_are_correlation_coefficients(rng: np.random.Generator, against: Any) -> None:
    vis = visibilities(rng)
    channels, times = slice(4, 20), slice(1, 7)
    figure: Any = tl.plot.fringes(vis, [(1, 0), (0, 2)], against=against, channels=channels, times=times)
    amplitude, phase = figure.axes
    axis = 1 if against == "time" else 0

    def mean(i: Any, j: Any) -> Any:
        high, low = max(i, j), min(i, j)
        counts = vis.counts[times, channels, high * (high + 1) // 2 + low]
        return (vis.baseline(i, j)[times, channels] * counts).sum(axis=axis) / counts.sum(axis=axis), counts.sum(
            axis=axis
        )

    x = (vis.times[times] - vis.times[0]) * 86400 if against == "time" else vis.frequencies[channels] / 1e6
    for (i, j), above, below in zip([(1, 0), (0, 2)], amplitude.containers, phase.containers):
        value, samples = mean(i, j)
        r = value / np.sqrt(mean(i, i)[0].real * mean(j, j)[0].real)
        assert np.allclose(above.lines[0].get_xdata(), x) and np.allclose(above.lines[0].get_ydata(), np.abs(r))
        assert np.allclose(below.lines[0].get_ydata(), np.degrees(np.angle(r)))
        bars = np.array(above.lines[2][0].get_segments())
        assert np.allclose((bars[:, 1, 1] - bars[:, 0, 1]) / 2, 1 / np.sqrt(2 * samples))
        assert above.get_label() == f"inputs {i}, {j}"
    # x_1 has 0.5 exp(0.7 i) of x_0 beside a noise of its own: 0.5 / sqrt(1.25).
    assert abs(np.mean(amplitude.containers[0].lines[0].get_ydata()) - 0.447) < 0.03
    assert abs(np.mean(phase.containers[0].lines[0].get_ydata()) - np.degrees(0.7)) < 3
    is_labelled(figure)


def test_fringes_choose_the_strongest(rng: np.random.Generator) -> None:
    figure: Any = tl.plot.fringes(visibilities(rng))
    assert sorted(one.get_label() for one in figure.axes[0].containers) == ["inputs 1, 0", "inputs 2, 0", "inputs 2, 1"]


def test_dm_time_shows_the_pulse(rng: np.random.Generator) -> None:
    dm, at = 60.0, 2500
    x = sky(rng, dm=dm, at=at)
    found = tl.search(x, "0:120", threshold=8, frequencies=MHZ, sample_time_s=TSAMP)
    figure: Any = tl.plot.dm_time(x, found[0], frequencies=MHZ, sample_time_s=TSAMP)
    profile, band, plane = figure.axes[:3]
    (line,) = profile.lines
    peak_s = found[0]["time_s"] + line.get_xdata()[np.argmax(line.get_ydata())] / 1000
    assert abs(peak_s - (at + 4) * TSAMP) < 12 * TSAMP
    (image,) = plane.images
    values, (left, right, low, high) = np.asarray(image.get_array()), image.get_extent()
    trial, time = np.unravel_index(np.argmax(values), values.shape)
    best_dm = low + (high - low) * (trial + 0.5) / values.shape[0]
    best_ms = left + (right - left) * (time + 0.5) / values.shape[1]
    assert abs(best_dm - dm) < 4 and abs(found[0]["time_s"] + best_ms / 1000 - (at + 4) * TSAMP) < 20 * TSAMP
    bright = np.asarray(band.images[0].get_array())
    middle = np.argmax(line.get_ydata())
    assert bright[:, middle].mean() > 5 * np.abs(bright[:, : middle // 2].mean(axis=0)).max()
    is_labelled(figure)
    again = tl.plot.dm_time(
        x, (found[0]["dm"], found[0]["time_s"], found[0]["width_samples"] * TSAMP), frequencies=MHZ, sample_time_s=TSAMP
    )
    assert np.array_equal(again.axes[0].lines[0].get_ydata(), line.get_ydata())


@pytest.mark.parametrize("at", [3, 5600])
def test_dm_time_near_the_ends(rng: np.random.Generator, at: Any) -> None:
    x = sky(rng, dm=20.0, at=at)
    figure: Any = tl.plot.dm_time(x, (20.0, at * TSAMP, 8 * TSAMP), frequencies=MHZ, sample_time_s=TSAMP)
    assert np.isfinite(figure.axes[0].lines[0].get_ydata()).all()
    assert figure.axes[2].get_ylim()[0] == 0  # from DM 0 on
    assert [axes.get_label() for axes in figure.axes].count("<colorbar>") == 2


def test_candidates(rng: np.random.Generator) -> None:
    found = tl.search(sky(rng), "0:120", threshold=6, frequencies=MHZ, sample_time_s=TSAMP)
    figure: Any = tl.plot.candidates(found)
    assert np.allclose(figure.axes[0].collections[0].get_offsets(), np.stack([found["time_s"], found["dm"]], axis=1))
    is_labelled(figure)


def counts(rng: np.random.Generator, sensors: Any = 2) -> Any:
    rate = np.repeat(rng.exponential(1.0, 4000), rng.geometric(0.02, 4000))
    return rng.poisson(rate[:, np.newaxis], (rate.size, sensors)).astype(np.uint8)


def test_curves_with_fit_and_residuals(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    k = tl.autocorrelate(counts(rng), bin_s=1e-5, bins=16, levels=8)
    fit = tl.fit(k, model="3d")
    figure: Any = tl.plot.curves(k, fit)
    upper, lower = figure.axes
    model = fit.g()
    fitted = np.isin(k.lag_s, fit.lag_s)
    for curve, (bars, residual) in enumerate(zip(upper.containers, lower.lines)):
        shown = (k.lag_s > 0) & np.isfinite(k.g[curve])
        assert np.array_equal(bars.lines[0].get_ydata(), k.g[curve, shown]) and np.array_equal(
            bars.lines[0].get_xdata(), k.lag_s[shown]
        )
        assert np.array_equal(upper.lines[2 * curve + 1].get_ydata(), model[curve])
        expected = (k.g[curve, fitted] - model[curve]) / k.standard_error[curve, fitted]
        assert np.allclose(residual.get_ydata(), expected, equal_nan=True)
    assert upper.get_xscale() == "log" and "error" in lower.get_ylabel()
    is_labelled(figure)
    one = tl.plot.curves(k, which=1)
    assert len(one.axes) == 1 and len(one.axes[0].containers) == 1

    single = tl.autocorrelate(counts(rng)[:, 0], bin_s=1e-5, bins=16, levels=8)
    single.write(tmp_path / "g.csv")
    drawn: Any = tl.plot.curves(tmp_path / "g.csv").axes[0].containers[0]
    line = drawn.lines[0]
    kept = np.isin(single.lag_samples, np.rint(line.get_xdata() / 1e-5))
    assert kept.sum() == len(line.get_xdata()) > 50
    assert np.allclose(line.get_ydata(), single.g[kept], rtol=1e-6)


def report(rng: np.random.Generator) -> Any:
    rates = rng.uniform(1e9, 4e9, 50)
    width = rates.max() / 40
    bins = np.bincount(np.minimum(39, (rates / width).astype(int)), minlength=40)
    return {
        "schema": "tautline.tuning", "version": 1,
        "problems": [{
            "name": "n64", "product": "a card", "operations": 1e9, "unit": "samples/s", "best": {"seconds": 1e9 / rates.max()},
            "default": {"seconds": 1e9 / rates[0]},
            "distribution": {"mean_rate": rates.mean(), "deviation": rates.std(ddof=1), "most_rate": rates.max(), "bin_width": width,
                             "bins": bins.tolist(), "optimum_sigmas": (rates.max() - rates.mean()) / rates.std(ddof=1)},
        }],
    }  # fmt: skip


def test_tuning(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    made = report(rng)
    (tmp_path / "tuning-correlate.json").write_text(json.dumps(made))
    for given in (made, tmp_path / "tuning-correlate.json"):
        figure: Any = tl.plot.tuning(given, "n64")
        (axes,) = figure.axes
        spread = made["problems"][0]["distribution"]
        assert [bar.get_height() for bar in axes.patches] == spread["bins"]
        assert np.isclose(axes.patches[-1].get_x() + axes.patches[-1].get_width(), spread["most_rate"] / 1e9)
        places = [line.get_xdata()[0] for line in axes.lines]
        best = 1 / made["problems"][0]["best"]["seconds"]
        assert np.allclose(places, [spread["mean_rate"] / 1e9, 1 / made["problems"][0]["default"]["seconds"], best])
        assert axes.get_xlabel() == "rate (G samples/s)"


def test_figures_are_the_callers(rng: np.random.Generator) -> None:
    import matplotlib.figure

    whole = matplotlib.figure.Figure(layout="constrained")
    left, right = whole.subfigures(1, 2)
    x = sky(rng, 2000)
    assert tl.plot.spectra(x, frequencies=MHZ, sample_time_s=TSAMP, figure=left) is left
    assert tl.plot.waterfall(x, frequencies=MHZ, sample_time_s=TSAMP, figure=right) is right
    assert len(whole.axes) == 3
    shown: Any = tl.plot.waterfall(x, frequencies=MHZ, sample_time_s=TSAMP)
    assert isinstance(shown, matplotlib.figure.Figure)
    assert getattr(shown, "_repr_png_")().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "call, field",
    [
        (lambda x, tmp: tl.plot.waterfall(x), "frequencies and sample_time_s"),
        (lambda x, tmp: tl.plot.waterfall(x, frequencies=MHZ[:5], sample_time_s=1), "frequencies"),
        (lambda x, tmp: tl.plot.waterfall(x, frequencies=MHZ, sample_time_s=1, start_s=-1), "start_s"),
        (lambda x, tmp: tl.plot.dm_time(x, (1, 1e9), frequencies=MHZ, sample_time_s=1), "pulse"),
        (lambda x, tmp: tl.plot.dm_time(x, (1,), frequencies=MHZ, sample_time_s=1), "pulse"),
        (lambda x, tmp: tl.plot.fringes(x), "vis"),
        (lambda x, tmp: tl.plot.curves(x), "k"),
        (lambda x, tmp: tl.plot.candidates(x), "found"),
        (lambda x, tmp: tl.plot.tuning({}), "report"),
        (lambda x, tmp: tl.plot.tuning(report(np.random.default_rng(1)), "n65"), "problem"),
    ],
)
def test_refusals(rng: np.random.Generator, tmp_path: pathlib.Path, call: Any, field: Any) -> None:
    with pytest.raises(tl.ConfigError) as caught:
        call(sky(rng, 100), tmp_path)
    assert caught.value.field == field
