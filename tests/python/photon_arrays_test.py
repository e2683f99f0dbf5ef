"""Photons as arrays of arrival times, files of them opened, and the kept autocorrelator."""
import pathlib
from typing import Any

import numpy as np
import pytest
import tautline as tl


def binned(times: Any, per_bin: Any, bins: Any) -> Any:
    return np.bincount((times // per_bin).astype(np.int64), minlength=bins)[:bins]


@pytest.fixture
def tags(rng: np.random.Generator) -> Any:
    return tuple(np.sort(rng.integers(0, 4_000_000, n)).astype(np.uint64) for n in (30000, 20000))


@pytest.mark.parametrize("method", ["auto", "direct", "bins"])
def test_tags_are_counts(tags: Any, method: str) -> None:
    # The last bin is left out unless its last tick has a photon, which ends it.
    bins = (int(max(t.max() for t in tags)) + 1) // 100
    counts = np.stack([binned(t, 100, bins) for t in tags], axis=1)
    options: dict[str, Any] = {"bins": 16, "levels": 6, "device": "cpu"}
    k = tl.autocorrelate(tags=tags, tick_s=1e-9, bin_s=1e-7, tag_method=method, **options)
    expected = tl.autocorrelate(counts, bin_s=1e-7, pairs="0,1", **options)
    assert k.g.shape == (len(k.lag_s),) and np.array_equal(k.sums, expected.sums[0]) and np.array_equal(k.g, expected.g[0])
    one = tl.autocorrelate(tags=tags[0].astype(np.int32), tick_s=1e-9, bin_s=1e-7, tag_method=method, **options)
    bins = (int(tags[0].max()) + 1) // 100
    own = tl.autocorrelate(binned(tags[0], 100, bins), bin_s=1e-7, **options)
    assert np.array_equal(one.sums, own.sums) and np.array_equal(one.g, own.g, equal_nan=True)
    both = tl.autocorrelate(tags=tags, tick_s=1e-9, bin_s=1e-7, tag_method=method, pairs="auto", **options)
    assert both.g.shape == (2, len(k.lag_s))


def test_tags_that_stop(rng: np.random.Generator) -> None:
    """The stop is left out as from counts; ticks that are few beside the clock take neither time nor memory."""
    tags = np.sort(rng.integers(0, 100_000_000, 100_000))
    first, last = tags[tags < 40_000_000][-1], tags[tags >= 60_000_000][0]
    tags = tags[(tags <= first) | (tags >= last)]
    options: dict[str, Any] = {"bins": 16, "levels": 6, "device": "cpu"}
    k = tl.autocorrelate(tags=tags, tick_s=1e-6, bin_s=1e-5, **options)
    all_s, stop_s = (tags[-1] + 1) // 10 * 1e-5, (last // 10 - first // 10 - 1) * 1e-5
    assert k.duration_s == pytest.approx(all_s - stop_s, abs=1e-9)
    counts = binned(tags, 10, (int(tags[-1]) + 1) // 10)
    assert np.array_equal(k.sums, tl.autocorrelate(counts, bin_s=1e-5, **options).sums)
    fine = tl.autocorrelate(tags=tags * 1_000_000, tick_s=1e-12, bin_s=1e-12, tag_method="direct", **options)
    assert fine.duration_s == pytest.approx(all_s - stop_s, abs=2e-5)


def test_a_positive_lag_is_a_later_second_detector(rng: np.random.Generator) -> None:
    first = np.sort(rng.integers(0, 10**6, 3000))
    k = tl.autocorrelate(tags=(first, first + 50), tick_s=1e-6, bin_s=1e-5, bins=10, levels=2)
    assert abs(k.lag_s[k.g[1:].argmax() + 1] - 5e-5) < 1e-9


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64", ">i8"])
def test_tags_of_every_type_and_stride(tags: Any, dtype: str) -> None:
    fields: dict[str, Any] = {"tick_s": 1e-9, "bin_s": 1e-7, "bins": 8, "levels": 4}
    expected = tl.autocorrelate(tags=tags[0], **fields)
    apart = np.zeros((len(tags[0]), 3), dtype)
    apart[:, 1] = tags[0]
    for times in (apart[:, 1].copy(), apart[:, 1]):
        assert np.array_equal(tl.autocorrelate(tags=times, **fields).sums, expected.sums)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_times_below_0_go_back(dtype: Any) -> None:
    for times in ([1, -5, 3], [1, -5], [1, -5, -3], [1, 2, 3, -1], [-1, 2]):
        with pytest.raises(tl.Error, match="tags"):
            tl.autocorrelate(tags=np.array(times, dtype), tick_s=1e-9, bin_s=1e-7)


def test_tags_that_are_refused(tags: Any) -> None:
    good = {"tick_s": 1e-9, "bin_s": 1e-7}
    for arguments in (
        {"tags": tags[0][::-1], **good},
        {"tags": tags[0].astype(float), **good},
        {"tags": tags[0].astype(np.int64) - 4_000_000, **good},
        {"tags": tags[0].reshape(2, -1), **good},
        {"tags": [tags[0]] * 64, **good},
        {"tags": tags, "bin_s": 1e-7},
        {"tags": tags, "tick_s": 0, "bin_s": 1e-7},
        {"tags": tags, "tick_s": np.nan, "bin_s": 1e-7},
        {"tags": tags, "tick_s": 1e-9, "bin_s": 1e-10},
        {"tags": tags, "tick_s": 1e-9, "bin_s": 1},
        {"tags": np.zeros(0, int), "tick_s": 1e-9},
        {"counts": np.zeros(100, np.uint8), "tags": tags, **good},
        {"counts": np.zeros(100, np.uint8), **good},
        {},
    ):
        with pytest.raises(tl.Error) as caught:
            tl.autocorrelate(**arguments)
        assert caught.value.field, arguments


def write_pt2(path: pathlib.Path, times: Any, channels: Any) -> None:
    """A PTU file of HydraHarp v2 T2 records."""

    def tag(name: str, kind: Any, value: Any, text: Any = b"") -> Any:
        return name.encode().ljust(32, b"\0") + np.int32(-1).tobytes() + np.uint32(kind).tobytes() + value + text

    records = []
    overflows = 0
    for time, channel in zip(times, channels):
        while time - overflows * 33554432 >= 33554432:
            records.append(1 << 31 | 63 << 25 | 1)
            overflows += 1
        records.append(int(channel) << 25 | int(time - overflows * 33554432))
    header = b"PQTTTR\0\0" + b"1.0.00\0\0"
    header += tag("MeasDesc_GlobalResolution", 0x20000008, np.float64(1e-9).tobytes())
    header += tag("MeasDesc_Resolution", 0x20000008, np.float64(1e-9).tobytes())
    header += tag("TTResult_NumberOfRecords", 0x10000008, np.int64(len(records)).tobytes())
    header += tag("TTResultFormat_TTTRRecType", 0x10000008, np.int64(0x01010204).tobytes())
    header += tag("Header_End", 0xFFFF0008, np.int64(0).tobytes())
    path.write_bytes(header + np.array(records, np.uint32).tobytes())


def test_files_of_photons(tmp_path: pathlib.Path, rng: np.random.Generator) -> None:
    times = np.sort(rng.integers(0, 10**8, 5000))
    channels = rng.integers(0, 3, 5000)
    write_pt2(tmp_path / "x.ptu", times, channels)
    f = tl.open(tmp_path / "x.ptu")
    assert f.kind == "photons" and f.shape == (5000,) and f.header["mode"] == "T2" and f.header["time_unit_s"] == 1e-9
    assert f.header["detectors"] == {k + 1: int((channels == k).sum()) for k in range(3)} or f.header["detectors"] == {
        k: int((channels == k).sum()) for k in range(3)
    }
    whole = f.read()
    assert np.array_equal(whole["time"], times) and len(set(whole["channel"])) == 3
    for first, count in ((0, 1), (4000, 500), (10, 20), (4999, 1), (5000, 1), (0, 0)):
        assert np.array_equal(f.read(first, count), whole[first : first + count])
    assert f[17] == whole[17] and np.array_equal(f[100:200:7], whole[100:200:7])
    assert np.array_equal(np.concatenate(list(f.blocks(777))), whole)
    k = tl.autocorrelate(f, bin_s=1e-6, bins=8, levels=3)
    by_hand = [whole["time"][whole["channel"] == c] for c in sorted(set(whole["channel"]))]
    one = tl.autocorrelate(tags=by_hand, tick_s=1e-9, bin_s=1e-6, bins=8, levels=3)
    assert np.array_equal(k.sums, one.sums)


@pytest.mark.parametrize("dtype, name", [("uint8", "u8"), ("uint16", "u16"), ("float64", "f64")])
def test_a_kept_plan(rng: np.random.Generator, dtype: str, name: str) -> None:
    counts = rng.poisson(2.0, (6000, 3)).astype(dtype)
    plan = tl.stages.autocorrelate.Plan(3, dtype=name, lag_scheme="standard", bins=8, levels=4, max_samples=700, device="cpu")
    for start in range(0, 6000, 700):
        plan.execute(counts[start : start + 700])
    now = plan.read("symmetric")
    assert plan.samples == 6000 and plan.backend
    expected = tl.multipletau.autocorrelate(counts.astype(np.float64), m=8, normalize=True)
    lags = now.lag_samples[: expected.shape[1]]
    assert np.array_equal(lags, expected[0, : len(lags), 0])
    level0 = slice(0, 9)
    direct = np.stack([[np.dot(counts[: 6000 - k, s].astype(float), counts[k:, s]) for k in range(9)] for s in range(3)])
    assert np.allclose(now.sums[:, level0], direct, rtol=1e-12) and np.array_equal(now.counts[level0], 6000 - np.arange(9))
    k = tl.autocorrelate(counts, bin_s=1, lag_scheme="standard", bins=8, levels=4, device="cpu")
    assert np.allclose(now.g, k.g, rtol=1e-12 if name != "f64" else 1e-6, equal_nan=True)
    plan.reset()
    assert plan.samples == 0
    pair = tl.stages.autocorrelate.Plan(3, dtype=name, bins=8, levels=2, pairs=[(0, 2)], device="cpu")
    pair.execute(counts)
    cross = pair.read()
    assert cross.sums.shape == (1, 16) and np.isclose(cross.sums[0, 3], np.dot(counts[:-3, 0].astype(float), counts[3:, 2]))
    for bad in (counts[:, :2], counts[:, ::-1], counts[0], counts.astype(np.float32)):
        with pytest.raises((tl.ConfigError, TypeError)):
            plan.execute(bad)
    for arguments in ({"dtype": "i8"}, {"lag_scheme": "long"}, {"coarsening": "third"}, {"pairs": [(0, 9)]}, {"bins": 0}):
        with pytest.raises(tl.ConfigError):
            tl.stages.autocorrelate.Plan(3, **arguments)
    with pytest.raises(tl.ConfigError):
        pair.read("best")


def test_4_bit_voltages(rng: np.random.Generator) -> None:
    x = 20 * (rng.standard_normal((3, 9000)) + 1j * rng.standard_normal((3, 9000))).astype(np.complex64)
    packed = tl.channelize(x, 16, taps=4, output="ci4", gains=0.1, device="cpu")
    pairs = tl.channelize(x, 16, taps=4, output="ci8", gains=0.1, device="cpu").astype(int).clip(-7, 7)
    assert packed.dtype == np.uint8 and packed.shape == pairs.shape[:-1]
    re, im = ((packed & 15) ^ 8).astype(int) - 8, ((packed >> 4) ^ 8).astype(int) - 8
    assert np.array_equal(re, pairs[..., 0]) and np.array_equal(im, pairs[..., 1])
    small, large = (tl.stages.correlate.Plan(16, 3, dtype=d, device="cpu") for d in ("ci4", "ci8"))
    sums, counts = small.sums()
    expected, counted = large.sums()
    small.execute(packed, sums, counts)
    large.execute(np.stack([re, im], -1).astype(np.int8), expected, counted)
    assert np.array_equal(sums, expected) and np.array_equal(counts, counted)
    with pytest.raises(tl.ConfigError):
        small.execute(packed.astype(np.uint16), sums, counts)
