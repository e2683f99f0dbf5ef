"""Arrays of GPUs stay there: plans and calls on cupy's and torch's, on their current streams.

Without pytest, `python3 gpu_test.py` runs the tests with each library that is there.
"""
import importlib
import json
import pathlib
import re
import sys
import tempfile
from typing import Any

import numpy as np
import tautline as tl

try:
    import pytest
except ImportError:  # a machine with a GPU need not have it
    pytest = None  # type: ignore[assignment]

# The guide lies beside this file where scripts/test-gpu put both.
BESIDE = pathlib.Path(__file__).resolve().with_name("python.md")
GUIDE = BESIDE if BESIDE.exists() else BESIDE.parents[2] / "docs" / "guide" / "python.md"
MHZ = np.linspace(1500, 1200, 64)


class Library:
    """cupy or torch: arrays to the GPU and back, streams."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module = importlib.import_module(name)
        if not (self.module.cuda.is_available() if name == "torch" else self.module.cuda.runtime.getDeviceCount()):
            raise ImportError("no CUDA device")

    def there(self, x: Any) -> Any:
        return self.module.from_numpy(x).to("cuda:0") if self.name == "torch" else self.module.asarray(x)

    def back(self, x: Any) -> Any:
        return x.cpu().numpy() if self.name == "torch" else x.get()

    def stream(self) -> Any:
        return self.module.cuda.stream(self.module.cuda.Stream()) if self.name == "torch" else self.module.cuda.Stream(non_blocking=True)

    def finish(self) -> None:
        """Waits for all streams."""
        (self.module.cuda if self.name == "torch" else self.module.cuda.Device()).synchronize()

    def host_bytes(self, work: Any) -> Any:
        """Of copies between the host and the GPU while work() runs; None where nobody counts them."""
        if self.name != "torch":
            return None
        assert self._copied(lambda: self.there(np.zeros(1000))) >= 8000, "the profiler saw nothing"
        return self._copied(work)

    def _copied(self, work: Any) -> Any:
        profiler = importlib.import_module("torch.profiler")
        with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as profile:
            work()
            self.finish()
        assert list(profile.events()), "the profiler saw nothing"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace.json"
            profile.export_chrome_trace(str(path))
            events = json.loads(path.read_text())["traceEvents"]
        names = ("Memcpy HtoD", "Memcpy DtoH")
        return sum(one["args"]["bytes"] for one in events if str(one.get("name", "")).startswith(names))


def libraries() -> Any:
    found, reasons = [], []
    for name in ("cupy", "torch"):
        try:
            found.append(Library(name))
        except Exception as error:  # noqa: BLE001: cupy raises its own where there is no driver
            reasons.append(f"{name}: {error or type(error).__name__}")
    return found, "; ".join(reasons)


LIBRARIES, WHY_NOT = libraries()
if pytest is not None:
    pytestmark = pytest.mark.skipif(not LIBRARIES, reason=f"no library with a CUDA device: {WHY_NOT}")

    @pytest.fixture(params=LIBRARIES, ids=lambda one: one.name)
    def gpu(request: pytest.FixtureRequest) -> Any:
        return request.param


def assert_refused(call: Any) -> None:
    try:
        call()
    except tl.Error as error:
        assert error.field
    else:
        raise AssertionError("it was taken")


def assert_same_visibilities(here: tl.Visibilities, host: tl.Visibilities) -> None:
    assert host.counts.any() and np.array_equal(here.counts, host.counts) and np.array_equal(here.data, host.data)
    for name in ("not_finite", "clipped", "samples", "overflowed"):
        assert here.facts[name] == host.facts[name], name


def test_channelize(gpu: Any, rng: np.random.Generator) -> None:
    x = (rng.standard_normal((3, 50000)) + 1j * rng.standard_normal((3, 50000))).astype(np.complex64)
    expected = tl.channelize(x, 64, taps=4, device="cpu")
    for stream in (False, True):
        there = gpu.there(x)
        if stream:
            with gpu.stream():
                found = gpu.back(tl.channelize(gpu.there(x), 64, taps=4))
        else:
            found = gpu.back(tl.channelize(there, 64, taps=4))
        assert found.shape == expected.shape and np.allclose(found, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    z = rng.integers(-100, 100, (2, 30000, 2)).astype(np.int8)
    turned = gpu.back(tl.channelize(gpu.there(z), 32, taps=4, corner_turned=True))
    expected = tl.channelize(z, 32, taps=4, corner_turned=True, device="cpu")
    assert turned.shape == expected.shape and np.allclose(turned, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


def test_a_chain_of_plans_without_a_copy_to_the_host(gpu: Any, rng: np.random.Generator) -> None:
    z = rng.integers(-100, 100, (8, 4, 4096, 2)).astype(np.int8)
    plan = tl.stages.correlate.Plan(8, 4, device="cuda:0")
    sums, counts = plan.sums()
    there, out, counted = gpu.there(z), gpu.there(sums), gpu.there(counts)
    plan.execute(there, out, counted)
    host = tl.stages.correlate.Plan(8, 4, device="cpu")
    host.execute(z, sums, counts)
    assert np.array_equal(gpu.back(out), sums) and np.array_equal(gpu.back(counted), counts)
    copies = gpu.host_bytes(lambda: plan.execute(there, out, counted))
    assert copies in (None, 0)
    plan.begin()
    plan.execute(there, out, counted)
    assert np.array_equal(gpu.back(out), sums) and np.array_equal(gpu.back(counted), counts)
    for _ in range(2):  # without counts
        plan.begin()
        assert gpu.host_bytes(lambda: plan.execute(there, out=out)) in (None, 0)
        assert np.array_equal(gpu.back(out), sums) and np.array_equal(gpu.back(counted), counts)


def test_dedisperse(gpu: Any, rng: np.random.Generator) -> None:
    for dtype in (np.uint8, np.float32):
        x = rng.integers(0, 200, (200000, 64)).astype(dtype)
        expected = tl.dedisperse(x, np.arange(0, 100, 5.0), frequencies=MHZ, sample_time_s=1e-3, device="cpu")
        found = gpu.back(tl.dedisperse(gpu.there(x), np.arange(0, 100, 5.0), frequencies=MHZ, sample_time_s=1e-3))
        assert found.shape == expected.shape and np.allclose(found, expected, rtol=1e-5)


def test_detect(gpu: Any, rng: np.random.Generator) -> None:
    series, dms = rng.normal(0, 100, (5, 200_000)), np.arange(5.0)
    series[2, 70_000:70_008] += 900
    series[1:4, 150_000] += 2000
    for dtype, name in ((np.int32, "i32"), (np.float32, "f32")):
        x = series.astype(dtype)
        expected = tl.detect(x, dms, sample_time_s=1e-3, device="cpu")
        there = gpu.there(x)
        found = tl.detect(there, dms, sample_time_s=1e-3)
        assert len(expected) > 1 and np.array_equal(found, expected) and found.facts["detect_backend"] != expected.facts["detect_backend"]
        with gpu.stream():
            moved = gpu.there(x)
            assert np.array_equal(tl.detect(moved, dms, sample_time_s=1e-3), expected)
        plan = tl.stages.detect.Plan(5, dms, sample_time_s=1e-3, dtype=name, max_samples=50_000, device="cuda:0")
        parts = []
        for start in range(0, 200_000, 50_000):
            plan.execute(there[:, start : start + 50_000])
            parts.append(plan.take())
            saved = plan.save()
            plan.reset()
            plan.load(saved)
        plan.finish()
        whole = np.concatenate([*parts, plan.take()])
        assert np.array_equal(np.sort(whole, order="sample"), np.sort(expected, order="sample"))


def test_the_guides_snippet(gpu: Any, rng: np.random.Generator) -> None:
    (snippet,) = re.findall(r"^```python gpu\n(.*?)^```", GUIDE.read_text(), re.S | re.M)
    x = (rng.standard_normal((2, 30000)) + 1j * rng.standard_normal((2, 30000))).astype(np.complex64)
    voltages = rng.integers(-100, 100, (64, 8, 512, 2)).astype(np.int8)
    host = tl.stages.correlate.Plan(64, 8, device="cpu")
    sums, valid = host.sums()
    sky, dms = rng.integers(90, 110, (50000, 64)).astype(np.uint8), np.arange(0, 20, 2.0)
    sky[30000:30008] += 90
    counts = rng.poisson(1.0, (50000, 3)).astype(np.uint8)
    arrays = {"x": x, "voltages": voltages, "sums": sums, "valid": valid, "sky": sky, "counts": counts}
    names: dict[str, Any] = {"tl": tl, "mhz": MHZ, "dms": dms} | {name: gpu.there(array) for name, array in arrays.items()}
    exec(compile(snippet, GUIDE.name, "exec"), names)  # noqa: S102
    host.execute(voltages, out=sums, counts=valid)
    assert np.array_equal(gpu.back(names["sums"]), sums) and np.array_equal(gpu.back(names["valid"]), valid)
    expected = tl.channelize(x, 1024, device="cpu")
    assert np.allclose(gpu.back(names["spectra"]), expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    series = tl.dedisperse(sky, dms, frequencies=MHZ, sample_time_s=256e-6, device="cpu")
    pulses = tl.detect(series, dms, sample_time_s=256e-6, threshold=8, device="cpu")
    assert pulses.size and np.array_equal(names["pulses"], pulses) and np.array_equal(gpu.back(names["series"]), series)
    assert_same_visibilities(names["vis"], tl.correlate(x, rate_hz=1e6, channels=64, device="cuda:0"))
    found = tl.search(sky, "0:20", frequencies=MHZ, sample_time_s=256e-6, threshold=8, device="cuda:0")
    assert found.size and np.array_equal(names["found"], found)
    assert np.array_equal(names["curves"].sums, tl.autocorrelate(counts, bin_s=1e-6, device="cpu").sums)


def test_progress(gpu: Any, rng: np.random.Generator) -> None:
    told: list[tuple[int, int]] = []
    progress = lambda done, total: told.append((done, total))  # noqa: E731
    x = gpu.there(rng.integers(0, 200, (150000, 64)).astype(np.uint8))
    tl.dedisperse(x, [0, 5], frequencies=MHZ, sample_time_s=1e-3, progress=progress)
    tl.channelize(gpu.there(rng.standard_normal((2, 4096)).astype(np.float32)), 32, progress=progress)
    assert told == [(65536, 150000), (131072, 150000), (150000, 150000), (4096, 4096)]


def test_autocorrelate(gpu: Any, rng: np.random.Generator) -> None:
    counts = rng.poisson(1.0, (60000, 20)).astype(np.uint8)
    results = []
    for device, samples in (("cuda:0", gpu.there(counts)), ("cpu", counts)):
        plan = tl.stages.autocorrelate.Plan(20, bins=16, levels=5, device=device)
        plan.execute(samples)
        results.append(plan.read())
    assert np.array_equal(results[0].sums, results[1].sums) and np.array_equal(results[0].g, results[1].g)


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


SEARCH: dict[str, Any] = {"frequencies": MHZ, "sample_time_s": 1e-3}


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


def test_calls_go_behind_what_is_on_the_callers_stream(gpu: Any, rng: np.random.Generator) -> None:
    z = rng.integers(-100, 100, (8, 4, 4096, 2)).astype(np.int8)
    host, plan = (tl.stages.correlate.Plan(8, 4, device=device) for device in ("cpu", "cuda:0"))
    sums, counts = host.sums()
    there, late, out, counted = (gpu.there(x) for x in (np.zeros_like(z), z, sums, counts))
    slow = gpu.there(np.ones(1 << 26, np.float32))
    slow += 1
    plan.execute(there, out, counted)  # kernels are compiled
    gpu.finish()
    plan.begin()
    with gpu.stream():
        for _ in range(400):  # half a GB each: a tenth of a second
            slow += 1
        there[...] = late
        plan.execute(there, out, counted)
    with gpu.stream():  # adds to the sums of the call before, which is on another stream
        plan.execute(late, out, counted)
    del plan
    gpu.finish()
    for _ in range(2):
        host.execute(z, sums, counts)
    assert np.array_equal(gpu.back(out), sums) and np.array_equal(gpu.back(counted), counts)


def test_bad_arrays_are_refused(gpu: Any, rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 4096)).astype(np.float32)
    there, out = gpu.there(x), gpu.there(np.zeros((2, 57, 32), np.complex64))
    plan = tl.stages.channelize.Plan(32, 2, dtype="f32", device="cuda:0")
    for samples in (there[:, ::2], there[:1], there[0], there[None], gpu.there(x.astype(float)), gpu.there(x.astype(np.int8))):
        assert_refused(lambda: plan.execute(samples, out=out))
    for made in (out[:, :5], out[:1], out[..., ::2], out[0], gpu.there(np.zeros((2, 57, 32), np.float32))):
        assert_refused(lambda: plan.execute(there, out=made))
    assert not gpu.back(out).any()
    plan.execute(there, out=out)
    assert np.allclose(gpu.back(out), tl.channelize(x, 32, device="cpu"), atol=1e-3)


def test_arrays_elsewhere_are_refused(gpu: Any, rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 4096)).astype(np.float32)
    there = gpu.there(x)
    on_gpu, on_host = (tl.stages.channelize.Plan(32, 2, dtype="f32", device=d) for d in ("cuda:0", "cpu"))
    mixed: list[Any] = [
        lambda: on_host.execute(there),
        lambda: on_gpu.execute(there, out=np.zeros((2, 100, 32), np.complex64)),
        lambda: tl.channelize(there, 32, device="cpu"),
        lambda: tl.dedisperse(there, [0], frequencies=np.full(4096, 1400.0), sample_time_s=1e-3, device="cpu"),
        lambda: tl.detect(there, sample_time_s=1e-3, device="cpu"),
        lambda: tl.multipletau.autocorrelate(there[0]),
    ]
    for call in mixed:
        assert_refused(call)
    assert np.allclose(gpu.back(on_gpu.execute(there)), tl.channelize(x, 32, device="cpu"), atol=1e-3)


def main() -> Any:
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"seed {seed}")
    if not LIBRARIES:
        print(f"skipped: no library with a CUDA device: {WHY_NOT}")
        return 0
    failed = 0
    for gpu in LIBRARIES:
        for name, test in list(globals().items()):
            if not name.startswith("test_"):
                continue
            try:
                test(gpu, np.random.default_rng(seed))
                print(f"passed {gpu.name} {name}")
            except Exception as error:  # noqa: BLE001
                failed = 1
                print(f"FAILED {gpu.name} {name}: {type(error).__name__}: {error}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
