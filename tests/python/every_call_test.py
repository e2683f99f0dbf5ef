"""Each call that takes arrays, with arrays of every form: the result of a dense array of this machine, or a clear error."""
import threading
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import OnDevice, beside_new_arrays, read_only

MHZ = np.linspace(1500, 1200, 16)
SKY: dict[str, Any] = {"frequencies": MHZ, "sample_time_s": 1e-3}

CALLS: dict[str, Any] = {
    "channelize": lambda x: tl.channelize(x, 16, taps=2),
    "correlate": lambda x: tl.correlate(x, rate_hz=1000, channels=16, taps=2).data,
    "dedisperse": lambda x: tl.dedisperse(x, [0, 2], **SKY),
    "dedisperse ft": lambda x: tl.dedisperse(x, [0, 2], axes="ft", **SKY),
    "search": lambda x: tl.search(x, [0.0, 1.0], threshold=5, **SKY),
    "detect": lambda x: tl.detect(x, sample_time_s=1e-2, threshold=5),
    "autocorrelate": lambda x: tl.autocorrelate(x, bin_s=1e-3).sums,
    "multipletau.autocorrelate": lambda x: tl.multipletau.autocorrelate(x),
    "multipletau.correlate": lambda x: tl.multipletau.correlate(x[:, 0], x[:, 1]),
    "fit": lambda x: tl.fit(tl.autocorrelate(x, bin_s=1e-3), model="3d").parameters["n"],
}
each_call = pytest.mark.parametrize("name", CALLS)


def samples_of(name: str, rng: np.random.Generator, scale: int = 1) -> Any:
    if name in ("channelize", "correlate"):
        return rng.standard_normal((3, 8000 * scale)).astype(np.complex64)
    x = rng.integers(0, 200, (4000 * scale, 16)).astype(np.uint8)
    x[2000:2004] = 250  # for searches to find
    if name == "detect":
        series = np.ascontiguousarray(x.T, np.int32)
        series[3:6, 1000:1003] += 5000
        return series
    if name == "dedisperse ft":
        return np.ascontiguousarray(x.T)
    return x.astype(float) if name.startswith("multipletau") else x


def assert_same(found: Any, expected: Any) -> None:
    assert expected.size > 0 and found.dtype == expected.dtype and found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()  # NaN too


def reversed_in_memory(x: Any) -> Any:
    return np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]


def every_second(x: Any) -> Any:
    wide = np.zeros((2 * x.shape[0], 2 * x.shape[1]), x.dtype)
    wide[::2, 1::2] = x
    return wide[::2, 1::2]


def rows_apart(x: Any) -> Any:
    wide = np.zeros((x.shape[0], x.shape[1] + 5), x.dtype)
    wide[:, 2:-3] = x
    return wide[:, 2:-3]


def misaligned(x: Any) -> Any:
    raw = np.empty(x.nbytes + 1, np.uint8)
    view = raw[1:].view(x.dtype).reshape(x.shape)
    view[:] = x
    return view


def swapped(x: Any) -> Any:
    return x.astype(x.dtype.newbyteorder())


@each_call
@pytest.mark.parametrize(
    "form", [np.asfortranarray, reversed_in_memory, every_second, rows_apart, misaligned, swapped, read_only], ids=lambda f: f.__name__
)
def test_any_layout_gives_the_same(name: str, form: Any, rng: np.random.Generator) -> None:
    x = samples_of(name, rng)
    given = form(x)
    before = given.copy()
    assert_same(CALLS[name](given), CALLS[name](x))
    assert np.array_equal(given, before)


@each_call
@pytest.mark.parametrize("dtype", ["bool", "int64", "uint64", "float16", "longdouble", "clongdouble"])
@pytest.mark.filterwarnings("ignore")
def test_other_types_are_refused_or_converted(name: str, dtype: str, rng: np.random.Generator) -> None:
    x = samples_of(name, rng)
    other = (x if dtype == "clongdouble" else x.real).astype(dtype)
    try:
        found = CALLS[name](other)
    except (tl.ConfigError, tl.UnsupportedError, TypeError) as error:
        assert isinstance(error, TypeError) or (error.field and "\n" not in str(error))
        return
    # Counts are, and the numbers of multipletau, whose results have its floating-point types.
    assert name.startswith(("autocorrelate", "multipletau", "fit")) and dtype != "clongdouble"
    expected = CALLS[name](other.astype(float if name.startswith("multipletau") else np.uint8))
    assert found.size == expected.size > 0 and np.array_equal(found, expected.astype(found.dtype), equal_nan=True)


@pytest.mark.parametrize("name", ["dedisperse", "dedisperse ft", "search"])
def test_axes_in_the_other_order_are_refused(name: str, rng: np.random.Generator) -> None:
    with pytest.raises(tl.ConfigError) as caught:
        CALLS[name](samples_of(name, rng).T)
    assert caught.value.field and "16" in str(caught.value)


@each_call
def test_too_many_axes_are_refused(name: str, rng: np.random.Generator) -> None:
    x = samples_of(name, rng)
    with pytest.raises(tl.ConfigError) as caught:
        CALLS[name](x[..., None, None, None])
    assert caught.value.field and "axes" in str(caught.value)


@each_call
def test_more_than_any_memory_is_refused(name: str) -> None:
    # An array of one number that says that it is 2^52 of them.
    dtype = samples_of(name, np.random.default_rng(1)).dtype
    shape = (3, 2**48) if name in ("channelize", "correlate", "detect") else (16, 2**48) if name == "dedisperse ft" else (2**48, 16)
    with pytest.raises((MemoryError, tl.Error, ValueError)):
        CALLS[name](np.broadcast_to(np.ones((), dtype), shape))


@each_call
def test_several_threads_at_once(name: str, rng: np.random.Generator) -> None:
    x = samples_of(name, rng)
    expected = CALLS[name](x)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.extend(CALLS[name](x) for _ in range(3))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12
    for one in found:
        assert_same(one, expected)


@each_call
def test_an_array_that_nobody_else_holds(name: str, rng: np.random.Generator) -> None:
    x = samples_of(name, rng, 20)
    expected = CALLS[name](x)
    held = [x.copy()]
    assert_same(beside_new_arrays(lambda: CALLS[name](held.pop()), x), expected)


def test_a_fit_takes_no_array() -> None:
    nothing: list[Any] = [None, 3, []]
    for x in nothing:
        with pytest.raises((tl.ConfigError, TypeError)):
            tl.fit(x)
    arrays: list[Any] = [np.zeros((5, 2)), memoryview(b"abc"), OnDevice()]
    for x in arrays:
        with pytest.raises(tl.ConfigError) as caught:
            tl.fit(x)
        assert caught.value.field == "curves" and "autocorrelate" in caught.value.advice
