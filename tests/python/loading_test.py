"""tautline.load: what was written comes back, and figures take the files of the command; tautline.open knows series."""
import json
import pathlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tautline as tl
from support import header, write_filterbank

MHZ = np.linspace(1500, 1200, 64)
TSAMP = 256e-6


def visibilities(rng: np.random.Generator) -> tl.Visibilities:
    x = rng.standard_normal((4, 40_000)) + 1j * rng.standard_normal((4, 40_000))
    x[1] = 0.5 * np.exp(0.7j) * x[0] + x[1]
    return tl.correlate(x.astype(np.complex64), rate_hz="64kHz", centre_hz="150MHz", channels=32, taps=4, polarisations=2,
                        integration_s="100ms", start="2026-01-02-03:04:05")


def test_visibilities(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    vis, path = visibilities(rng), tmp_path / "v.uvh5"
    vis.write(path)
    read = tl.load(path)
    assert isinstance(read, tl.Visibilities) and read.inputs == 4 and read.nominal_count == vis.nominal_count
    good = read.counts > 0
    flagged = np.zeros(vis.counts.shape, bool)
    flagged[:, vis.flagged_channels] = True
    assert np.array_equal(good, (vis.counts > 0) & ~flagged)
    assert np.array_equal(read.data[good], vis.data[good]) and np.array_equal(read.counts[good], vis.counts[good])
    assert np.allclose(read.frequencies, vis.frequencies) and np.allclose(read.times, vis.times, atol=1e-8)
    assert np.array_equal(read.baseline(0, 3)[good[..., 6]], vis.baseline(0, 3)[good[..., 6]])
    assert np.allclose(read.integration_s, vis.integration_s) and "called from Python" in read.facts["history"]
    read.write(tmp_path / "again.uvh5")
    assert np.array_equal(tl.load(tmp_path / "again.uvh5").data, read.data)


def curves(rng: np.random.Generator, sensors: int) -> tl.Curves:
    rate = np.repeat(rng.exponential(1.0, 4000), rng.geometric(0.02, 4000))
    counts = rng.poisson(rate[:, np.newaxis], (rate.size, sensors)).astype(np.uint8)
    return tl.autocorrelate(counts, bin_s="10us", bins=16, levels=8)


@pytest.mark.parametrize("ending, sensors", [(".h5", 3), (".zip", 3), (".csv", 1), (".table.csv", 1)])
def test_curves(rng: np.random.Generator, tmp_path: pathlib.Path, ending: str, sensors: int) -> None:
    k, path = curves(rng, sensors), tmp_path / f"g{ending}"
    k.write(path)
    read = tl.load(path)
    assert isinstance(read, tl.Curves) and read.g.shape == read.sums.shape == (sensors, len(read.lag_s))
    kept = np.isin(np.round(k.lag_s / 1e-5), np.round(read.lag_s / 1e-5))
    assert kept.sum() == len(read.lag_s) > 50
    both = np.isfinite(read.g) & np.isfinite(k.g[:, kept])
    assert both.mean() > 0.8 and np.allclose(read.g[both], k.g[:, kept][both], rtol=1e-6)
    if ending == ".h5":
        assert np.array_equal(read.sums, k.sums) and np.array_equal(read.counts, k.counts)
        assert np.array_equal(read.g, k.g, equal_nan=True) and "called from Python" in read.facts["history"]
    else:
        assert np.isnan(read.sums).all() and read.counts.size == 0
    expected, found = tl.fit(path, fixed={"kappa": 5}), tl.fit(read, fixed={"kappa": 5})
    assert np.array_equal(expected.parameters["tau_d_s"], found.parameters["tau_d_s"], equal_nan=True)
    read.write(tmp_path / f"again{ending}")
    assert np.allclose(tl.load(tmp_path / f"again{ending}").g, read.g, rtol=1e-6, equal_nan=True)


@pytest.mark.parametrize("ending", [".csv", ".cand", ".singlepulse", ".your.csv"])
def test_candidates(rng: np.random.Generator, tmp_path: pathlib.Path, ending: str) -> None:
    x = rng.normal(100, 10, (20_000, MHZ.size))
    for at in (4000, 9000):
        for channel, late in enumerate(np.round(tl.DISPERSION_CONSTANT * 60 * (MHZ**-2.0 - MHZ.max() ** -2) / TSAMP).astype(int)):
            x[at + late : at + late + 8, channel] += at / 100
    path = tmp_path / f"found{ending}"
    found = tl.search(x.clip(0, 255).astype(np.uint8), "0:120", threshold=9, frequencies=MHZ, sample_time_s=TSAMP, output=str(path))
    read = tl.load(path)
    assert isinstance(read, tl.Candidates) and len(read) == len(found) >= 2 and read.dtype == found.dtype
    order, order_read = np.argsort(found["snr"]), np.argsort(read["snr"])
    for name, tolerance in (("snr", 0.01), ("time_s", 0.01), ("dm", 0.1)):
        assert np.allclose(read[name][order_read], found[name][order], rtol=1e-3, atol=tolerance), name


def write_series(path: pathlib.Path, x: npt.NDArray[Any], dms: list[float]) -> None:
    """[trial, time] as dedisperse writes it."""
    np.save(path, x)
    record = {"schema": "tautline.dedisperse.record", "dms": dms, "f_ref_mhz": 1500.0, "tsamp_s": TSAMP,
              "start": "2026-03-20T14:00:00", "dm_constant": tl.DISPERSION_CONSTANT}
    pathlib.Path(f"{path}.json").write_text(json.dumps(record))


def write_tim(path: pathlib.Path, x: npt.NDArray[np.float32], dm: float) -> None:
    """One series as sigproc has it."""
    with path.open("wb") as file:
        file.write(len(b"HEADER_START").to_bytes(4, "little") + b"HEADER_START")
        file.write(header("data_type", 2) + header("nchans", 1) + header("nbits", 32) + header("nifs", 1))
        file.write(header("tsamp", TSAMP) + header("tstart", 59000.0) + header("fch1", 1500.0) + header("foff", -1.0))
        file.write(header("refdm", dm) + len(b"HEADER_END").to_bytes(4, "little") + b"HEADER_END" + x.tobytes())


def test_series(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    dms = [10.0, 20.0, 35.0]
    x = rng.normal(0, 1, (3, 5000)).astype(np.float32)
    write_series(tmp_path / "s.npy", x, dms)
    (tmp_path / "folder").mkdir()
    for dm, row in zip(dms, x):
        write_tim(tmp_path / "folder" / f"s_DM{dm}.tim", row, dm)
    for files in (tmp_path / "s.npy", tmp_path / "folder", sorted((tmp_path / "folder").iterdir())):
        f = tl.open(files)
        assert f.kind == "series" and f.shape == (5000, 3) and f.dms is not None and f.dms.tolist() == dms
        assert np.array_equal(f[100:300], x[:, 100:300].T) and f.frequencies is None
    one = tl.open(tmp_path / "folder" / "s_DM20.0.tim")
    assert one.kind == "series" and one.dms is not None and one.dms.tolist() == [20.0]
    assert np.array_equal(one.read()[:, 0], x[1])


def test_open_and_load_send_to_each_other(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    visibilities(rng).write(tmp_path / "v.uvh5")
    (tmp_path / "v.hdf5").write_bytes((tmp_path / "v.uvh5").read_bytes())
    curves(rng, 2).write(tmp_path / "g.h5")
    curves(rng, 1).write(tmp_path / "g.csv")
    kinds = {"v.uvh5": "visibilities", "v.hdf5": "visibilities", "g.h5": "curves", "g.csv": "curves"}
    for name, kind in kinds.items():
        with pytest.raises(tl.FormatError, match=f"{name}: kind of file: {kind}, which are results, .*; tautline.load reads them"):
            tl.open(tmp_path / name)
        assert type(tl.load(tmp_path / name)) is (tl.Visibilities if kind == "visibilities" else tl.Curves)
    write_filterbank(tmp_path / "x.fil", rng.integers(0, 255, (100, 16)).astype(np.uint8), np.linspace(1500, 1200, 16), 1e-3)
    np.save(tmp_path / "n.npy", rng.poisson(3, (100, 2)).astype(np.uint16))
    for name, kind in (("x.fil", "filterbank"), ("n.npy", "counts")):
        with pytest.raises(tl.FormatError, match=f"{name}: kind of file: {kind}, expected results: .*; tautline.open reads it"):
            tl.load(tmp_path / name)
    with pytest.raises(tl.InputOutputError):
        tl.load(tmp_path / "absent.h5")
    for bad in (5, ["a.h5", "b.h5"]):
        with pytest.raises(tl.ConfigError):
            tl.load(bad)  # type: ignore[arg-type]


def lines(figure: Any) -> list[npt.NDArray[Any]]:
    """All that a figure's panels have as lines, points or pictures."""
    return [
        np.asarray(part)
        for axes in figure.axes
        for part in [*(line.get_xydata() for line in axes.lines), *(one.get_offsets() for one in axes.collections)]
    ]


def test_figures_of_files_are_those_of_what_was_written(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed in this environment")
    vis, k = visibilities(rng), curves(rng, 2)
    vis.write(tmp_path / "v.uvh5")
    k.write(tmp_path / "g.h5")
    x = rng.integers(0, 200, (8000, 64)).astype(np.uint8)
    found = tl.search(x, "0:60", threshold=4, frequencies=MHZ, sample_time_s=TSAMP, output=str(tmp_path / "c.csv"))
    assert len(found) > 0
    pairs = [(1, 0), (3, 2)]
    for expected, drawn, again in (
        (tl.plot.fringes(vis, pairs), tl.plot.fringes(tmp_path / "v.uvh5", pairs), tl.plot.fringes(tl.load(tmp_path / "v.uvh5"), pairs)),
        (tl.plot.curves(k), tl.plot.curves(tmp_path / "g.h5"), tl.plot.curves(tl.load(tmp_path / "g.h5"))),
        (tl.plot.candidates(found), tl.plot.candidates(tmp_path / "c.csv"), tl.plot.candidates(tl.load(tmp_path / "c.csv"))),
    ):
        for one in (drawn, again):
            assert len(lines(one)) == len(lines(expected)) > 0
            for a, b in zip(lines(one), lines(expected)):
                assert np.allclose(a, b, rtol=1e-4, atol=1e-4, equal_nan=True)
    for plot, name, field in (("curves", "v.uvh5", "k"), ("fringes", "c.csv", "vis"), ("candidates", "g.h5", "found")):
        with pytest.raises(tl.ConfigError, match=f"^{field}: a file of "):
            getattr(tl.plot, plot)(tmp_path / name)
    with pytest.raises(tl.FormatError, match="tautline.load"):
        tl.plot.waterfall(tmp_path / "g.h5")


@pytest.mark.parametrize("kind", ["float32", "int32"])
def test_series_are_drawn(rng: np.random.Generator, tmp_path: pathlib.Path, kind: str) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed in this environment")
    dms = [10.0, 20.0, 35.0, 60.0]
    x = rng.normal(1000, 10, (4, 6000))
    x[2, 2400:2403] += 300
    x = x.round().astype(kind)
    write_series(tmp_path / "s.npy", x, dms)
    f = tl.open(tmp_path / "s.npy")
    cases: list[tuple[Any, dict[str, Any]]] = [
        (tmp_path / "s.npy", {}),
        (f, {}),
        (x, {"dms": dms, "sample_time_s": "256us"}),
        (x[::-1], {"dms": dms[::-1], "sample_time_s": TSAMP}),
    ]
    for given, known in cases:
        figure: Any = tl.plot.series(given, **known, most_times=2000)
        plane, level = figure.axes[:2]
        mesh = plane.collections[0]
        values = np.asarray(mesh.get_array()).reshape(4, 2000)
        trial, cell = np.unravel_index(np.argmax(values), values.shape)
        assert trial == 2 and cell == 800 and plane.get_ylabel() == "DM (pc cm$^{-3}$)"
        assert np.allclose(plane.get_ylim(), (5, 72.5)) and np.allclose(plane.get_xlim(), (0, 6000 * TSAMP))
        mean, high = level.lines
        assert np.allclose(mean.get_ydata(), x[2].astype(float).reshape(2000, 3).mean(axis=1), rtol=1e-5)
        assert np.array_equal(high.get_ydata(), x[2].reshape(2000, 3).max(axis=1)) and "35" in level.get_title()
    begin: Any = tl.plot.series(x, [0.0, 10.0, 20.0, 30.0], sample_time_s=TSAMP)
    assert begin.axes[0].get_ylim() == (0, 35)
    part: Any = tl.plot.series(x[2], sample_time_s=TSAMP, start_s="0.5s", duration_s=0.3)
    (level,) = part.axes
    assert abs(level.lines[0].get_xdata()[0] - 0.5) < 2 * TSAMP and "trial 0" in level.get_title()
    gap = x.astype(np.float32)
    gap[:, :700] = np.nan
    assert np.isfinite(tl.plot.series(gap, dms, sample_time_s=TSAMP, most_times=60).axes[-1].get_xlim()).all()


@pytest.mark.parametrize(
    "given, known, field",
    [
        (np.ones((2, 50)), {}, "sample_time_s"),
        (np.ones((2, 50)), {"dms": [1.0], "sample_time_s": 1}, "dms"),
        (np.ones((2, 2, 50)), {"sample_time_s": 1}, "x"),
        (np.ones((2, 50)), {"sample_time_s": 1, "start_s": 60}, "start_s"),
        ("file", {"sample_time_s": 1}, "dms and sample_time_s"),
        ("file", {}, "x"),
    ],
)
def test_series_refuse(rng: np.random.Generator, tmp_path: pathlib.Path, given: Any, known: dict[str, Any], field: str) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed in this environment")
    if isinstance(given, str):
        given = tmp_path / "x.fil"
        write_filterbank(given, rng.integers(0, 255, (100, 16)).astype(np.uint8), np.linspace(1500, 1200, 16), 1e-3)
    with pytest.raises(tl.ConfigError) as caught:
        tl.plot.series(given, **known)
    assert caught.value.field == field
