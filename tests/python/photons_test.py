"""autocorrelate of arrays: against the definition, and arrays against files."""
import json
import pathlib
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import assert_progress_may_raise


def test_against_the_definition(rng: np.random.Generator) -> None:
    counts = rng.poisson(5, 3000).astype(np.uint8)
    k = tl.autocorrelate(counts, bin_s=1e-6, lag_scheme="standard", bins=8, levels=3, coarsening="sum")
    n = counts.astype(float)
    for level in range(3):
        w = 2**level
        coarse = n[: n.size // w * w].reshape(-1, w).sum(1)
        for step in range(0 if level == 0 else 5, 9):
            at = np.flatnonzero(k.lag_samples == step * w)[0]
            a, b = coarse[: coarse.size - step], coarse[step:]
            assert k.counts[at] == a.size and k.sums[at] == (a * b).sum()
            assert abs(k.g[at] - (a.size * (a * b).sum() / (a.sum() * b.sum()) - 1)) < 1e-12
    assert np.allclose(k.lag_s, k.lag_samples * 1e-6) and k.bin_s == 1e-6
    assert k.g.ndim == 1 and np.isfinite(k.standard_error[1:20]).all()
    assert abs(k.rates_hz[0] - n.mean() * 1e6) < 1


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int64", "float32", "float64", "bool"])
def test_types(rng: np.random.Generator, dtype: str) -> None:
    counts = rng.integers(0, 2, (2000, 3))
    expected = tl.autocorrelate(counts.astype(np.uint8), bin_s=1e-3, bins=8, levels=4)
    got = tl.autocorrelate(counts.astype(dtype), bin_s=1e-3, bins=8, levels=4)
    assert np.allclose(got.g, expected.g, atol=1e-12, equal_nan=True)


def test_an_array_gives_what_its_file_gives(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    counts = rng.poisson(3, (5000, 6)).astype(np.uint16)
    np.save(tmp_path / "n.npy", counts)
    of_file = tl.autocorrelate(tmp_path / "n.npy", bin_s=2e-6)
    for array in (counts, np.asfortranarray(counts), np.repeat(counts, 2, axis=1)[:, ::2]):
        of_array = tl.autocorrelate(array, bin_s=2e-6)
        for name in ("lag_s", "g", "standard_error", "sums", "counts", "rates_hz"):
            assert np.array_equal(getattr(of_array, name), getattr(of_file, name), equal_nan=True)
    assert len(of_file.g) == 6 and "6 of" in repr(of_file)


def test_the_bin_of_simulated_counts(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "n.npy"
    np.save(path, np.ones((1000, 2), np.uint8))
    with pytest.raises(tl.ConfigError, match="bin_s"):
        tl.autocorrelate(path)
    assert tl.open(path).header["bin_s"] == 0
    truth = {"schema": "tautline.truth.photons", "file": "n.npy", "bin_s": 3e-6}
    (tmp_path / "n.truth.json").write_text(json.dumps(truth))
    assert tl.open(path).header["bin_s"] == 3e-6
    assert tl.autocorrelate(path).bin_s == 3e-6
    assert tl.autocorrelate(path, bin_s=1e-6).bin_s == 1e-6


def test_fields_and_writing(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    counts = rng.poisson(3, (5000, 4)).astype(np.uint8)
    k = tl.autocorrelate(counts, bin_s=1e-5, shape="2x2", pairs="0:1", segments=4)
    assert k.labels[0][1] != "" and k.g.shape == k.sums.shape
    k.write(tmp_path / "k.h5")
    with pytest.raises(tl.ConfigError):
        k.write(tmp_path / "k.csv")
    with pytest.raises(tl.InputOutputError):
        k.write(tmp_path / "k.h5")
    one = tl.autocorrelate(counts[:, 0], bin_s=1e-5)
    one.write(tmp_path / "one.csv")
    assert (tmp_path / "one.csv").read_text().count("\n") > 20


@pytest.mark.parametrize(
    "counts, error",
    [
        (np.array([1, 2, -1]), tl.ConfigError),
        (np.array([1.0, np.nan, 2.0] * 50, np.float32), tl.FormatError),
        (np.array([1.0, -3.0, 2.0] * 50, np.float32), tl.FormatError),
        (np.array([2**33] * 20), tl.ConfigError),
        (np.zeros((3, 3, 3), np.uint8), tl.ConfigError),
        (np.zeros((10, 0), np.uint8), tl.ConfigError),
        (np.array(["a", "b"]), tl.ConfigError),
        (np.zeros(10, complex), tl.ConfigError),
    ],
)
def test_what_is_no_count_is_refused(counts: Any, error: Any) -> None:
    with pytest.raises(error):
        tl.autocorrelate(counts, bin_s=1e-6)


def test_an_array_needs_a_bin() -> None:
    with pytest.raises(tl.ConfigError, match="bin_s"):
        tl.autocorrelate(np.ones(100, np.uint8))


def test_progress_is_told_and_may_raise(rng: np.random.Generator) -> None:
    counts = rng.poisson(1, (200_000, 2)).astype(np.uint8)
    tags = np.sort(rng.integers(0, 10**9, 300_000))
    inputs: list[dict[str, Any]] = [{"counts": counts, "bin_s": 1e-6}, {"tags": tags, "tick_s": 1e-9, "bin_s": 1e-7}]
    seen: list[tuple[int, int]] = []
    for given in inputs:
        seen.clear()
        tl.autocorrelate(**given, progress=lambda done, total: seen.append((done, total)))
        assert seen and seen == sorted(seen) and seen[-1][0] == seen[-1][1] > 0, seen
    assert_progress_may_raise(lambda progress: tl.autocorrelate(counts, bin_s=1e-6, progress=progress))
