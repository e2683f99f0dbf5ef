"""Objects that go while they are in use, threads that share them, and forks: right results or a clear error."""
import gc
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import weakref
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import Pass, numbers


def run_python(code: str, status: Any = 0) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "TAUTLINE_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == status, done.stderr
    return done


def halves(x: Any) -> Any:
    p = tl.Pipeline(device="cpu")
    p.add("counts", tl.nodes.counts(x, bin_s=1e-6), block_samples=500)
    p.add("pass", Pass(), inputs="counts")
    return p


def test_blocks_outlive_their_pipeline(rng: np.random.Generator) -> None:
    x = rng.integers(0, 200, (20000, 3)).astype(np.uint8)
    p = halves(x.copy())  # nobody else holds the array
    blocks = iter(p.blocks("pass"))
    del p
    gc.collect()
    kept = [next(blocks).arrays["counts"] for _ in range(3)]
    del blocks  # in the middle of the run
    gc.collect()
    halves(255 - x).run()  # memory that was given back is written
    assert np.array_equal(np.concatenate(kept), x[: sum(len(one) for one in kept)])


def test_an_array_that_goes_while_it_is_read(rng: np.random.Generator) -> None:
    x = rng.integers(0, 200, (200000, 2)).astype(np.uint8)
    p = tl.Pipeline(device="cpu")
    p.add("counts", tl.nodes.counts(x.copy(), bin_s=1e-6), block_samples=1000)
    p.add("curves", "autocorrelator", inputs="counts", bins=8, levels=3)
    blocks = iter(p)
    del p
    gc.collect()
    last = list(blocks)[-1]
    del blocks
    gc.collect()
    assert last.curves is not None
    assert np.array_equal(last.curves.g, tl.autocorrelate(x, bin_s=1e-6, bins=8, levels=3).g)


def test_nodes_live_until_their_run_has_ended(rng: np.random.Generator) -> None:
    x = rng.integers(0, 200, (20000, 3)).astype(np.uint8)
    for left_early in (False, True):
        p = halves(x)
        node = weakref.ref(p._objects[0])
        blocks = iter(p)
        del p
        first = next(blocks)
        gc.collect()
        assert node() is not None  # blocks are on their way through it
        if left_early:
            blocks.close()
        rest = list(blocks)
        assert sum(block.samples for block in (first, *rest)) == (500 if left_early else 20000)
        del blocks
        gc.collect()
        assert node() is None and np.array_equal(first.arrays["counts"], x[:500])


@pytest.mark.parametrize("make", [
    lambda: tl.stages.dedisperse.Plan(np.linspace(1500, 1200, 64), 1e-3, np.arange(50.0), dtype="u8", max_samples=20000),
    lambda: tl.stages.autocorrelate.Plan(64, max_samples=20000),
])  # fmt: skip
def test_what_a_call_was_given_goes_while_it_computes(rng: np.random.Generator, make: Any) -> None:
    x = rng.integers(0, 200, (20000, 64)).astype(np.uint8)
    other = make()
    expected = [other.execute(x), other.read().sums if hasattr(other, "read") else None]
    held: dict[str, Any] = {"plan": make(), "samples": x.copy()}
    got: list[Any] = []
    begun = threading.Event()

    def work() -> None:
        execute, read, samples = held["plan"].execute, getattr(held["plan"], "read", None), held.pop("samples")
        begun.set()
        got.append(execute(samples))
        got.append(read().sums if read else None)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(60)
    held.clear()
    gc.collect()
    thread.join()
    for one, two in zip(got, expected, strict=True):
        assert two is None if one is None else np.array_equal(one, two)


