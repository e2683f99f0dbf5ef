"""Kept plans: a stream in pieces gives what the whole gives, into arrays of the caller's."""
import threading
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import Foreign, torch_tensor
from tautline.arrays import host_array

MHZ = np.linspace(1500, 1200, 32)


def pieces(rng: np.random.Generator, length: Any, longest: Any) -> Any:
    at = 0
    while at < length:
        step = int(rng.integers(1, longest + 1))
        yield slice(at, min(at + step, length))
        at += step


@pytest.mark.parametrize("dtype, name", [("complex64", "cf32"), ("float32", "f32")])
def test_channelize(rng: np.random.Generator, dtype: str, name: str) -> None:
    x = 100 * (rng.standard_normal((3, 9000)) + 1j * rng.standard_normal((3, 9000)))
    x = x.astype(dtype) if dtype == "complex64" else x.real.astype(dtype)
    for turned in (False, True):
        plan = tl.stages.channelize.Plan(32, 3, dtype=name, taps=4, max_samples=1000, corner_turned=turned)
        parts = [plan.execute(np.ascontiguousarray(x[:, part])).copy() for part in pieces(rng, 9000, 1000)]
        assert np.array_equal(np.concatenate(parts, axis=2 if turned else 1), tl.channelize(x, 32, taps=4, corner_turned=turned))
        plan.reset()
        out = np.full((32, 3, 50) if turned else (3, 50, 32), np.nan, np.complex64)
        got = plan.execute(x[:, :1000], out=out)
        assert got.base is out and np.array_equal(got, tl.channelize(x[:, :1000], 32, taps=4, corner_turned=turned))
        assert np.isnan(out).any() and plan.backend


@pytest.mark.parametrize("dtype", ["ci8", "cf32"])
def test_correlate(rng: np.random.Generator, dtype: str) -> None:
    z = rng.integers(-128, 128, (5, 4, 3000, 2))
    x = z.astype(np.int8) if dtype == "ci8" else (z[..., 0] + 1j * z[..., 1]).astype(np.complex64)
    plan = tl.stages.correlate.Plan(channels=5, inputs=4, dtype=dtype, max_samples=500)
    vis, counts = plan.sums()
    for part in pieces(rng, 3000, 500):
        plan.execute(np.ascontiguousarray(x[:, :, part]), out=vis, counts=counts)
    c = z[..., 0] + 1j * z[..., 1]
    expected = np.stack([(c[:, i] * c[:, j].conj()).sum(-1) for i in range(4) for j in range(i + 1)], axis=-1)
    got = vis[..., 0] + 1j * vis[..., 1] if dtype == "ci8" else vis
    assert (counts == 3000).all() and np.allclose(got, expected, rtol=0 if dtype == "ci8" else 1e-5, atol=0 if dtype == "ci8" else 100)
    plan.execute(x[:, :, 100:200], out=vis, counts=counts)  # rows that are further apart than they are long
    assert (counts == 3100).all()
    plan.begin()
    plan.execute(x[:, :, :500], out=vis, counts=counts)
    begun = c[..., :500]
    expected = np.stack([(begun[:, i] * begun[:, j].conj()).sum(-1) for i in range(4) for j in range(i + 1)], axis=-1)
    got = vis[..., 0] + 1j * vis[..., 1] if dtype == "ci8" else vis
    assert (counts == 500).all() and np.allclose(got, expected, rtol=0 if dtype == "ci8" else 1e-5, atol=0 if dtype == "ci8" else 100)


@pytest.mark.parametrize("dtype, name", [("uint8", "u8"), ("int16", "i16"), ("float32", "f32")])
def test_dedisperse(rng: np.random.Generator, dtype: str, name: str) -> None:
    x = rng.integers(0, 100, (5000, 32)).astype(dtype)
    dms = [0, 20, 7.5]
    plan = tl.stages.dedisperse.Plan(MHZ, 1e-3, dms, dtype=name, max_samples=700)
    out = np.empty((3, plan.room), plan.dtype)
    parts = [plan.execute(x[part], out=out).copy() for part in pieces(rng, 5000, 700)]
    expected = tl.dedisperse(x, dms, frequencies=MHZ, sample_time_s=1e-3)
    assert np.array_equal(np.concatenate(parts, axis=1), expected)
    plan.reset()
    assert np.array_equal(plan.execute(x[:700]), expected[:, : 700 - plan.max_delay])


class Indexed(Foreign):
    """One with a shape, of which parts can be taken, as every library's."""

    @property
    def shape(self) -> Any:
        return self._x.shape

    def __getitem__(self, index: Any) -> Any:
        return Indexed(self._x[index])


