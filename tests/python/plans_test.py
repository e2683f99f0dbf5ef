"""Kept plans: a stream in pieces gives what the whole gives, into arrays of the caller's."""
import threading
import time
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import Foreign, torch_tensor
from tautline import devices
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


@pytest.mark.parametrize("dtype", ["ci8", "cf32"])
def test_counts_may_be_left_out(rng: np.random.Generator, dtype: str) -> None:
    z = rng.integers(-128, 128, (5, 4, 3000, 2))
    x = z.astype(np.int8) if dtype == "ci8" else (z[..., 0] + 1j * z[..., 1]).astype(np.complex64)
    counting, plain = (tl.stages.correlate.Plan(channels=5, inputs=4, dtype=dtype, max_samples=500) for _ in range(2))
    expected, counts = counting.sums()
    vis, some = plain.sums()
    for integration in (slice(0, 1700), slice(1700, 3000)):
        counting.begin()
        plain.begin()
        for part in pieces(rng, 1300, 500):
            samples = np.ascontiguousarray(x[:, :, integration][:, :, part])
            counting.execute(samples, out=expected, counts=counts)
            plain.execute(samples, out=vis)
        assert expected.any() and np.array_equal(vis, expected)
    plain.execute(x[:, :, :100], out=vis, counts=some)  # of this call alone
    counting.execute(x[:, :, :100], out=expected, counts=counts)
    assert (some == 100).all() and np.array_equal(vis, expected)


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


def with_pulses(rng: np.random.Generator, trials: int, times: int, dtype: str) -> Any:
    """Series of noise with three pulses, each in a few trials."""
    series = rng.normal(0, 100, (trials, times))
    for at in rng.integers(1000, times - 1000, 3):
        trial = int(rng.integers(0, trials - 2))
        series[trial : trial + 3, at : at + int(rng.integers(1, 20))] += 1200
    return series.astype(dtype)


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("dtype, name", [("int32", "i32"), ("float32", "f32")])
def test_detect(rng: np.random.Generator, dtype: str, name: str, device: str) -> None:
    series, dms = with_pulses(rng, 6, 60_000, dtype), np.arange(6) / 2
    expected = tl.detect(series, dms, sample_time_s=1e-3, threshold=7, device=device)
    plan = tl.stages.detect.Plan(6, dms, sample_time_s=1e-3, threshold=7, dtype=name, max_samples=9000, device=device)
    assert len(expected) >= 1 and len(plan.take()) == 0 and plan.latency_samples > 0
    for _ in range(2):
        parts = []
        for part in pieces(rng, 60_000, 9000):
            plan.execute(series[:, part])
            parts.append(plan.take())
        plan.finish()
        early = sum(len(part) for part in parts)
        known = (expected["last_sample"] + plan.latency_samples < 60_000).sum() if device == "cpu" else 0
        parts.append(plan.take())
        found = np.concatenate(parts)
        order = ["sample", "dm_index", "width_samples"]
        assert early >= known and np.array_equal(np.sort(found, order=order), np.sort(expected, order=order))
        assert parts[-1].facts == {**parts[-1].facts, "samples": 60_000, "missing": 0} and len(plan.take()) == 0
        assert parts[-1].facts["detections"] == expected.facts["detections"]
        with pytest.raises(tl.ConfigError, match="after finish"):
            plan.execute(series[:, :100])
        plan.reset()


