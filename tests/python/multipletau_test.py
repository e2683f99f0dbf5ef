"""tautline.multipletau against the package multipletau itself: the same calls, the same results."""
import subprocess
import sys
import textwrap
import warnings
from typing import Any

import multipletau  # type: ignore[import-untyped]
import numpy as np
import pytest
import tautline as tl

TOLERANCE = 1e-12

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def near(got: Any, expected: Any) -> None:
    assert got.shape == expected.shape and got.dtype == expected.dtype
    scale = np.maximum(1.0, np.abs(expected))
    limit = TOLERANCE if got.dtype == np.float64 else 1e-5
    assert np.abs((got - expected) / scale).max() <= limit


def series(rng: np.random.Generator, kind: Any, length: Any) -> Any:
    if kind == "counts":
        return rng.poisson(4, length)
    if kind == "bytes":
        return rng.integers(0, 256, length).astype(np.uint8)
    if kind == "large":
        return rng.integers(0, 2**32, length)
    if kind == "signed":
        return rng.integers(-5, 20, length)
    if kind == "single":
        return rng.gamma(3, 2, length).astype(np.float32)
    return rng.gamma(3, 2, length) + np.cumsum(rng.standard_normal(length)) / 100


KINDS = ("counts", "bytes", "signed", "double")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compress", ["average", "first", "second"])
@pytest.mark.parametrize("m, length", [(16, 32), (16, 12345), (2, 777), (8, 1024), (10, 160)])
def test_autocorrelate(rng: np.random.Generator, kind: Any, compress: Any, m: Any, length: Any) -> None:
    a = series(rng, kind, length)
    for normalize in (False, True):
        arguments = {"m": m, "deltat": 1.6e-6, "normalize": normalize, "compress": compress}
        near(tl.multipletau.autocorrelate(a, **arguments), multipletau.autocorrelate(a, **arguments))
    mine, counts = tl.multipletau.autocorrelate(a, m=m, compress=compress, ret_sum=True)
    theirs, their_counts = multipletau.autocorrelate(a, m=m, compress=compress, ret_sum=True)
    near(mine, theirs)
    near(counts, their_counts)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("normalize", [False, True])
def test_correlate(rng: np.random.Generator, kind: Any, normalize: Any) -> None:
    a, v = series(rng, kind, 5000), series(rng, kind, 5000)
    v[3:] += a[:-3]
    near(
        tl.multipletau.correlate(a, v, m=16, normalize=normalize),
        multipletau.correlate(a, v, m=16, normalize=normalize),
    )


def test_large_counts(rng: np.random.Generator) -> None:
    a = series(rng, "large", 4096)
    near(tl.multipletau.autocorrelate(a, normalize=True), multipletau.autocorrelate(a, normalize=True))


def test_single_precision_gives_single_precision(rng: np.random.Generator) -> None:
    a = series(rng, "single", 3000)
    mine = tl.multipletau.autocorrelate(a, normalize=True)
    assert mine.dtype == np.float32
    exact = multipletau.autocorrelate(a.astype(float), normalize=True)
    assert np.abs(mine - exact)[:, 1].max() < 1e-6
    near(
        tl.multipletau.autocorrelate(a, normalize=True, dtype=np.float64),
        multipletau.autocorrelate(a, normalize=True, dtype=np.float64),
    )


def test_many_sensors_are_each_by_itself(rng: np.random.Generator) -> None:
    a = rng.poisson(3, (4000, 37))
    curves = tl.multipletau.autocorrelate(a, normalize=True)
    for sensor in (0, 1, 17, 36):
        near(curves[sensor], multipletau.autocorrelate(a[:, sensor], normalize=True))


def test_lists_and_the_example_of_its_documents() -> None:
    near(tl.multipletau.autocorrelate(range(42), m=2, dtype=np.float64),
         multipletau.autocorrelate(range(42), m=2, dtype=np.float64))