@pytest.mark.parametrize("other", [Indexed, torch_tensor])
def test_arrays_of_other_libraries_are_read_and_written_in_place(rng: np.random.Generator, other: Any) -> None:
    voltages = rng.standard_normal((2, 900)).astype(np.complex64)
    expected = tl.channelize(voltages, 32, taps=2)
    spectra = np.full((2, 40, 32), np.nan, np.complex64)
    tl.stages.channelize.Plan(32, 2, taps=2).execute(other(voltages), out=other(spectra))
    assert np.array_equal(spectra[:, : expected.shape[1]], expected) and np.isnan(spectra[:, expected.shape[1] :]).all()
    z = rng.integers(-128, 128, (5, 4, 300, 2)).astype(np.int8)
    sums, counts = (np.zeros_like(one) for one in tl.stages.correlate.Plan(5, 4).sums())
    tl.stages.correlate.Plan(5, 4).execute(other(z), out=other(sums), counts=other(counts))
    wanted, _ = tl.stages.correlate.Plan(5, 4).sums()
    tl.stages.correlate.Plan(5, 4).execute(z, wanted, np.zeros_like(counts))
    assert np.array_equal(sums, wanted) and (counts == 300).all() and sums.any()
    x = rng.integers(0, 200, (500, 32)).astype(np.uint8)
    plan = tl.stages.dedisperse.Plan(MHZ, 1e-3, [0.0], dtype="u8", max_samples=500)
    series = np.full((1, plan.room), -1, np.int32)
    plan.execute(other(x), out=other(series))
    assert np.array_equal(series[0, :500], x.sum(1, dtype=np.int32))
    correlator = tl.stages.autocorrelate.Plan(32, max_samples=500)
    correlator.execute(other(x))
    again = tl.stages.autocorrelate.Plan(32, max_samples=500)
    again.execute(x)
    assert np.array_equal(correlator.read().sums, again.read().sums)
    assert np.shares_memory(host_array(other(voltages), "x"), voltages)


def test_bad_outputs_are_refused_and_nothing_is_written(rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 512)).astype(np.complex64)
    plan = tl.stages.channelize.Plan(32, 2, taps=2)
    good = np.zeros((2, 15, 32), np.complex64)
    readonly = good.copy()
    readonly.flags.writeable = False
    for bad in (
        np.zeros((2, 15, 32), np.complex128),
        np.zeros((2, 14, 32), np.complex64),
        np.zeros((15, 2, 32), np.complex64),
        np.zeros((2, 15, 64), np.complex64)[:, :, ::2],
        good[:, ::-1],
        np.broadcast_to(good[:, :1], good.shape),
        readonly,
        [[0]],
        "out",
    ):
        with pytest.raises((tl.ConfigError, TypeError)):
            plan.execute(x, out=bad)
    assert np.array_equal(plan.execute(x, out=good), tl.channelize(x, 32, taps=2))
    for bad in (x[:, ::2], x[::-1], x[:1], x.astype(np.complex128), x[0], np.zeros((2, (1 << 20) + 1), np.complex64)):
        plan.reset()
        with pytest.raises((tl.ConfigError, TypeError)):
            plan.execute(bad, out=good)


def test_bad_sums_are_refused(rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, (2, 3, 100, 2)).astype(np.int8)
    plan = tl.stages.correlate.Plan(2, 3)
    vis, counts = plan.sums()
    for bad_vis, bad_counts in (
        (np.zeros((2, 6), np.complex128), counts),
        (vis[:, :5], counts),
        (vis.astype(np.int32), counts),
        (vis, counts[:, :5]),
        (vis, counts.astype(np.int32)),
        (vis[:, ::-1], counts),
    ):
        with pytest.raises((tl.ConfigError, TypeError)):
            plan.execute(x, bad_vis, bad_counts)
    for bad in (x[:, :2], x[0], x[..., 0], x.astype(np.int16), x.astype(np.complex64)):
        with pytest.raises((tl.ConfigError, TypeError)):
            plan.execute(bad, vis, counts)
    assert not vis.any() and not counts.any()


def test_threads_take_turns(rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, (2, 3, 1000, 2)).astype(np.int8)
    plan = tl.stages.correlate.Plan(2, 3)
    vis, counts = plan.sums()

    def work() -> None:
        for _ in range(20):
            plan.execute(x, vis, counts)

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    once, counted = plan.sums()
    plan.execute(x, once, counted)
    assert np.array_equal(vis, 100 * once) and np.array_equal(counts, 100 * counted)