def test_series_that_a_search_refuses(rng: np.random.Generator) -> None:
    series = with_pulses(rng, 4, 9000, "int32")
    dms = np.arange(4.0)
    plan = tl.stages.detect.Plan(4, dms, sample_time_s=1e-3, max_samples=9000)
    for bad in (series[:3], series[0], series.astype(np.float32), series[:, ::2], series[::-1], np.zeros((4, 9001), np.int32), "series"):
        with pytest.raises((tl.ConfigError, TypeError)):
            plan.execute(bad)
    plan.execute(series)
    plan.finish()
    assert np.array_equal(plan.take(), tl.detect(series, dms, sample_time_s=1e-3))  # nothing of the refused ones
    bad_arguments: list[tuple[dict[str, Any], str]] = [
        ({"trials": 0}, "trials"),
        ({"dms": [1, 2]}, "dms"),
        ({"dtype": "u8"}, "dtype"),
        ({"sample_time_s": 0}, "sample_time_s"),
        ({"threshold": float("nan")}, "threshold"),
        ({"noise": "loud"}, "noise"),
        ({"max_width_s": 1e-4}, "max_width_s"),
        ({"width_octaves": 17}, "links.width_octaves"),
        ({"max_samples": 0}, "max_samples"),
        ({"device": "abacus"}, "device"),
    ]
    for arguments, field in bad_arguments:
        good: dict[str, Any] = {"trials": 4, "sample_time_s": 1e-3}
        with pytest.raises(tl.ConfigError) as caught:
            tl.stages.detect.Plan(**{**good, **arguments})
        assert caught.value.field == field


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("stage", ["channelize", "dedisperse", "autocorrelate", "detect"])
def test_another_plan_goes_on_with_a_saved_state(rng: np.random.Generator, stage: str, device: str) -> None:
    x: Any = rng.integers(0, 100, (6000, 32)).astype(np.uint8)
    axis = 0
    if stage == "channelize":
        x, axis = rng.standard_normal((3, 6000)).astype(np.float32), 1
    elif stage == "detect":
        x, axis = with_pulses(rng, 3, 6000, "int32"), 1

    def made(other: bool = False) -> Any:
        if stage == "channelize":
            return tl.stages.channelize.Plan(16, 3, dtype="f32", taps=5 if other else 4, device=device)
        if stage == "dedisperse":
            return tl.stages.dedisperse.Plan(MHZ, 1e-3, [0, 9, 40 if other else 30], device=device)
        if stage == "autocorrelate":
            return tl.stages.autocorrelate.Plan(32, bins=8, levels=5 if other else 4, device=device)
        return tl.stages.detect.Plan(3, [0, 1, 2], sample_time_s=1e-3, threshold=7 if other else 6, device=device)

    def given(plan: Any, first: int, last: int) -> Any:
        got = plan.execute(np.ascontiguousarray(np.take(x, range(first, last), axis)))
        if stage == "autocorrelate":
            return plan.read().sums
        if stage == "detect":
            plan.finish()
            return plan.take()
        return got.copy()

    cut = int(rng.integers(1500, 4500))
    whole, first, second, other = made(), made(), made(), made(other=True)
    whole.execute(np.ascontiguousarray(np.take(x, range(cut), axis)))
    first.execute(np.ascontiguousarray(np.take(x, range(cut), axis)))
    second.execute(np.ascontiguousarray(np.take(x, range(100), axis)))  # of another stream
    saved = first.save()
    expected = given(whole, cut, 6000)
    assert expected.size and isinstance(saved, bytes)
    second.load(saved)
    assert np.array_equal(given(second, cut, 6000), expected)
    assert np.array_equal(given(first, cut, 6000), expected)  # saving changes nothing
    fresh = given(made(), 0, cut)
    for bad in (saved[:-1], b"", saved + b"0", other.save()):
        again = made()
        again.execute(np.ascontiguousarray(np.take(x, range(77), axis)))
        with pytest.raises(tl.FormatError):
            again.load(bad)
        assert np.array_equal(given(again, 0, cut), fresh)  # the stream begins anew


def test_a_saved_correlator_begins(rng: np.random.Generator) -> None:
    z = rng.integers(-128, 128, (2, 3, 100, 2)).astype(np.int8)
    first, second = tl.stages.correlate.Plan(2, 3), tl.stages.correlate.Plan(2, 3)
    expected, counts = first.sums()
    first.execute(z, expected, counts)
    first.begin()
    second.load(first.save())
    vis, counts = np.ones_like(expected), np.ones_like(counts)
    second.execute(z, vis, counts)
    assert np.array_equal(vis, expected) and (counts == 100).all()
    second.begin()
    second.reset()
    second.execute(z, vis, counts)
    assert np.array_equal(vis, 2 * expected) and (counts == 200).all()


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
    sums[:] = 0
    tl.stages.correlate.Plan(5, 4).execute(other(z), out=other(sums))
    assert np.array_equal(sums, wanted)
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


def test_outputs_that_are_read_only_stay_as_they_are(rng: np.random.Generator) -> None:
    voltages = rng.standard_normal((2, 512)).astype(np.complex64)
    z = rng.integers(-9, 9, (2, 3, 100, 2)).astype(np.int8)
    x = rng.integers(0, 99, (500, 32)).astype(np.uint8)
    filter_bank = tl.stages.channelize.Plan(32, 2, taps=2)
    correlator = tl.stages.correlate.Plan(2, 3)
    dedisperser = tl.stages.dedisperse.Plan(MHZ, 1e-3, [0.0, 9.0], max_samples=500)
    series = np.zeros((2, dedisperser.room), dedisperser.dtype)
    vis, counts = correlator.sums()
    spectra = np.zeros((2, 15, 32), np.complex64)
    calls: list[tuple[Any, Any]] = [
        (spectra, lambda: filter_bank.execute(voltages, out=spectra)),
        (vis, lambda: correlator.execute(z, vis, counts)),
        (vis, lambda: correlator.execute(z, vis)),
        (counts, lambda: correlator.execute(z, vis, counts)),
        (series, lambda: dedisperser.execute(x, out=series)),
    ]
    for output, call in calls:
        output.flags.writeable = False
        with pytest.raises((tl.ConfigError, TypeError)):
            call()
        assert not any(one.any() for one in (spectra, vis, counts, series))
        output.flags.writeable = True
    for output, call in calls:
        call()
        assert output.any()


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


def test_threads_of_one_filter_bank_need_no_out(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    # A thread that has made its result waits, so that others come between, were they let.
    made = devices.array_beside

    def slowly(*arguments: Any) -> Any:
        array = made(*arguments)
        time.sleep(0.002)
        return array

    monkeypatch.setattr(devices, "array_beside", slowly)
    x = rng.standard_normal((2, 3000)).astype(np.float32)
    plan = tl.stages.channelize.Plan(32, 2, dtype="f32", taps=2)
    lengths = [int(rng.integers(1, 200)) for _ in range(60)]
    spectra: list[int] = []
    failed: list[BaseException] = []

    def work(mine: list[int]) -> None:
        try:
            spectra.extend(plan.execute(x[:, :length]).shape[1] for length in mine)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(lengths[k::4],)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and len(spectra) == 60 and sum(spectra) == sum(lengths) // 64 - 1  # real voltages: 64 of them a spectrum
