"""correlate of arrays and files: against numpy's sums over what channelize gives, and arrays against files."""
import pathlib
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import assert_progress_may_raise


def noise(rng: np.random.Generator, shape: Any, dtype: str = "complex64") -> Any:
    x = 30 * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))
    x[-1] += x[0]
    if np.dtype(dtype).kind == "c":
        return x.astype(dtype)
    return np.stack([x.real, x.imag], axis=-1).round().clip(-128, 127).astype(dtype)


def pairs_of(inputs: Any) -> Any:
    return [(i, j) for i in range(inputs) for j in range(i + 1)]


def means(spectra: Any, per_integration: Any) -> Any:
    """[input, spectrum, channel] to [time, channel, baseline]; the last integration may be short."""
    starts = range(0, spectra.shape[1], per_integration)
    return np.stack(
        [
            np.stack([(p[i] * p[j].conj()).mean(0) for i, j in pairs_of(len(p))], axis=-1)
            for p in (spectra[:, s : s + per_integration].astype(complex) for s in starts)
        ]
    )


def near(got: Any, expected: Any, tolerance: Any = 1e-5) -> None:
    assert got.shape == expected.shape
    assert np.abs(got - expected).max() <= tolerance * np.abs(expected).max()


@pytest.mark.parametrize("dtype", ["complex64", "int8"])
def test_against_numpy(rng: np.random.Generator, dtype: str) -> None:
    rate, channels, per = 64000, 32, 100
    x = noise(rng, (4, 32 * 460), dtype)
    vis = tl.correlate(x, rate_hz=rate, centre_hz=1e8, channels=channels, taps=4, integration_s=per * channels / rate,
                       requantise="off")
    spectra = tl.channelize(x, channels, taps=4)
    near(vis.data, means(spectra, per))
    assert vis.data.dtype == np.complex64 and vis.counts.dtype == np.int64
    assert (vis.counts[:4] == per).all() and (vis.counts[4] == spectra.shape[1] - 4 * per).all()
    assert np.allclose(vis.frequencies, 1e8 + (np.arange(channels) - channels // 2) * rate / channels)
    assert np.allclose(np.diff(vis.times[:4]) * 86400, per * channels / rate, rtol=1e-3)
    near(vis.baseline(3, 0), vis.data[:, :, 6])
    near(vis.baseline(0, 3), vis.data[:, :, 6].conj())
    assert vis.inputs == 4 and vis.nominal_count == per and "4 inputs" in repr(vis)


def test_channelized_input_is_summed_exactly(rng: np.random.Generator) -> None:
    x = rng.integers(-128, 128, (5, 3, 777, 2)).astype(np.int8)
    vis = tl.correlate(x, rate_hz="1000/3", integration_s=3, keep_constant=True)
    z = x[..., 0].astype(float) + 1j * x[..., 1]
    assert len(vis.times) == 1 and (vis.counts == 777).all()
    near(vis.data, np.stack([[(z[c, i] * z[c, j].conj()).mean() for i, j in pairs_of(3)] for c in range(5)])[None], 1e-6)


def test_an_array_gives_what_its_file_gives(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    x = noise(rng, (3, 20000))
    np.save(tmp_path / "x.npy", x)
    arguments: dict[str, Any] = {"rate_hz": 48000, "channels": 64, "integration_s": 0.1, "centre_hz": 5e7}
    of_array = tl.correlate(x, **arguments)
    of_file = tl.correlate(tmp_path / "x.npy", **arguments)
    assert np.array_equal(of_array.data, of_file.data) and np.array_equal(of_array.counts, of_file.counts)
    assert np.array_equal(of_array.frequencies, of_file.frequencies)
    assert of_array.facts["clipped"] == of_file.facts["clipped"]


def test_several_files_are_one_stream(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    x = noise(rng, (2, 12000))
    np.save(tmp_path / "a.npy", x[:, :6000])
    np.save(tmp_path / "b.npy", x[:, 6000:])
    with pytest.raises(tl.FormatError, match="overlap"):
        tl.correlate([tmp_path / "a.npy", tmp_path / "b.npy"], rate_hz=1e4, channels=16)


def test_one_input_and_real_voltages(rng: np.random.Generator) -> None:
    x = rng.integers(-100, 100, 8192).astype(np.int8)
    vis = tl.correlate(x, rate_hz=1000, channels=16, integration_s=1, requantise="off")
    spectra = tl.channelize(x[np.newaxis], 16)
    near(vis.data, means(spectra, round(1000 / 32)))
    assert np.allclose(vis.frequencies, np.arange(16) * 500 / 16)


def test_rates_are_exact() -> None:
    x = np.ones((1, 3000), np.complex64)
    for rate in (Fraction(1000, 3), "1000/3"):
        vis = tl.correlate(x, rate_hz=rate, channels=10, taps=1, integration_s=3, keep_constant=True)
        assert (vis.integration_s[:-1] == 3).all() and len(vis.times) == 3


def test_not_finite_samples_are_left_out(rng: np.random.Generator) -> None:
    x = noise(rng, (2, 6400))
    x[1, 3000] = np.nan
    vis = tl.correlate(x, rate_hz=64, channels=64, taps=1, window="rect", integration_s=100, requantise="off")
    assert vis.facts["not_finite"] == 1
    assert (vis.counts[0, :, 0] == 100).all() and (vis.counts[0, :, 1:] == 99).all()
    assert np.isfinite(vis.data).all()


def test_written_files_come_back(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    x = noise(rng, (4, 20000))
    vis = tl.correlate(x, rate_hz=1e6, centre_hz=1.5e8, channels=32, integration_s=0.005, start="2026-01-02-03:04:05",
                       polarisations=2)
    vis.write(tmp_path / "v.uvh5")
    assert (tmp_path / "v.uvh5").stat().st_size > 0
    with pytest.raises(tl.InputOutputError):
        vis.write(tmp_path / "v.uvh5")
    vis.write(tmp_path / "v.uvh5", overwrite=True)
    with pytest.raises(tl.Error):
        vis.write(tmp_path / "v.txt")
    assert [p.name for p in tmp_path.iterdir()] == ["v.uvh5"]
    assert abs(vis.times[0] - 2461042.62783) < 1e-4


def test_results_outlive_what_made_them(rng: np.random.Generator) -> None:
    vis = tl.correlate(noise(rng, (2, 4096)), rate_hz=1e3, channels=16)
    data, copy = vis.data, vis.data.copy()
    del vis
    assert np.array_equal(data, copy) and not data.flags.writeable


def test_progress_is_told_and_may_raise(rng: np.random.Generator) -> None:
    x = noise(rng, (2, 200000))
    seen: list[tuple[int, int]] = []
    tl.correlate(x, rate_hz=1e3, channels=16, progress=lambda done, total: seen.append((done, total)))
    assert seen and seen == sorted(seen) and seen[-1] == (200000, 200000)
    assert_progress_may_raise(lambda progress: tl.correlate(x, rate_hz=1e3, channels=16, progress=progress))


@pytest.mark.parametrize(
    "arguments, field",
    [
        ({}, "rate_hz"),
        ({"rate_hz": 0}, "rate_hz"),
        ({"rate_hz": 1e3, "channels": 1}, "filter.channels"),
        ({"rate_hz": 1e3, "chanels": 16}, "chanels"),
        ({"rate_hz": 1e3, "integration_s": -1}, "integration_s"),
        ({"rate_hz": 1e3, "polarisations": 2}, "polarisations"),
        ({"rate_hz": 1e3, "device": "abacus"}, "device"),
    ],
)
def test_bad_arguments_name_the_field(rng: np.random.Generator, arguments: Any, field: Any) -> None:
    with pytest.raises(tl.ConfigError) as caught:
        tl.correlate(noise(rng, (3, 4096)), **arguments)
    assert caught.value.field == field


def test_help_has_every_field() -> None:
    for word in ("integration_s [s]", "channels", "keep_constant", "phase_centre", "default 128"):
        assert word in (tl.correlate.__doc__ or "")


def test_arguments_without_an_effect_are_refused(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    x = noise(rng, (16, 2, 500))
    with pytest.raises(tl.ConfigError, match="channels: given for input of 16 channels"):
        tl.correlate(x, rate_hz=1000, integration_s=0.1, channels=128)
    for name, value in (("taps", 8), ("window", "hann"), ("cutoff", 1.0), ("requantise", "8"), ("oversample", "4/3")):
        given: dict[str, Any] = {name: value}
        with pytest.raises(tl.ConfigError, match=f"{name}: given for input of 16 channels"):
            tl.correlate(x, rate_hz=1000, integration_s=0.1, **given)
    with pytest.raises(tl.ConfigError, match="channels: .*`fine` alone"):
        tl.correlate(x, rate_hz=1000, integration_s=0.1, channels=16, fine=8)
    tl.correlate(x, rate_hz=1000, integration_s=0.1, channels=None, fine=8, taps=4)
    raw = noise(rng, (2, 4000))
    with pytest.raises(tl.ConfigError, match="fine: 8, expected input that is channelized already"):
        tl.correlate(raw, rate_hz=1000, fine=8)
    for name, value in (("format", "cf32"), ("antennas", 2), ("receivers", True), ("threads_are", "bands")):
        given = {name: value}
        with pytest.raises(tl.ConfigError, match=f"{name}: given for an array"):
            tl.correlate(raw, rate_hz=1000, channels=16, **given)
    # Of files as the command.
    np.save(tmp_path / "x.npy", raw)
    with pytest.raises(tl.ConfigError, match="threads_are: given for"):
        tl.correlate(tmp_path / "x.npy", rate_hz=1e3, channels=16, threads_are="bands")
    with pytest.raises(tl.ConfigError, match="rate_hz: 1.28, expected 1000 or more"):
        tl.correlate(tmp_path / "x.npy", rate_hz=1.28, channels=16)
    with pytest.raises(tl.ConfigError, match='rate_hz: 1.28, expected 1000 or more, or a number with its unit: "1.28MHz"'):
        tl.correlate(raw, rate_hz=1.28, channels=16)
    for name in ("utc_start", "rate_hz", "format", "receivers", "files"):
        given = {name: "x"}
        with pytest.raises(tl.ConfigError, match=f"{name}: given for an array"):
            tl.Pipeline().add("v", tl.nodes.voltages(raw, rate_hz=1e6), **given)
    prototype = np.full(32, 0.1)
    for name, value in (("window", "rect"), ("cutoff", 0.9)):
        given = {name: value}
        with pytest.raises(tl.ConfigError, match=f"{name}: .* beside coefficients"):
            tl.channelize(raw, 16, taps=2, coefficients=prototype, **given)
    tl.channelize(raw, 16, taps=2, coefficients=prototype)


def test_fringes_of_data_without_a_start_are_not_rotated(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    (tmp_path / "array.toml").write_text(
        "latitude_deg = 52.9\nlongitude_deg = 6.6\n[[antenna]]\nenu_m = [0, 0, 0]\n[[antenna]]\nenu_m = [30, 10, 0]\n"
    )
    x = noise(rng, (2, 20_000))
    np.save(tmp_path / "x.npy", x)
    place: dict[str, Any] = {"array_path": tmp_path / "array.toml", "phase_centre": "Cas=350.85,58.815"}
    place |= {"centre_hz": 150e6, "channels": 16, "integration_s": 0.005, "rate_hz": 1e6}
    utc, found = "2026-01-02-03:04:05", []
    for of in (x, tmp_path / "x.npy"):
        with pytest.raises(tl.ConfigError, match="utc_start: not given, expected the UTC of the first sample"):
            tl.correlate(of, **place)
        for name in ("start", "utc_start"):
            given: dict[str, Any] = {name: utc}
            found.append(tl.correlate(of, **place, **given))
        with pytest.raises(tl.ConfigError, match="utc_start"):
            tl.correlate(of, start=utc, utc_start=utc, **place)
    plain = tl.correlate(x, **{**place, "phase_centre": None}, start=utc)
    assert np.abs(found[0].data - plain.data).max() > 0
    for one in found[1:]:
        assert np.array_equal(one.data, found[0].data) and np.array_equal(one.times, found[0].times)
    p = tl.Pipeline()
    p.add("voltages", tl.nodes.voltages(x, rate_hz=1e6, centre_hz=150e6))
    p.add("f", "filter_bank", inputs="voltages", channels=16)
    p.add("x", "correlator", inputs="f", array_path=place["array_path"], phase_centre=place["phase_centre"])
    p.add("file", "visibility_file", inputs="x", path=tmp_path / "v.uvh5")
    with pytest.raises(tl.ConfigError, match="utc_start"):
        p.run()
