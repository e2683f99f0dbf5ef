"""Each kept plan, with arrays of every form, threads and forks: right results, or an error that changes nothing."""
import os
import signal
import threading
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import OnDevice, beside_new_arrays, cannot_hold, read_only

MHZ = np.linspace(1500, 1200, 16)
LONGEST = 2000

MAKE: dict[str, Any] = {
    "channelize": lambda: tl.stages.channelize.Plan(32, 3, taps=2, max_samples=LONGEST, device="cpu"),
    "correlate": lambda: tl.stages.correlate.Plan(4, 3, max_samples=LONGEST, device="cpu"),
    "dedisperse": lambda: tl.stages.dedisperse.Plan(MHZ, 1e-3, [0.0, 9.0], max_samples=LONGEST, device="cpu"),
    "detect": lambda: tl.stages.detect.Plan(4, sample_time_s=1e-3, threshold=5, max_samples=LONGEST, device="cpu"),
    "autocorrelate": lambda: tl.stages.autocorrelate.Plan(16, bins=8, levels=4, max_samples=LONGEST, device="cpu"),
}
each_plan = pytest.mark.parametrize("name", MAKE)
TIME_AXIS = {"channelize": 1, "correlate": 2, "dedisperse": 0, "detect": 1, "autocorrelate": 0}


def samples_of(name: str, rng: np.random.Generator, times: int = LONGEST) -> Any:
    if name == "channelize":
        return rng.standard_normal((3, times)).astype(np.complex64)
    if name == "correlate":
        return rng.integers(-128, 128, (4, 3, times, 2)).astype(np.int8)
    if name == "detect":
        x = rng.normal(0, 100, (4, times)).astype(np.int32)
        x[1:3, times // 2 : times // 2 + 4] += 2000
        return x
    return rng.integers(0, 200, (times, 16)).astype(np.uint8)


def give(plan: Any, x: Any) -> Any:
    """What execute gives for `x`; of plans that add up, nothing."""
    if isinstance(plan, tl.stages.correlate.Plan):
        sums, counts = plan.sums()
        plan.execute(x, sums, counts)
        return sums
    return plan.execute(x)


def result_of(plan: Any, x: Any) -> Any:
    """All that a stream comes to that ends with `x`."""
    given = give(plan, x)
    if isinstance(plan, tl.stages.detect.Plan):
        plan.finish()
        return np.asarray(plan.take())
    return plan.read().sums if isinstance(plan, tl.stages.autocorrelate.Plan) else given


def part(x: Any, name: str, first: int, last: int) -> Any:
    return np.ascontiguousarray(np.take(x, range(first, last), TIME_AXIS[name]))


@each_plan
def test_what_is_refused_changes_nothing(name: str, rng: np.random.Generator) -> None:
    x = samples_of(name, rng)
    expected = result_of(MAKE[name](), x)
    assert expected.size > 0
    plan = MAKE[name]()
    axis = TIME_AXIS[name]
    other = np.uint8 if name in ("channelize", "detect") else np.complex128
    bad: dict[str, Any] = {
        "an axis less": x[0],
        "an axis more": x[None],
        "another type": x.real.astype(other),
        "its own type in another width": x.astype("complex128" if name == "channelize" else "int64"),
        "every second time": np.take(x, [0, 0], axis) if axis == 0 else x[:, ::2] if axis == 1 else x[:, :, ::2],
        "backwards": x[::-1],
        "Fortran's order": np.asfortranarray(x),
        "a row too few": np.delete(x, 0, 1 - min(axis, 1)),
        "too many times": np.concatenate([x, x], axis),
        "text": "samples",
        "nothing": None,
        "a list": [[1, 2], [3, 4]],
        "texts": np.array([["a"]]),
        "objects": np.array([[None]]),
        "a GPU's": OnDevice(),
    }
    if axis == 0:
        bad["every second time"] = np.asfortranarray(x)[::2]
    if x.dtype.itemsize > 1:
        bad["swapped"] = x.astype(x.dtype.newbyteorder())
    for what, one in bad.items():
        with pytest.raises((tl.ConfigError, tl.UnsupportedError, TypeError)) as caught:
            give(plan, one)
        assert "\n" not in str(caught.value) or isinstance(caught.value, TypeError), what
    found = result_of(plan, x)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["channelize", "correlate", "dedisperse"])
def test_outputs_that_are_refused(name: str, rng: np.random.Generator) -> None:
    x = samples_of(name, rng)
    expected = result_of(MAKE[name](), x)
    plan = MAKE[name]()
    shape = plan.sums()[0].shape if name == "correlate" else (2, plan.room) if name == "dedisperse" else expected.shape
    good = np.zeros(shape, expected.dtype)
    bad = cannot_hold(good) | {"too short": good[:, : expected.shape[1] - 1]}
    for what, out in bad.items():
        with pytest.raises((tl.ConfigError, tl.UnsupportedError, TypeError)):
            plan.execute(x, out)
            pytest.fail(what)
    assert not good.any() and not bad["read only"].any()
    plan.execute(x, good)
    found = good[:, : expected.shape[1]]
    assert found.tobytes() == expected.tobytes()


