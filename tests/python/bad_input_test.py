"""Arrays that are not what a call wants, threads, forks, Ctrl-C: an exception that says so, or right results."""
import functools
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import Foreign, torch_tensor

MHZ = np.linspace(1500, 1200, 16)

CALLS: dict[str, Any] = {
    "channelize": lambda x: tl.channelize(x, 16, taps=2),
    "correlate": lambda x: tl.correlate(x, rate_hz=1000, channels=16, taps=2),
    "dedisperse": lambda x: tl.dedisperse(x, [0, 2], frequencies=MHZ, sample_time_s=1e-3),
    "search": lambda x: tl.search(x, [1.0], frequencies=MHZ, sample_time_s=1e-3),
    "detect": lambda x: tl.detect(x, sample_time_s=1e-2),
    "autocorrelate": lambda x: tl.autocorrelate(x, bin_s=1e-3),
    "multipletau": lambda x: tl.multipletau.autocorrelate(x),
}


class Unfinished:
    """An array that fails when it is asked for its data."""

    def __dlpack_device__(self) -> Any:
        return (1, 0)

    def __dlpack__(self, **_: Any) -> None:
        raise BufferError("it is being written")


class OnDevice:
    def __dlpack_device__(self) -> Any:
        return (2, 0)  # CUDA

    def __dlpack__(self, **_: Any) -> None:
        raise AssertionError("memory of a device is not touched")


def numbers_of(result: Any) -> Any:
    return result.data if isinstance(result, tl.Visibilities) else result.g if isinstance(result, tl.Curves) else result


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("other", [Foreign, memoryview, torch_tensor])
def test_arrays_of_other_libraries(name: str, other: Any, rng: np.random.Generator) -> None:
    x = rng.integers(0, 99, (4000, 16)).astype(np.uint8)
    x[2000:2004] = 250  # for search to find
    if name in ("channelize", "correlate"):
        x = rng.standard_normal((3, 4000)).astype(np.float32)
    elif name == "detect":
        x = x.T.astype(np.int32)
    elif name == "multipletau":
        x = x.astype(float)
    expected, found = numbers_of(CALLS[name](x)), numbers_of(CALLS[name](other(x)))
    assert expected.size > 0 and type(found) is type(expected) and found.tobytes() == expected.tobytes()  # NaN too


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "x",
    [
        np.array("text"),
        np.array(["a", "b"]),
        np.array([object()]),
        np.zeros((2, 2, 2, 2, 2), np.float32),
        np.zeros(5, "datetime64[s]"),
        np.zeros(3, [("re", "i1"), ("im", "i1")]),
        np.float32(3),
        [[1, 2], [3]],
        Unfinished(),
    ],
    ids=lambda x: f"{type(x).__name__}-{getattr(x, 'dtype', '')}",
)
def test_no_array_of_samples(name: str, x: Any) -> None:
    with pytest.raises((tl.ConfigError, tl.UnsupportedError)) as caught:
        CALLS[name](x)
    assert caught.value.field and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("x", [None, 5, {"a": 1}, b"abc"])
def test_neither_array_nor_file(name: str, x: Any) -> None:
    with pytest.raises((tl.Error, TypeError, ValueError)):
        CALLS[name](x)


class Cupy(OnDevice):
    """One of cupy's."""


Cupy.__module__ = "cupy"
TAKERS = {name: [f"tautline.stages.{name}.Plan"] for name in ("channelize", "dedisperse", "detect")}
TAKERS |= {name: [f"tautline.{name}"] for name in ("correlate", "search", "autocorrelate")}
TAKERS["multipletau"] = ["tautline.stages.autocorrelate.Plan"]


@pytest.mark.parametrize("name", CALLS)
def test_memory_of_a_device_is_refused(name: str) -> None:
    # The error names how to copy it, what takes it, and what makes an array of another library one that is taken.
    for x, copied, given in ((Cupy(), " (x.get())", "it"), (OnDevice(), "", "cupy.from_dlpack or torch.from_dlpack of it")):
        with pytest.raises(tl.UnsupportedError) as caught:
            CALLS[name](x)
        error = caught.value
        assert error.field and error.value == "an array of cuda:0" and error.limit == "one in the host's memory"
        assert error.advice == f"copy it first{copied}, or give {given} to {', then to '.join(TAKERS[name])}"
        for taker in TAKERS[name]:
            found = functools.reduce(getattr, taker.split(".")[1:], tl)
            assert callable(getattr(found, "execute", found))


