"""Values that are not finite, or so large that sums overflow: what they are part of is as documented, and all else stays."""
from typing import Any

import numpy as np
import pytest
import tautline as tl

MHZ = np.linspace(1500, 1200, 16)
KNOWN: dict[str, Any] = {"frequencies": MHZ, "sample_time_s": 1e-3}
NOT_FINITE = [np.nan, np.inf, -np.inf]
LARGE = 1e38
EACH = pytest.mark.parametrize("value", [*NOT_FINITE, LARGE])


def with_value(x: Any, at: Any, value: Any) -> Any:
    changed = x.copy()
    changed[at] = value
    return changed


@EACH
def test_channelize(value: float, rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 2000)).astype(np.float32)
    clean, found = tl.channelize(x, 16, taps=2), tl.channelize(with_value(x, (1, 700), value), 16, taps=2)
    spans = np.zeros(clean.shape[:2], bool)
    spans[1, 700 // 32 - 1 : 700 // 32 + 1] = True  # two frames of 32 samples a spectrum
    assert np.array_equal(found[~spans], clean[~spans])
    if value == LARGE:
        assert (np.abs(found[spans].astype(complex)) > 1e30).all()
    else:
        assert not np.isfinite(found[spans]).any()


@EACH
def test_correlate(value: float, rng: np.random.Generator) -> None:
    x = (30 * (rng.standard_normal((3, 6400)) + 1j * rng.standard_normal((3, 6400)))).astype(np.complex64)
    known: dict[str, Any] = {"rate_hz": 64, "channels": 16, "taps": 2, "integration_s": 100}
    for requantise in ("8", "off"):
        clean = tl.correlate(x, requantise=requantise, **known)
        found = tl.correlate(with_value(x, (1, 3000), value), requantise=requantise, **known)
        own = [1, 2, 4]  # baselines of input 1
        others = [0, 3, 5]
        assert np.array_equal(found.data[..., others], clean.data[..., others])
        assert np.array_equal(found.counts[..., others], clean.counts[..., others])
        if value == LARGE:
            assert found.facts["not_finite"] == 0
        else:
            assert found.facts["not_finite"] == 1 and np.isfinite(found.data).all()
            lost = clean.counts[..., own] - found.counts[..., own]
            assert (lost.sum(0) == 2).all()  # of two spectra


@EACH
def test_dedisperse(value: float, rng: np.random.Generator) -> None:
    x = rng.random((2000, 16)).astype(np.float32)
    clean = tl.dedisperse(with_value(x, (600, 7), 0), [0, 2, 30], **KNOWN)
    found = tl.dedisperse(with_value(x, (600, 7), value), [0, 2, 30], **KNOWN)
    if value != LARGE:
        assert np.array_equal(found, clean)
        return
    other = found != clean  # one time of each trial
    assert (other.sum(1) == 1).all() and (found[other] == np.float32(LARGE)).all()


@EACH
def test_search_and_detect(value: float, rng: np.random.Generator) -> None:
    x = rng.normal(100, 10, (20_000, 16)).astype(np.float32)
    late = np.round(tl.DISPERSION_CONSTANT * 40 * (MHZ**-2 - MHZ.max() ** -2) / 1e-3).astype(int)
    for channel, delay in enumerate(late):
        x[12_000 + delay : 12_008 + delay, channel] += 30
    bad = with_value(x, (5000, 7), value)
    found = tl.search(bad, "20:60:1", threshold=8, **KNOWN)
    assert abs(found["sample"] - 12_004).min() <= 2 and np.isfinite(found["snr"]).all()
    if value != LARGE:
        clean = tl.search(with_value(x, (5000, 7), x[4999, 7]), "20:60:1", threshold=8, **KNOWN)
        assert np.array_equal(found, clean) and found.facts["not_finite"] == 1
    series = tl.dedisperse(x, np.arange(20, 60), **KNOWN)
    found = tl.detect(with_value(series, (3, 5000), value), sample_time_s=1e-3, threshold=8)
    assert found.facts["missing"] == 1 and len(found)
    assert np.array_equal(found[["sample", "dm_index", "snr"]], tl.detect(series, sample_time_s=1e-3, threshold=8)[["sample", "dm_index", "snr"]])


@EACH
def test_autocorrelate(value: float, rng: np.random.Generator) -> None:
    x = rng.integers(0, 9, (3000, 4)).astype(np.float32)
    bad = with_value(x, (600, 1), value)
    if value != LARGE:
        with pytest.raises(tl.FormatError) as caught:
            tl.autocorrelate(bad, bin_s=1e-3)
        assert caught.value.field and caught.value.value
        return
    found, clean = (tl.autocorrelate(one, bin_s=1e-3, bins=8, levels=4) for one in (bad, x))
    others = [0, 2, 3]
    assert np.array_equal(found.sums[others], clean.sums[others]) and np.array_equal(found.g[others], clean.g[others])
    assert found.sums[1, 0] > 1e75


@EACH
def test_multipletau(value: float, rng: np.random.Generator) -> None:
    x = rng.random((2000, 4))
    for normalize in (False, True):
        found, clean = (tl.multipletau.autocorrelate(one, normalize=normalize) for one in (with_value(x, (600, 1), value), x))
        others = [0, 2, 3]
        assert np.array_equal(found[others], clean[others])
        assert found[1, 0, 1] > 1e70 if value == LARGE and not normalize else not np.array_equal(found[1], clean[1])
        if value != LARGE:
            assert not np.isfinite(found[1, 0, 1])
