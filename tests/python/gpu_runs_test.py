"""Runs on arrays of GPUs, of cupy, torch, jax and others: what they give of the host's arrays, without a copy to the host.

Without pytest, `python3 gpu_runs_test.py` runs the tests with each library that is there.
"""
import importlib
import sys
from typing import Any

import numpy as np
import tautline as tl
from gpu_support import MHZ, SEARCH, assert_refused, assert_same_visibilities, gpu, needs_gpu, run

pytestmark = needs_gpu


def voltages_of_every_kind(rng: np.random.Generator) -> Any:
    """[(array, what correlate is told besides)]"""
    z = 20 * (rng.standard_normal((4, 300_001)) + 1j * rng.standard_normal((4, 300_001)))
    pairs = np.stack([z.real, z.imag], axis=-1).round().clip(-127, 127)
    bad = z.astype(np.complex64)
    bad[1, 1000:300_000:70_000] = np.nan
    bad[3, 5000] = complex(0, -np.inf)
    real = z.real.astype(np.float32)
    real[2, 777] = np.inf
    channels = rng.integers(-128, 128, (6, 3, 40_000, 2))
    floats = (rng.standard_normal((6, 3, 40_000)) + 1j).astype(np.complex64)
    floats[2, 1, 39_000] = np.nan
    bank = {"channels": 32, "taps": 4, "integration_s": 0.05}
    return [
        (pairs.astype(np.int8), bank),  # rounded to 8 bits, with gains that are measured
        (pairs.astype(np.int16), bank | {"requantise": "off"}),
        (pairs[0, ..., 0].astype(np.int8), bank),
        (bad, bank),
        (bad, bank | {"requantise": "off"}),
        (real, bank | {"requantise": "off"}),
        (channels.astype(np.int8), {"integration_s": 0.01}),
        (channels.astype(np.int16), {"integration_s": 0.01}),
        (floats, {"integration_s": 0.01}),
    ]


def test_correlate_gives_what_it_gives_of_the_hosts_arrays(gpu: Any, rng: np.random.Generator) -> None:
    for x, options in voltages_of_every_kind(rng):
        host = tl.correlate(x, rate_hz=1e6, device="cuda:0", **options)
        assert_same_visibilities(tl.correlate(gpu.there(x), rate_hz=1e6, **options), host)
        on_cpu = tl.correlate(x, rate_hz=1e6, device="cpu", **options)
        largest = np.abs(on_cpu.data).max()
        assert np.array_equal(host.counts, on_cpu.counts)
        assert np.allclose(host.data, on_cpu.data, rtol=0, atol=1e-3 * largest)


def test_correlate_takes_rows_that_lie_apart(gpu: Any, rng: np.random.Generator) -> None:
    wide = rng.integers(-100, 100, (4, 6, 20_100, 2)).astype(np.int8)
    for part in ((slice(1, 3), slice(0, 6, 2), slice(50, 20_050)), (slice(0, 4, 2), slice(5), slice(20_000))):
        host = tl.correlate(wide[part], rate_hz=1e6, integration_s=0.005, device="cpu")
        assert_same_visibilities(tl.correlate(gpu.there(wide)[part], rate_hz=1e6, integration_s=0.005), host)