@each_plan
def test_rows_apart_read_only_and_misaligned(name: str, rng: np.random.Generator) -> None:
    x = samples_of(name, rng)
    expected = result_of(MAKE[name](), x)
    wide = np.zeros([n + 3 if k == 1 else n for k, n in enumerate(x.shape)], x.dtype)
    apart = wide[:, 1:-2]
    apart[...] = x
    raw = np.empty(x.nbytes + 1, np.uint8)
    misaligned = raw[1:].view(x.dtype).reshape(x.shape)
    misaligned[...] = x
    for one in (apart, read_only(x)):
        assert result_of(MAKE[name](), one).tobytes() == expected.tobytes()
        assert np.array_equal(one, x)
    if misaligned.flags.aligned:
        assert result_of(MAKE[name](), misaligned).tobytes() == expected.tobytes()
        return
    with pytest.raises(tl.ConfigError, match="not aligned") as caught:
        result_of(MAKE[name](), misaligned)
    assert caught.value.field


@each_plan
def test_no_times_at_all(name: str, rng: np.random.Generator) -> None:
    x = samples_of(name, rng)
    expected = result_of(MAKE[name](), x)
    plan = MAKE[name]()
    given = give(plan, part(x, name, 0, 0))
    assert given is None or given.size == 0 or not given.any()
    assert result_of(plan, x).tobytes() == expected.tobytes()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_not_finite_samples_stay_where_they_are(value: float, device: str, rng: np.random.Generator) -> None:
    voltages = samples_of("channelize", rng)
    voltages[1, 1000] = value
    spectra = tl.stages.channelize.Plan(32, 3, taps=2, device=device).execute(voltages)
    hit = ~np.isfinite(spectra).all(2)
    assert hit[1].any() and hit.sum() <= 2 and not hit[[0, 2]].any()
    products = tl.stages.correlate.Plan(4, 3, dtype="cf32", device=device)
    sums, counts = products.sums()
    z = rng.standard_normal((4, 3, 500)).astype(np.complex64)
    z[2, 1, 77] = value
    products.execute(z, sums, counts)
    assert np.array_equal(np.isfinite(sums), ~np.array([[k == 2 and pair in (1, 2, 4) for pair in range(6)] for k in range(4)]))
    sky = samples_of("dedisperse", rng).astype(np.float32)
    sky[700, 3] = value
    plan = tl.stages.dedisperse.Plan(MHZ, 1e-3, [0.0, 9.0], dtype="f32", max_samples=LONGEST, device=device)
    series = plan.execute(sky).copy()
    sky[700, 3] = 0  # as every call on filterbanks takes it
    plan.reset()
    assert np.array_equal(series, plan.execute(sky))
    counted = tl.stages.autocorrelate.Plan(3, dtype="f32", bins=8, levels=2, device=device)
    n = rng.poisson(3, (500, 3)).astype(np.float32)
    n[250, 1] = value
    counted.execute(n)
    assert np.isfinite(counted.read().sums[[0, 2]]).all() and not np.isfinite(counted.read().sums[1]).all()
    counted.reset()  # a new stream knows nothing of it
    counted.execute(np.ones((100, 3), np.float32))
    assert np.isfinite(counted.read().sums).all()


@each_plan
def test_arrays_and_plans_that_nobody_else_holds(name: str, rng: np.random.Generator) -> None:
    x = samples_of(name, rng)
    expected = result_of(MAKE[name](), x)
    for _ in range(5):
        held: list[Any] = [MAKE[name](), x.copy()]
        found = beside_new_arrays(lambda held=held: result_of(held.pop(0), held.pop()), x)
        assert found.tobytes() == expected.tobytes()


@each_plan
def test_threads_take_turns(name: str, rng: np.random.Generator) -> None:
    # All give the same times, so that their order does not matter.
    x = samples_of(name, rng, 40)
    one, several = MAKE[name](), MAKE[name]()
    for _ in range(40):
        give(one, x)
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(10):
                give(several, x)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert result_of(several, x).tobytes() == result_of(one, x).tobytes()


@each_plan
@pytest.mark.filterwarnings("ignore")
def test_a_plan_goes_on_in_a_forked_process(name: str, rng: np.random.Generator) -> None:
    x = samples_of(name, rng)
    expected = MAKE[name]()
    give(expected, part(x, name, 0, 500))
    wanted = result_of(expected, part(x, name, 500, LONGEST))
    plan = MAKE[name]()
    give(plan, part(x, name, 0, 500))
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(60)
            os._exit(result_of(plan, part(x, name, 500, LONGEST)).tobytes() != wanted.tobytes())
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert result_of(plan, part(x, name, 500, LONGEST)).tobytes() == wanted.tobytes()