@pytest.mark.parametrize(
    "arguments",
    [
        {"a": [1.0] * 31},
        {"a": [1.0, -1.0] * 50, "normalize": True},
        {"a": [1.0] * 100, "normalize": 1},
        {"a": [1.0] * 100, "compress": "last"},
        {"a": [1.0] * 100, "normalize": True, "ret_sum": True},
    ],
)
def test_both_refuse(arguments: Any) -> None:
    for function in (multipletau.autocorrelate, tl.multipletau.autocorrelate):
        with pytest.raises(ValueError):
            function(**arguments)


def test_both_warn(rng: np.random.Generator) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tl.multipletau.autocorrelate(rng.poisson(3, 500), m=15)
    kinds = {type(w.message).__name__ for w in caught}
    assert kinds == {"DtypeWarning", "InvalidMWarning"}


def test_complex_numbers_are_refused() -> None:
    with pytest.raises(tl.UnsupportedError, match="complex"):
        tl.multipletau.autocorrelate(np.ones(100, complex))


@pytest.mark.parametrize("kind", ["counts", "double"])
def test_arrays_of_doubles(rng: np.random.Generator, kind: str) -> None:
    a = series(rng, kind, (70_000, 40)) if kind == "counts" else rng.gamma(3, 2, (70_000, 40))
    a = a.astype(float)
    curves = tl.multipletau.autocorrelate(a, normalize=True)
    pairs = tl.multipletau.correlate(a, a[:, ::-1], normalize=True)
    for sensor in (0, 17, 39):
        near(curves[sensor], multipletau.autocorrelate(a[:, sensor], normalize=True))
        near(pairs[sensor], multipletau.correlate(a[:, sensor], a[:, 39 - sensor], normalize=True))


@pytest.mark.parametrize("kind", ["counts", "double", "counts at first"])
def test_progress(rng: np.random.Generator, kind: str) -> None:
    a = rng.poisson(3, (30_000, 40)).astype(float)
    if kind != "counts":
        a[0 if kind == "double" else -1] += 0.5
    told: list[tuple[int, int]] = []
    tell = lambda done, total: told.append((done, total))  # noqa: E731
    curves = tl.multipletau.autocorrelate(a, normalize=True, progress=tell)
    assert told[-1] == (30_000, 30_000) and told == sorted(told)
    assert np.array_equal(curves, tl.multipletau.autocorrelate(a, normalize=True))
    told.clear()
    curves = tl.multipletau.correlate(a, a[:, ::-1], normalize=True, progress=tell)
    assert told[-1] == (30_000, 30_000) and told == sorted(told)
    assert np.array_equal(curves, tl.multipletau.correlate(a, a[:, ::-1], normalize=True))

    class Enough(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Enough

    with pytest.raises(Enough):
        tl.multipletau.autocorrelate(a, progress=stop)


@pytest.mark.parametrize("function", ["autocorrelate", "correlate"])
@pytest.mark.parametrize("kind", ["counts", "double"])
def test_ctrl_c_stops_the_sums(function: str, kind: str) -> None:
    # The signal comes while the module computes, which takes a processor seconds; after that it would come too late.
    code = textwrap.dedent(f"""
        import os, signal, threading, types, warnings
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
        import numpy as np, tautline as tl
        warnings.simplefilter("ignore")
        x = np.random.default_rng(1).integers(0, 9, (1_500_000, 16)).astype({"np.uint8" if kind == "counts" else "float"})
        x[-1] = 0 if x.dtype == np.uint8 else 0.5
        own, ended = tl._tautline.standard_curves, []
        def curves(*arguments):
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
            result = own(*arguments)
            ended.append(True)
            return result
        tl.multipletau._tautline = types.SimpleNamespace(standard_curves=curves)
        try:
            tl.multipletau.{function}(*[x] * {1 if function == "autocorrelate" else 2}, m=1024)
        except KeyboardInterrupt:
            assert not ended, "came to its end"
            print("stopped", len(tl.channelize(np.ones(1000, np.complex64), 16)))
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.startswith("stopped"), done.stderr