class Numba:
    """An array of a GPU that offers CUDA's array interface alone, and a copy to numpy."""

    __cuda_array_interface__ = {"shape": (4, 16), "typestr": "<f4", "data": (0, False), "version": 3}
    shape, ndim, dtype = (4, 16), 2, np.dtype(np.float32)

    def __array__(self, *_: Any, **__: Any) -> None:
        raise AssertionError("it is not copied unasked")


Numba.__module__ = "numba.cuda"


@pytest.mark.parametrize("name", [*CALLS, "plan"])
def test_arrays_of_cudas_array_interface_are_told_what_makes_them_cupys(name: str) -> None:
    with pytest.raises(tl.UnsupportedError) as caught:
        if name == "plan":
            tl.stages.channelize.Plan(16, 4, dtype="f32", device="cpu").execute(Numba())
        else:
            CALLS[name](Numba())
    error = caught.value
    assert error.field and error.value == "an array of numba in CUDA's memory" and error.advice == "give cupy.asarray of it"


def test_plans_refuse_arrays_of_libraries_whose_stream_they_do_not_know() -> None:
    # Where there is no GPU the plan's device is the host's, which is refused first.
    x = type("Jax", (OnDevice,), {"__module__": "jaxlib.xla", "shape": (2, 3), "ndim": 2, "dtype": "float32"})()
    with pytest.raises(tl.ConfigError, match="jaxlib.*give cupy.from_dlpack or torch.from_dlpack of it"):
        tl.stages.channelize.Plan(16, 2, dtype="f32", device="cpu").execute(x)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("shape", [(0,), (0, 16), (16, 0), (1,), (1, 16), (2, 1)])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "float32", "complex64"])
def test_empty_and_tiny(name: str, shape: Any, dtype: str) -> None:
    # An error that names a field, or a result without anything that ones so few could not give.
    try:
        found = numbers_of(CALLS[name](np.ones(shape, dtype)))
    except tl.Error as error:
        assert error.field and "\n" not in str(error)
        return
    except ValueError as error:  # the package multipletau's own
        assert name == "multipletau" and "2m" in str(error)
        return
    if name in ("autocorrelate", "multipletau", "correlate"):
        assert found.size and not np.isinf(found).any()
    else:
        assert found.size == 0


def test_strides_of_every_kind(rng: np.random.Generator) -> None:
    wide = rng.integers(0, 200, (600, 64)).astype(np.uint8)
    views = [
        wide[::-1, ::-1],
        wide[::2, 5:21],
        wide[:, ::4],
        np.broadcast_to(wide[:1], (600, 64)),
        wide.T[:600],
        np.asfortranarray(wide),
    ]
    for view in views:
        mhz = np.linspace(1500, 1200, view.shape[1])
        arguments: dict[str, Any] = {"frequencies": mhz, "sample_time_s": 1e-2}
        assert np.array_equal(
            tl.dedisperse(view, [0, 9], **arguments), tl.dedisperse(np.ascontiguousarray(view), [0, 9], **arguments)
        )
        assert np.array_equal(
            tl.autocorrelate(view, bin_s=1, bins=4, levels=3).sums,
            tl.autocorrelate(np.ascontiguousarray(view), bin_s=1, bins=4, levels=3).sums,
        )


def test_misaligned_and_swapped(rng: np.random.Generator) -> None:
    x = rng.random((500, 16)).astype(np.float32)
    raw = np.empty(x.nbytes + 1, np.uint8)
    misaligned = raw[1:].view(np.float32).reshape(x.shape)
    misaligned[:] = x
    arguments: dict[str, Any] = {"frequencies": MHZ, "sample_time_s": 1e-2}
    expected = tl.dedisperse(x, [0, 3], **arguments)
    assert np.array_equal(tl.dedisperse(misaligned, [0, 3], **arguments), expected)
    assert np.array_equal(tl.dedisperse(x.astype(">f4"), [0, 3], **arguments), expected)


