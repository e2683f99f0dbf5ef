"""Arrays of more than 2^31 elements, which TAUTLINE_FULL asks for: what lies behind that place is read, and read right.

Memory of zeros that nobody wrote takes no room.
"""
import os
from typing import Any

import numpy as np
import pytest
import tautline as tl

pytestmark = pytest.mark.skipif("TAUTLINE_FULL" not in os.environ, reason="TAUTLINE_FULL is not set: 2 GB of zeros are read")
ELEMENTS = 2**31


def test_autocorrelate(rng: np.random.Generator) -> None:
    counts = np.zeros(ELEMENTS + 100_000, np.uint8)
    last = rng.integers(1, 200, 5000).astype(np.uint8)
    counts[-50_000 : -50_000 + last.size] = last
    k = tl.autocorrelate(counts, bin_s=1e-6, lag_scheme="standard", bins=8, levels=1, segments=1, keep_constant=True)
    n = last.astype(np.int64)
    assert k.counts[0] == counts.size and k.duration_s == pytest.approx(counts.size * 1e-6)
    for at, lag in enumerate(k.lag_samples.astype(int)):
        assert k.sums[at] == (n[: n.size - lag] * n[lag:]).sum(), lag


def test_dedisperse(rng: np.random.Generator) -> None:
    channels = 1024
    x = np.zeros((ELEMENTS // channels + 3000, channels), np.uint8)
    x[-2000:] = rng.integers(0, 256, (2000, channels))
    known: dict[str, Any] = {"frequencies": np.linspace(1500, 1200, channels), "sample_time_s": 1e-3}
    series = tl.dedisperse(x, [0, 10], **known)
    assert np.array_equal(series[:, -1900:], tl.dedisperse(x[-4000:], [0, 10], **known)[:, -1900:])
    assert series[:, -1900:].any(1).all() and not series[:, :-3000].any()


def test_channelize(rng: np.random.Generator) -> None:
    x = np.zeros((1, ELEMENTS + 4096), np.int8)
    x[0, -4096:] = rng.integers(-128, 128, 4096)
    spectra = tl.channelize(x, 512, taps=4, output="ci8", gains=0.1)
    last = tl.channelize(x[:, -1024 * 7 :], 512, taps=4, output="ci8", gains=0.1)
    assert spectra.shape == (512, 1, x.shape[1] // 1024 - 3, 2) and last.any()
    assert np.array_equal(spectra[:, :, -4:], last) and not spectra[:, :, :-4].any()
