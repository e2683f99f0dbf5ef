"""Calls of `dedisperse`, which keep the plan and the state of the last one: the results of a fresh process."""
import gc
import os
import threading
from typing import Any

import numpy as np
import pytest
import tautline as tl
from tautline import _tautline

CHANNELS = 24
MHZ = np.linspace(1500, 1200, CHANNELS)


def call(x: Any, **changed: Any) -> Any:
    fields: dict[str, Any] = {"dms": [0, 7, 30.5], "frequencies": MHZ, "sample_time_s": 256e-6, "device": "cpu", **changed}
    return tl.dedisperse(x, fields.pop("dms"), **fields)


def fresh(x: Any, **changed: Any) -> Any:
    """Of a plan that no other call had."""
    call(np.zeros((1, 2), np.uint8), frequencies=[1500, 1400], dms=[0])
    made = _tautline.plans_made()
    series = call(x, **changed)
    assert _tautline.plans_made() == made + 1
    return series


def samples(rng: np.random.Generator, times: int = 40_000) -> Any:
    return rng.integers(0, 256, (times, CHANNELS)).astype(np.uint8)


# More times than a piece, fewer than the delays, and one.
@pytest.mark.parametrize("times", [40_000, 300, 1])
@pytest.mark.parametrize("changed", [{}, {"zero_dm": True}, {"downsample": 3}, {"ignored_channels": [0, 5]}])
def test_a_second_call_makes_no_plan(rng: np.random.Generator, times: int, changed: Any) -> None:
    for kind in (np.uint8, np.int8, np.float32):
        first, second = (samples(rng, times).astype(kind) for _ in range(2))
        expected = fresh(second, **changed)
        fresh(first, **changed)
        made = _tautline.plans_made()
        assert call(second, **changed).tobytes() == expected.tobytes()
        out = np.full_like(expected, 77)
        assert call(second, out=out, **changed) is out and out.tobytes() == expected.tobytes()
        assert _tautline.plans_made() == made


def test_every_argument_makes_another_plan(rng: np.random.Generator) -> None:
    x = samples(rng)
    every: list[dict[str, Any]] = [
        {"frequencies": MHZ + 1}, {"sample_time_s": 257e-6}, {"dms": [0, 7, 31]}, {"dm_constant": 4150.0}, {"reference_mhz": 1501},
        {"ignored_channels": [3]}, {"zero_dm": True}, {"downsample": 2}, {"device": "reference"}, {"device": "cpu:portable"},
    ]  # fmt: skip
    plain = fresh(x)
    for changed in every:
        expected = fresh(x, **changed)
        call(x)
        made = _tautline.plans_made()
        assert call(x, **changed).tobytes() == expected.tobytes() and _tautline.plans_made() == made + 1, changed
        assert call(x).tobytes() == plain.tobytes() and _tautline.plans_made() == made + 2, changed
    for other in (x.astype(np.int16), x.astype(np.float32), x[:9000]):
        call(x)
        made = _tautline.plans_made()
        series = call(other)
        assert _tautline.plans_made() == made + 1 and series.tobytes() == fresh(other).tobytes()


def test_another_number_of_threads(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    x = samples(rng)
    expected = fresh(x)
    for cap in ("portable:1", ""):
        monkeypatch.setenv("TAUTLINE_CPU", cap)
        assert call(x).tobytes() == expected.tobytes()


def test_arrays_that_go_and_values_that_are_not_finite(rng: np.random.Generator) -> None:
    x = samples(rng).astype(np.float32)
    expected = fresh(x)
    bad = x.copy()
    bad[rng.integers(0, len(bad), 50), rng.integers(0, CHANNELS, 50)] = np.nan
    with pytest.warns(tl.DataWarning):
        call(bad)
    del bad
    gc.collect()
    assert call(x.copy()).tobytes() == expected.tobytes()


def test_a_call_that_was_stopped_leaves_nothing(rng: np.random.Generator) -> None:
    class Enough(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Enough

    x = samples(rng)
    expected = fresh(x)
    with pytest.raises(Enough):
        call(x, progress=stop)
    with pytest.raises(tl.ConfigError):
        call(x, out=np.empty((1, 1), np.int32))
    made = _tautline.plans_made()
    assert call(x).tobytes() == expected.tobytes() and _tautline.plans_made() == made + 1


def test_what_a_call_computes_within_another(rng: np.random.Generator) -> None:
    x, y = samples(rng), samples(rng)
    expected = [fresh(x), fresh(y)]
    inside: list[Any] = []
    got = call(x, progress=lambda done, total: inside.append(call(y)))
    assert got.tobytes() == expected[0].tobytes()
    assert inside and all(one.tobytes() == expected[1].tobytes() for one in inside)


def test_threads_share_no_state(rng: np.random.Generator) -> None:
    every = [samples(rng) for _ in range(4)]
    expected = [fresh(x).tobytes() for x in every]
    wrong: list[int] = []

    def work(k: int) -> None:
        wrong.extend(k for _ in range(10) if call(every[k]).tobytes() != expected[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer's allocator has locks that a fork leaves locked"
)
@pytest.mark.filterwarnings("ignore")
def test_a_forked_process_and_its_parent(rng: np.random.Generator) -> None:
    x, y = samples(rng), samples(rng)
    expected = [fresh(x).tobytes(), fresh(y).tobytes()]
    child = os.fork()
    if child == 0:
        right = all(call(one).tobytes() == sums for one, sums in zip((x, y, x), (*expected, expected[0])))
        os._exit(0 if right else 1)
    assert call(x).tobytes() == expected[0] and call(y).tobytes() == expected[1]
    assert os.waitpid(child, 0)[1] == 0


def test_much_memory_is_not_kept(rng: np.random.Generator) -> None:
    x = samples(rng, 100)
    long: dict[str, Any] = {"sample_time_s": 1e-6, "dms": [0, 5000]}  # delays of 5 million times in 24 channels
    for _ in range(2):
        made = _tautline.plans_made()
        assert call(x, **long).shape == (2, 0) and _tautline.plans_made() == made + 1