def test_frequencies_in_hz_are_refused(rng: np.random.Generator) -> None:
    x = rng.integers(0, 200, (600, 16)).astype(np.uint8)
    for call in (tl.dedisperse, tl.search):
        with pytest.raises(tl.ConfigError, match="frequencies: 1.5e\\+09, expected MHz, below 1e\\+06"):
            call(x, [0.0, 2.0], frequencies=MHZ * 1e6, sample_time_s=1e-3)
    with pytest.raises(tl.ConfigError, match="expected MHz"):
        tl.plot.waterfall(x, frequencies=MHZ * 1e6, sample_time_s=1e-3)


def test_mistyped_arguments_are_told_the_nearest() -> None:
    x = np.ones((2, 1000), np.complex64)
    for typed, meant in (("chanels", "channels"), ("array", "array_path"), ("phase_center", "phase_centre")):
        mistyped: dict[str, Any] = {typed: 16}
        with pytest.raises(tl.ConfigError, match=f"^{typed}: .*; did you mean {meant}$"):
            tl.correlate(x, rate_hz=1000, **mistyped)
    with pytest.raises(tl.ConfigError) as caught:
        tl.correlate(x, rate_hz=1000, qqqq=16)
    assert "did you mean" not in str(caught.value)


def test_no_counts_at_all_are_refused() -> None:
    for shape in ((0,), (0, 3), (5, 0)):
        with pytest.raises(tl.ConfigError, match="at least one count"):
            tl.autocorrelate(np.zeros(shape, np.uint8), bin_s=1e-3)


def test_masked_arrays_are_refused(rng: np.random.Generator) -> None:
    x = np.ma.masked_greater(rng.integers(0, 9, (100, 16)).astype(np.uint8), 5)  # type: ignore[no-untyped-call]
    with pytest.raises(tl.ConfigError, match="masked"):
        CALLS["dedisperse"](x)


def test_what_would_take_too_much_memory() -> None:
    x = np.ones((2000, 16), np.uint8)
    with pytest.raises((tl.Error, MemoryError)):
        tl.dedisperse(x, np.zeros((1 << 20) + 1), frequencies=MHZ, sample_time_s=1e-3)
    with pytest.raises(tl.OutOfMemoryError) as caught:
        tl.search(np.ones((100000, 16), np.uint8), "0:100:0.1", frequencies=MHZ, sample_time_s=1e-3, memory_bytes="64K")
    assert isinstance(caught.value, MemoryError)
    with pytest.raises(tl.Error):
        tl.channelize(np.ones(1000, np.complex64), 2**62)


def test_huge_numbers_as_arguments() -> None:
    x = np.ones((100, 16), np.uint8)
    for downsample in (2**70, -1, 1.5, "two"):
        with pytest.raises(tl.ConfigError):
            tl.dedisperse(x, [0], frequencies=MHZ, sample_time_s=1e-3, downsample=downsample)
    with pytest.raises(tl.ConfigError):
        tl.dedisperse(x, [0], frequencies=MHZ, sample_time_s=1e-3, downsample=0)


def test_inputs_stay_as_they_are(rng: np.random.Generator) -> None:
    x = rng.integers(0, 200, (3000, 16)).astype(np.uint8)
    x.flags.writeable = False
    for name in ("dedisperse", "search", "autocorrelate"):
        before = x.copy()
        CALLS[name](x)
        assert np.array_equal(x, before)