def test_results_outlive_what_made_them(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    v = (rng.standard_normal((3, 8000)) + 1j).astype(np.complex64)
    vis = tl.correlate(v, rate_hz=1e6, channels=16)
    expected, data = vis.data.copy(), vis.data[:, 3]
    del vis
    x = rng.integers(0, 99, (3000, 2)).astype(np.uint8)
    np.save(tmp_path / "n.npy", x)
    file = tl.open(tmp_path / "n.npy")
    part = file[100:200]
    del file
    plan = tl.stages.dedisperse.Plan(1500 - 5.0 * np.arange(16), 1e-3, [0.0, 9.0], dtype="u8", max_samples=1000)
    series = plan.execute(np.full((1000, 16), 2, np.uint8))
    del plan
    gc.collect()
    tl.correlate(v[:, ::-1], rate_hz=1e6, channels=16)
    assert np.array_equal(data, expected[:, 3]) and np.array_equal(part, x[100:200]) and (series == 32).all()


def test_pipelines_in_several_threads_at_once() -> None:
    sums, threads = [], []

    def work(total: int) -> None:
        p = tl.Pipeline(device="cpu")
        p.add("n", numbers(total))
        p.add("p", Pass(), inputs="n")
        sums.append((total, sum(int(block.arrays["x"].sum()) for block in p)))

    for total in range(1000, 4000, 500):
        threads.append(threading.Thread(target=work, args=(total,)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    assert len(sums) == 6 and all(found == total * (total - 1) // 2 for total, found in sums)


def test_a_plan_in_several_threads(rng: np.random.Generator) -> None:
    x = rng.integers(0, 200, (500, 16)).astype(np.uint8)
    plan = tl.stages.dedisperse.Plan(1500 - 5.0 * np.arange(16), 1e-3, [0.0], dtype="u8", max_samples=500)
    outs = [np.full((1, 500 + plan.room), -1, np.int32) for _ in range(8)]
    threads = [threading.Thread(target=plan.execute, args=(x,), kwargs={"out": out}) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # One DM of zero delays: every call is the whole of its own samples.
    assert all(np.array_equal(out[0, :500], x.sum(1, dtype=np.int32)) for out in outs)


LOOP = """
    import atexit, contextlib, os, signal, sys, threading, time
    atexit.register(lambda: tl.channelize(np.ones(1000, np.complex64), 16))  # after tautline's own
    import numpy as np, tautline as tl
    class Source(tl.Node):
        def open(self, streams):
            return tl.Stream("n", [tl.ArrayType("x", "float32", ("time",), (10,))], max_samples=10)
        def produce(self):
            produced.set()
            return {"x": np.zeros(10)}
    produced = threading.Event()
    p = tl.Pipeline()
    p.add("s", Source())
"""


def test_an_interpreter_that_ends_while_a_thread_waits_for_blocks() -> None:
    run_python(LOOP + """
    begun = threading.Event()
    def work():
        for block in p: begun.set()
    threading.Thread(target=work, daemon=True).start()
    assert begun.wait(60)
    """)
    # Python aborts where a daemon thread prints its error while the interpreter ends.
    run_python(LOOP + """
    def work():
        with contextlib.suppress(BaseException): p.run()
    threading.Thread(target=work, daemon=True).start()
    assert produced.wait(60)
    """)
    run_python("""
    import threading, time
    import numpy as np, tautline as tl
    begun = threading.Event()
    x = np.random.default_rng(1).integers(0, 99, (200_000, 64)).astype(np.uint8)
    def search():
        tl.search(x, "0:400:0.1", frequencies=np.linspace(1500, 1200, 64), sample_time_s=1e-4,
                  progress=lambda done, total: begun.set(), memory_bytes="1G")
    def channelize():
        while True: tl.channelize(np.ones((4, 100_000), np.complex64), 64)
    for work in (search, channelize): threading.Thread(target=work, daemon=True).start()
    assert begun.wait(60)
    """)


def test_an_interpreter_that_ends_while_a_thread_computes_does_not_wait() -> None:
    # The sums of this would take minutes; the reference computes them after its last look at signals.
    done = run_python("""
    import os, threading, types
    import numpy as np, tautline as tl
    x = np.random.default_rng().standard_normal(8_000_000)
    begun = threading.Event()
    def curves(*arguments):
        begun.set()
        return tl._tautline.standard_curves(*arguments)
    tl.multipletau._tautline = types.SimpleNamespace(standard_curves=curves)
    # Python's own hook takes the lock of stderr, and aborts when the interpreter ends meanwhile.
    threading.excepthook = lambda error: os.write(2, f"{error.exc_value!r}\\n".encode())
    def correlate():
        tl.multipletau.autocorrelate(x, m=1024, device="reference")
        print("done")
    threading.Thread(target=correlate, daemon=True).start()
    assert begun.wait(60)
    tl.channelize(np.ones(1000, np.complex64), 16)
    print("end")
    """)
    assert (done.stdout, done.stderr) == ("end\n", "")


def test_ctrl_c_ends_an_interpreter_that_waits_for_a_node() -> None:
    done = run_python(LOOP + """
    stuck = threading.Event()
    class Stuck(tl.Node):
        def process(self, block):
            stuck.set()
            while True:
                if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # nothing is left to do but to wait for this
                    signal.raise_signal(signal.SIGINT)
                time.sleep(0.01)
    p.add("stuck", Stuck(), inputs="s")
    threading.Thread(target=p.run, daemon=True).start()
    assert stuck.wait(60)
    print("end")
    """, status=-signal.SIGINT)
    assert done.stdout == "end\n"


@pytest.mark.parametrize("end", ["next(blocks)", "blocks.close()", "del blocks", "sys.exit()"])
def test_a_fork_in_a_loop_leaves_the_run_to_the_parent(end: str) -> None:
    done = run_python(LOOP + f"""
    blocks = iter(p)
    first = next(blocks).first
    child = os.fork()
    if child == 0:
        try:
            {end}
        except tl.UnsupportedError as error:
            assert error.field == "pipeline", error
            print("refused", flush=True)
        # One of the child's own.
        q = tl.Pipeline()
        q.add("s", Source())
        assert next(iter(q)).samples == 10
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert next(blocks).first == first + 10
    """)
    assert ("refused" in done.stdout) == (end == "next(blocks)")


def test_nothing_is_left_when_the_interpreter_ends() -> None:
    done = run_python(LOOP + """
    tl._tautline.warn_of_leaks(True)
    __import__("warnings").simplefilter("ignore", tl.DataWarning)
    x = np.ones((4000, 16), np.uint8)
    kept = [tl.autocorrelate(x, bin_s=1e-3), tl.correlate(np.ones((2, 4000), np.complex64), rate_hz=1000, channels=16)]
    plan = tl.stages.dedisperse.Plan(1500 - 5.0 * np.arange(16), 1e-3, [0.0], dtype="u8", max_samples=500)
    class Bad(tl.Node):
        def process(self, block): raise RuntimeError("on purpose")
    p.add("bad", Bad(), inputs="s")
    for call in (p.run, lambda: next(iter(p))):
        try:
            call()
        except RuntimeError as error:
            kept.append(error)
    p = tl.Pipeline()
    p.add("s", Source())
    blocks = iter(p)
    next(blocks)
    try:
        tl.Pipeline("absent.toml").run()
    except tl.Error as error:
        kept.append(error)
    """)
    assert done.stderr == ""


def test_a_leak_is_seen() -> None:
    done = run_python("""
    import ctypes, tautline as tl
    tl._tautline.warn_of_leaks(True)
    plan = tl.stages.dedisperse.Plan([1500.0, 1400.0], 1e-3, [0.0], dtype="u8", max_samples=500)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(plan._plan))
    """)
    assert "leaked" in done.stderr