def sky_of(rng: np.random.Generator, dtype: str, times: int = 120_000) -> Any:
    x = rng.normal(100 if dtype[0] == "u" else 0, 10, (times, 64)).clip(-100, 220)
    x[times // 2 : times // 2 + 8] += 25
    return x.round().astype(dtype) if dtype != "float32" else x.astype(dtype)


def test_search_gives_what_it_gives_of_the_hosts_arrays(gpu: Any, rng: np.random.Generator) -> None:
    every: list[dict[str, Any]] = [{}, {"zero_dm": True}, {"ignored_channels": [0, 5, 63], "noise": "width"}]
    for dtype in ("uint8", "int8", "int16", "float32"):
        x = sky_of(rng, dtype)
        for options in every:
            if dtype == "float32" and "zero_dm" in options:
                continue
            host = tl.search(x, "0:60:2", device="cuda:0", **SEARCH, **options)
            here = tl.search(gpu.there(x), "0:60:2", **SEARCH, **options)
            assert np.array_equal(here, host) and (len(host) or "zero_dm" in options), (dtype, options)
            if dtype != "float32":
                on_cpu = tl.search(x, "0:60:2", method="exact", device="cpu", **SEARCH, **options)
                exact = tl.search(gpu.there(x), "0:60:2", method="exact", **SEARCH, **options)
                assert np.array_equal(exact, on_cpu), (dtype, options)
    wide, part = sky_of(rng, "uint8"), np.s_[::2, :48]
    host = tl.search(wide[part], [0, 10], frequencies=MHZ[:48], sample_time_s=1e-3, device="cpu")
    here = tl.search(gpu.there(wide)[part], [0, 10], frequencies=MHZ[:48], sample_time_s=1e-3)
    assert len(host) and np.array_equal(here, host)
    x = sky_of(rng, "float32")
    x[20_000] = np.nan
    found = tl.search(gpu.there(x), "0:60:2", **SEARCH)
    assert len(found) and np.isfinite(found["snr"]).all()
    assert_refused(lambda: tl.search(gpu.there(x), "0:60:2", zero_dm=True, **SEARCH))


def test_autocorrelate_gives_what_it_gives_of_the_hosts_arrays(gpu: Any, rng: np.random.Generator) -> None:
    wide = rng.poisson(1.5, (200_003, 24))
    for dtype in ("uint8", "float32"):
        for part in (np.s_[:, :], np.s_[:, 3:10], np.s_[::3, :5], np.s_[:, 0]):
            x = wide.astype(dtype)
            host = tl.autocorrelate(x[part], bin_s=1e-5, bins=16, levels=6, device="cpu")
            there = gpu.there(np.ascontiguousarray(x[part])) if part == np.s_[:, 0] else gpu.there(x)[part]
            here = tl.autocorrelate(there, bin_s=1e-5, bins=16, levels=6)
            assert here.g.shape == host.g.shape and np.array_equal(here.counts, host.counts)
            if dtype == "uint8":
                assert np.array_equal(here.sums, host.sums) and np.array_equal(here.g, host.g)
                assert np.array_equal(here.standard_error, host.standard_error)
            assert np.allclose(here.g, host.g, atol=1e-6) and np.allclose(here.rates_hz, host.rates_hz)


def test_runs_leave_the_samples_on_the_gpu(gpu: Any, rng: np.random.Generator) -> None:
    sky, counts = sky_of(rng, "uint8", 400_000), rng.poisson(1.0, (1_500_000, 20)).astype(np.uint8)
    z = rng.integers(-100, 100, (8, 2_000_000, 2)).astype(np.int8)
    calls: list[Any] = [
        (sky, lambda x: tl.search(x, "0:20:2", **SEARCH)),
        (counts, lambda x: tl.autocorrelate(x, bin_s=1e-5)),
        (z, lambda x: tl.correlate(x, rate_hz=1e6, channels=64, taps=4)),
    ]
    for x, call in calls:
        there = gpu.there(x)
        call(there)  # kernels are compiled
        copied = gpu.host_bytes(lambda: call(there))
        assert copied is None or 4 * copied < x.nbytes, (copied, x.nbytes)


class OfAnotherLibrary:
    """What offers DLPack alone, as jax's arrays do."""

    def __init__(self, x: Any) -> None:
        self._x, self.shape, self.ndim = x, x.shape, x.ndim
        self.dtype = np.dtype(str(x.dtype).rsplit(".", 1)[-1])

    def __dlpack_device__(self) -> Any:
        return self._x.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        return self._x.__dlpack__(**options)

    def __getitem__(self, key: Any) -> Any:
        return OfAnotherLibrary(self._x[key])


def test_runs_take_arrays_of_other_libraries(gpu: Any, rng: np.random.Generator) -> None:
    counts, sky = rng.poisson(1.0, (60_000, 4)).astype(np.uint8), sky_of(rng, "uint8")
    z = rng.integers(-100, 100, (3, 40_000, 2)).astype(np.int8)
    there = [OfAnotherLibrary(gpu.there(x)) for x in (counts, sky, z)]
    curves = tl.autocorrelate(counts, bin_s=1e-5, device="cpu")
    assert np.array_equal(tl.autocorrelate(there[0], bin_s=1e-5).sums, curves.sums)
    host = tl.search(sky, [0, 5], device="cpu", **SEARCH)
    assert len(host) and np.array_equal(tl.search(there[1], [0, 5], **SEARCH), host)
    bank: dict[str, Any] = {"rate_hz": 1e6, "requantise": "off", "channels": 32, "taps": 4}
    assert_same_visibilities(tl.correlate(there[2], **bank), tl.correlate(z, device="cuda:0", **bank))


def jax_there() -> Any:
    """jax, where it has a CUDA device."""
    try:
        jax = importlib.import_module("jax")
        jax.devices("cuda")
    except Exception as error:  # noqa: BLE001: jax raises its own where there is no device
        print(f"left out: no jax with a CUDA device: {error or type(error).__name__}")
        return None
    return jax


def test_calls_take_arrays_of_jax(gpu: Any, rng: np.random.Generator) -> None:
    jax = jax_there()
    if jax is None:
        return
    device = jax.devices("cuda")[0]
    there: Any = lambda x: jax.device_put(x, device)  # noqa: E731
    z = rng.integers(-100, 100, (3, 50_000, 2)).astype(np.int8)
    turned = {"corner_turned": True}
    cases: list[tuple[Any, dict[str, Any]]] = [(z, {}), (z[0], {}), (z[..., 0].astype(np.float32), {}), (z, turned), (z[0], turned)]
    for x, bank in cases:
        given = there(x)
        made = [tl.channelize(given, 64, taps=4, **bank) for _ in range(3)]
        expected = tl.channelize(x, 64, taps=4, device="cpu", **bank)
        for one in made:
            assert type(one) is type(given) and list(one.devices()) == [device] and one.shape == expected.shape
            assert np.allclose(np.asarray(one), expected, rtol=0, atol=1e-4 * np.abs(expected).max())
        assert np.array_equal(np.asarray(given), x)
        power = jax.numpy.abs(made[0]).sum()  # goes on in jax
        assert np.isclose(float(power), np.abs(expected).sum(), rtol=1e-3)
    sky, dms = sky_of(rng, "uint8", 150_000), np.arange(0, 60, 5.0)
    given = there(sky) + there(np.uint8(0))  # by a kernel that may still be under way
    series = tl.dedisperse(given, dms, **SEARCH)
    assert type(series) is type(given) and np.array_equal(np.asarray(series), tl.dedisperse(sky, dms, device="cpu", **SEARCH))
    host = tl.detect(np.asarray(series), dms, sample_time_s=1e-3, device="cpu")
    assert len(host) and np.array_equal(tl.detect(series, dms, sample_time_s=1e-3), host)
    counts = rng.poisson(1.0, (60_000, 4)).astype(np.uint8)
    assert np.array_equal(tl.autocorrelate(there(counts), bin_s=1e-5).sums, tl.autocorrelate(counts, bin_s=1e-5, device="cpu").sums)
    assert np.array_equal(tl.search(there(sky), "0:60:5", **SEARCH), tl.search(sky, "0:60:5", device="cuda:0", **SEARCH))
    assert_same_visibilities(tl.correlate(there(z), rate_hz=1e6, channels=32), tl.correlate(z, rate_hz=1e6, channels=32, device="cuda:0"))
    assert_refused(lambda: tl.channelize(there(z), 64, taps=4, out=made[0]))


def test_runs_go_behind_what_is_on_the_callers_stream(gpu: Any, rng: np.random.Generator) -> None:
    counts, sky = rng.poisson(1.0, (60_000, 4)).astype(np.uint8), sky_of(rng, "uint8")
    z = rng.integers(-100, 100, (4, 3, 20_000, 2)).astype(np.int8)
    calls: list[Any] = [
        (counts, lambda x: tl.autocorrelate(x, bin_s=1e-5).sums),
        (sky, lambda x: tl.search(x, [0, 5], **SEARCH)),
        (z, lambda x: tl.correlate(x, rate_hz=1e6, integration_s=0.01).data),
    ]
    forms: list[Any] = [lambda y: y, OfAnotherLibrary]
    slow = gpu.there(np.ones(1 << 26, np.float32))
    slow += 1
    for x, call in calls:
        expected = call(gpu.there(x))  # and kernels are compiled
        for given in forms:
            there, late = gpu.there(np.zeros_like(x)), gpu.there(x)
            gpu.finish()
            with gpu.stream():
                for _ in range(400):  # half a GB each: a tenth of a second
                    slow += 1
                there[...] = late
                assert np.array_equal(call(given(there)), expected)


def test_runs_refuse_bad_arrays(gpu: Any, rng: np.random.Generator) -> None:
    x = gpu.there(rng.standard_normal((4, 64)).astype(np.float32))
    z = gpu.there(rng.integers(0, 9, (2, 4000, 2)).astype(np.int8))
    sky = gpu.there(sky_of(rng, "uint8", 4000))
    calls: list[Any] = [
        lambda: tl.correlate(x[:, ::2], rate_hz=1e6),
        lambda: tl.correlate(z[:, ::2], rate_hz=1e6),
        lambda: tl.correlate(gpu.there(np.zeros((4, 64))), rate_hz=1e6),
        lambda: tl.correlate(x[:, :10], rate_hz=1e6),  # no spectrum
        lambda: tl.correlate(z, rate_hz=1e6, polarisations=3),
        lambda: tl.correlate(z, rate_hz=1e6, device="cpu"),
        lambda: tl.correlate(z, rate_hz=1e6, follow_gains=True),
        lambda: tl.search(sky[:, ::2], [0.0], frequencies=MHZ[::2], sample_time_s=1e-3),
        lambda: tl.search(sky, [0.0], frequencies=MHZ[:5], sample_time_s=1e-3),
        lambda: tl.search(sky, [0.0], axes="ft", **SEARCH),
        lambda: tl.search(sky[:0], [0.0], **SEARCH),
        lambda: tl.search(sky, [1e4], **SEARCH),
        lambda: tl.search(sky, [0.0], iqrm=True, **SEARCH),
        lambda: tl.search(sky, [0.0], keep_constant=False, **SEARCH),
        lambda: tl.search(sky, [0.0], device="cuda:1", **SEARCH),
        lambda: tl.autocorrelate(sky[:, ::2], bin_s=1e-3),
        lambda: tl.autocorrelate(sky[:, 0], bin_s=1e-3, bin_sensors="2x2"),
        lambda: tl.autocorrelate(sky[:0], bin_s=1e-3),
        lambda: tl.autocorrelate(gpu.there(np.ones((50, 2), np.int64)), bin_s=1e-3),
        lambda: tl.autocorrelate(tags=gpu.there(np.arange(50)), tick_s=1e-9),
    ]
    for call in calls:
        assert_refused(call)
    assert tl.autocorrelate(sky[:, :4], bin_s=1e-3, device="cuda:0").g.shape[0] == 4


def test_runs_tell_their_progress(gpu: Any, rng: np.random.Generator) -> None:
    calls: list[Any] = [
        lambda told: tl.search(gpu.there(sky_of(rng, "uint8")), [0, 5], progress=told, **SEARCH),
        lambda told: tl.autocorrelate(gpu.there(np.ones((120_000, 2), np.uint8)), bin_s=1e-3, progress=told),
    ]
    for call in calls:
        seen: list[tuple[int, int]] = []
        call(lambda done, total: seen.append((done, total)))
        assert all(done <= total == 120_000 for done, total in seen)


if __name__ == "__main__":
    sys.exit(run(globals()))