def test_threads_at_once(rng: np.random.Generator) -> None:
    x = rng.integers(0, 200, (4000, 16)).astype(np.uint8)
    v = rng.standard_normal((3, 8000)).astype(np.complex64)
    expected = (CALLS["dedisperse"](x), CALLS["channelize"](v), CALLS["correlate"](v).data, CALLS["autocorrelate"](x).sums)
    wrong: list[int] = []

    def work() -> None:
        for _ in range(3):
            got = (CALLS["dedisperse"](x), CALLS["channelize"](v), CALLS["correlate"](v).data, CALLS["autocorrelate"](x).sums)
            wrong.extend(k for k in range(4) if not np.array_equal(got[k], expected[k]))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_other_threads_run_meanwhile(rng: np.random.Generator) -> None:
    # The interpreter's lock is free while the library computes: another thread counts on, at a twentieth of its own rate
    # or more. With the lock held it would count between the parts of the call that are Python's alone.
    x = rng.integers(0, 200, (400000, 16)).astype(np.uint8)
    counted, done = [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            counted[0] += 1

    def rate_of(work: Any) -> float:
        begun, before = time.monotonic(), counted[0]
        work()
        return (counted[0] - before) / (time.monotonic() - begun)

    thread = threading.Thread(target=count)
    thread.start()
    own = rate_of(lambda: time.sleep(0.3))
    # Of three, since the machine may be busy.
    dedisperse = lambda: tl.dedisperse(x, np.arange(0, 200.0), frequencies=MHZ, sample_time_s=1e-3)  # noqa: E731
    free = any(rate_of(dedisperse) > own / 20 for _ in range(3))
    done.set()
    thread.join()
    assert free


def child(name: str, x: Any, queue: Any) -> None:
    result = CALLS[name](x)
    queue.put(np.asarray(getattr(result, "data", getattr(result, "g", result))))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(rng: np.random.Generator, method: str) -> None:
    x = rng.integers(0, 200, (3000, 16)).astype(np.uint8)
    expected = tl.dedisperse(x, [0, 2], frequencies=MHZ, sample_time_s=1e-3)  # the parent's threads have started
    if method == "spawn":
        code = textwrap.dedent("""
            import multiprocessing, numpy as np, tautline as tl
            if __name__ == "__main__":
                with multiprocessing.get_context("spawn").Pool(2) as pool:
                    made = pool.map(tl.multipletau.autocorrelate, [np.arange(100.0)] * 4)
                assert all(np.array_equal(made[0], one) for one in made)
        """)
        subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
        return
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=child, args=("dedisperse", x, queue))
    process.start()
    got = queue.get(timeout=120)
    process.join(120)
    assert process.exitcode == 0 and np.array_equal(got, expected)


