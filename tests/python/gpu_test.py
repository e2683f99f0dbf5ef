"""Arrays of GPUs stay there: plans and calls on cupy's and torch's, on their current streams.

Without pytest, `python3 gpu_test.py` runs the tests with each library that is there.
"""
import pathlib
import re
import sys
from typing import Any

import numpy as np
import tautline as tl
from gpu_support import MHZ, SEARCH, assert_refused, assert_same_visibilities, gpu, needs_gpu, run

pytestmark = needs_gpu
# The guide lies beside this file where scripts/test-gpu put both.
BESIDE = pathlib.Path(__file__).resolve().with_name("python.md")
GUIDE = BESIDE if BESIDE.exists() else BESIDE.parents[2] / "docs" / "guide" / "python.md"


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


def test_results_go_to_arrays_of_the_callers(gpu: Any, rng: np.random.Generator) -> None:
    z = rng.integers(-100, 100, (3, 50_000, 2)).astype(np.int8)
    cases: list[tuple[Any, dict[str, Any]]] = [(z, {}), (z[0], {}), (z, {"corner_turned": True}), (z[0], {"corner_turned": True})]
    for x, bank in cases:
        expected = tl.channelize(x, 64, taps=4, device="cpu", **bank)
        there, out = gpu.there(x), gpu.there(np.zeros_like(expected))
        for _ in range(2):
            assert tl.channelize(there, 64, taps=4, out=out, **bank) is out
        assert np.allclose(gpu.back(out), expected, rtol=0, atol=1e-4 * np.abs(expected).max())
        for wrong in (out[..., :-1], gpu.there(expected.real.copy()), np.zeros_like(expected), "out"):
            assert_refused(lambda: tl.channelize(there, 64, taps=4, out=wrong, **bank))
    sky = rng.integers(0, 200, (150_000, 64)).astype(np.uint8)
    dms = np.arange(0, 60, 5.0)
    expected = tl.dedisperse(sky, dms, device="cpu", **SEARCH)
    there, out = gpu.there(sky), gpu.there(np.zeros_like(expected))
    assert tl.dedisperse(there, dms, out=out, **SEARCH) is out and np.array_equal(gpu.back(out), expected)
    for wrong in (out[:, :-1], out[:-1], gpu.there(expected.astype(np.float32)), np.zeros_like(expected)):
        assert_refused(lambda: tl.dedisperse(there, dms, out=wrong, **SEARCH))


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


if __name__ == "__main__":
    sys.exit(run(globals()))