def test_a_file_opened_before_a_fork_is_refused(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    np.save(tmp_path / "n.npy", rng.poisson(3, (100, 2)).astype(np.uint8))
    f = tl.open(tmp_path / "n.npy")
    pid = os.fork()
    if pid == 0:
        try:
            f.read()
        except tl.UnsupportedError:
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


def test_ctrl_c_stops_a_run() -> None:
    # The signal comes when the run has said how far it is; what is left would take minutes.
    code = textwrap.dedent("""
        import os, signal, sys, numpy as np, tautline as tl
        x = np.random.default_rng(1).integers(0, 99, (1_000_000, 16)).astype(np.uint8)
        def interrupt(done, total):
            os.kill(os.getpid(), signal.SIGINT)
        try:
            tl.search(np.tile(x, (1, 16)), "0:400:0.1", frequencies=np.linspace(1500, 1200, 256), sample_time_s=1e-4,
                      progress=interrupt, memory_bytes="2G")
        except KeyboardInterrupt:
            print("stopped")
            tl.channelize(np.ones(1000, np.complex64), 16)
            sys.exit(0)
        sys.exit("was not stopped")
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout == "stopped\n", done.stderr


def test_objects_that_die_while_they_are_used(rng: np.random.Generator) -> None:
    x = rng.integers(0, 200, (200000, 16)).astype(np.uint8)
    expected = tl.autocorrelate(x, bin_s=1).sums
    results = []

    def work() -> None:
        results.append(tl.autocorrelate(np.array(x), bin_s=1))  # nobody else holds the array

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert np.array_equal(results.pop().sums, expected)


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no SIGALRM here")
@pytest.mark.parametrize("name", ["search", "dedisperse", "channelize", "correlate", "autocorrelate"])
def test_errors_of_signal_handlers_stop_a_call(name: str, rng: np.random.Generator) -> None:
    class Late(Exception):
        pass

    slow: dict[str, Any] = {"device": "reference"}
    sky: dict[str, Any] = {"frequencies": np.linspace(1500, 1200, 256), "sample_time_s": 1e-4}
    calls: dict[str, Any] = {
        "search": lambda x, p: tl.search(x, "0:400:0.1", progress=p, **sky),
        "dedisperse": lambda x, p: tl.dedisperse(x[:100_000], np.arange(0, 40, 0.2), progress=p, **sky, **slow),
        "channelize": lambda x, p: tl.channelize(x.view(np.int8).reshape(1, -1)[:, : 1 << 26], 64, progress=p, **slow),
        "correlate": lambda x, p: tl.correlate(x.view(np.int8).reshape(32, -1, 2)[:, :1_000_000], rate_hz=1e6, progress=p, **slow),
        "autocorrelate": lambda x, p: tl.autocorrelate(x.reshape(-1, 16)[:5_000_000], bin_s=1e-6, pairs="all", device="cpu", progress=p),
    }

    def handler(*_: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, handler)
    try:
        x = np.tile(rng.integers(0, 99, (100000, 16)).astype(np.uint8), (10, 16))
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        told: list[tuple[int, int]] = []
        with pytest.raises(Late):
            calls[name](x, lambda done, total: told.append((done, total)))
        assert all(done < total for done, total in told)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_two_numbers_are_no_range_of_dms(rng: np.random.Generator) -> None:
    x = rng.normal(100, 10, (20_000, MHZ.size)).astype(np.float32)
    known: dict[str, Any] = {"frequencies": MHZ, "sample_time_s": 1e-3}
    with pytest.raises(tl.ConfigError, match='"0:400" is a range'):
        tl.search(x, (0, 400), **known)
    with pytest.raises(tl.ConfigError, match="^dms: 400:0, expected"):
        tl.search(x, "400:0", **known)
    assert tl.search(x, [0, 4], threshold=30, **known).facts["trials"] == 2
    for falling in ([4, 0], [0, 4, 4], np.arange(20, 0, -1)):
        with pytest.raises(tl.ConfigError, match=r"^dms: \d+ after \d+, expected rising numbers; numpy.unique\(dms\)"):
            tl.search(x, falling, **known)
    with pytest.raises(tl.ConfigError, match=r"numpy.arange\(0, 400, STEP\) is a range, \[0, 400\] two trials"):
        tl.dedisperse(x, (0, 400), **known)
    with pytest.raises(tl.ConfigError, match=r"^dms: 0:400, expected numbers, .*numpy.arange\(LOW, HIGH, STEP\)"):
        tl.dedisperse(x, "0:400", **known)
    with pytest.raises(tl.ConfigError, match=r'^dms: \(200, 0\), .*"0:200" is a range, \[0, 200\] two trials'):
        tl.search(x, (200, 0), **known)
    with pytest.raises(tl.ConfigError, match=r"numpy.arange\(0, 200, STEP\) is a range, \[0, 200\] two trials"):
        tl.dedisperse(x, (200, 0), **known)
    assert tl.dedisperse(x, [0, 4], **known).shape[0] == 2


@pytest.mark.parametrize("sample_time_s", [1, 256, 256.5])
def test_microseconds_given_for_seconds_are_named(rng: np.random.Generator, sample_time_s: float) -> None:
    x = rng.normal(100, 10, (2000, MHZ.size)).astype(np.float32)
    with pytest.raises(tl.ConfigError, match="^sample_time_s: .* of microseconds give a text, as 256us"):
        tl.search(x, [0], frequencies=MHZ, sample_time_s=sample_time_s)
    with pytest.raises(tl.ConfigError, match="^sample_time_s: "):
        tl.detect(x[:, 0], sample_time_s=sample_time_s)
    wide = 64 * sample_time_s  # samples may be the unit
    assert tl.detect(x[:, 0], sample_time_s=sample_time_s, max_width_s=wide, threshold=30).size == 0
