"""Processes of multiprocessing, as loaders of batches start them: the results of this process, or a clear error."""
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tautline as tl

MHZ = np.linspace(1500, 1200, 16)
TIMES = 3000


def blocks_of(x: Any) -> Any:
    p = tl.Pipeline(device="cpu")
    p.add("counts", tl.nodes.counts(x, bin_s=1e-3), block_samples=700)
    p.add("curves", "autocorrelator", inputs="counts", bins=8, levels=3)
    last = list(p)[-1]
    assert last.curves is not None
    return last.curves.g


def planned(x: Any) -> Any:
    plan = tl.stages.dedisperse.Plan(MHZ, 1e-3, [0.0, 9.0], dtype="u8", max_samples=TIMES)
    return plan.execute(x)


# Of counts [time, 16].
WORK: dict[str, Callable[[Any], Any]] = {
    "channelize": lambda x: tl.channelize(x.T.astype(np.float32), 16, taps=2),
    "correlate": lambda x: tl.correlate(x.T.astype(np.float32), rate_hz=1000, channels=16, taps=2).data,
    "dedisperse": lambda x: tl.dedisperse(x, [0, 2], frequencies=MHZ, sample_time_s=1e-3),
    "search": lambda x: tl.search(x, [1.0], frequencies=MHZ, sample_time_s=1e-3, threshold=5),
    "detect": lambda x: tl.detect(x.T.astype(np.int32), sample_time_s=1e-2, threshold=5),
    "autocorrelate": lambda x: tl.autocorrelate(x, bin_s=1e-3).g,
    "tags": lambda x: tl.autocorrelate(tags=(np.flatnonzero(x[:, 0] > 99), np.flatnonzero(x[:, 1] > 99)), tick_s=1e-6, bin_s=1e-5).g,
    "multipletau": lambda x: tl.multipletau.autocorrelate(x),
    "multipletau.correlate": lambda x: tl.multipletau.correlate(x[:, 0], x[:, 1]),
    "fit": lambda x: tl.fit(tl.autocorrelate(x, bin_s=1e-3), model="3d").parameters["n"],
    "pipeline": blocks_of,
    "plan": planned,
}


class Batches:
    """What torch calls a dataset: item k is computed where it is asked for."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __len__(self) -> int:
        return len(WORK)

    def __getitem__(self, k: int) -> Any:
        x = np.random.default_rng([self._seed, k]).integers(0, 200, (TIMES, 16)).astype(np.uint8)
        x[TIMES // 2 : TIMES // 2 + 8] = 255
        return np.asarray(list(WORK.values())[k](x))


def refused(channels: int) -> None:
    tl.channelize(np.ones(1000, np.complex64), channels)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore")
def test_workers_compute_what_this_process_does(rng: np.random.Generator, method: str) -> None:
    batches = Batches(int(rng.integers(2**31)))
    expected = [batches[k] for k in range(len(batches))]  # so that the threads of this process have started
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.map_async(batches.__getitem__, list(range(len(batches))) * 2).get(120)
        with pytest.raises(tl.ConfigError) as caught:
            pool.map_async(refused, [1]).get(120)
    assert (caught.value.field, caught.value.value, caught.value.limit) == ("channels", "1", "2 to 65536")
    for name, one, other in zip([*WORK, *WORK], expected * 2, found, strict=True):
        assert one.size > 0 and one.dtype == other.dtype and one.tobytes() == other.tobytes(), name


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_a_loader_of_torch(rng: np.random.Generator, method: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed here")
    batches = Batches(int(rng.integers(2**31)))
    names = [k for k, name in enumerate(WORK) if name not in ("search", "detect")]  # tensors have no tables
    expected = [batches[k] for k in names]
    loader = torch.utils.data.DataLoader(
        torch.utils.data.Subset(batches, names), batch_size=None, num_workers=2, multiprocessing_context=method
    )
    found = list(loader)
    assert len(found) == len(names)
    assert all(np.array_equal(one, other.numpy(), equal_nan=True) for one, other in zip(expected, found, strict=True))


@pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer's allocator has locks that a fork leaves locked"
)
def test_forks_while_other_threads_compute() -> None:
    # Locks that those threads hold at that moment are in the child for ever.
    code = f"import sys; sys.path.append({str(pathlib.Path(__file__).parent)!r})" + textwrap.dedent("""
        import os, signal, threading, warnings
        from processes_test import Batches, WORK
        warnings.simplefilter("ignore")
        batches = Batches(1)
        expected = [batches[k].tobytes() for k in range(len(batches))]
        over = threading.Event()
        def work(k):
            while not over.is_set(): batches[k]
        threads = [threading.Thread(target=work, args=(k,)) for k in range(len(batches))]
        for thread in threads: thread.start()
        for attempt in range(8):
            child = os.fork()
            if child == 0:
                signal.alarm(240)  # of seconds on a machine that does nothing else
                wrong = [name for k, name in enumerate(WORK) if batches[k].tobytes() != expected[k]]
                print(*wrong, end="", flush=True)
                os._exit(len(wrong))
            status = os.waitpid(child, 0)[1]
            if status != 0: break
        over.set()
        for thread in threads: thread.join()
        assert status == 0, (attempt, status)
    """)
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TAUTLINE_DEVICE": "cpu"}, capture_output=True, text=True,
        timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_curves_are_sent_whole(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    x = rng.poisson(3.0, (4000, 3)).astype(np.uint8)
    every: list[dict[str, Any]] = [{}, {"pairs": "all", "normalization": "global"}]
    for fields in every:
        for counts in (x, x.astype(np.float32), x[:, 0]):
            if fields and counts.ndim == 1:
                continue
            curves = tl.autocorrelate(counts, bin_s=1e-3, bins=8, levels=4, **fields)
            again = pickle.loads(pickle.dumps(curves))
            for name in ("lag_s", "lag_samples", "counts", "g", "standard_error", "sums", "rates_hz"):
                one, other = getattr(curves, name), getattr(again, name)
                assert one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f"), name
            assert (again.labels, again.bin_s, again.duration_s) == (curves.labels, curves.bin_s, curves.duration_s)
            assert again.facts == curves.facts and repr(again) == repr(curves)
            # Files and fits know all that the run knew, errors of segments too.
            for k, one in enumerate((curves, again)):
                one.write(tmp_path / f"{k}.zip", overwrite=True)
            assert (tmp_path / "0.zip").read_bytes() == (tmp_path / "1.zip").read_bytes()
            fits = [tl.fit(one, model="3d", fixed={"kappa": 5}) for one in (curves, again)]
            for name in fits[0].parameters:
                assert np.array_equal(fits[0].parameters[name], fits[1].parameters[name], equal_nan=True)
                assert np.array_equal(fits[0].errors[name], fits[1].errors[name], equal_nan=True)
    kept = curves._kept
    with pytest.raises(tl.FormatError, match="version"):
        kept.__class__.__new__(kept.__class__).__setstate__(kept.__getstate__()[:-1])


def test_files_are_opened_where_they_are_sent(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    np.save(tmp_path / "n.npy", rng.integers(0, 200, (2000, 2)).astype(np.uint8))
    np.save(tmp_path / "v.npy", rng.integers(-99, 99, (2, 3000, 2)).astype(np.int8))
    for f in (tl.open(tmp_path / "n.npy"), tl.open(tmp_path / "v.npy", rate_hz=1e6, format="ci8")):
        again = pickle.loads(pickle.dumps(f))
        assert again.header == f.header and np.array_equal(again.read(), f.read())
    (tmp_path / "n.npy").unlink()
    with pytest.raises(tl.InputOutputError):
        pickle.loads(pickle.dumps(tl.open(tmp_path / "v.npy", rate_hz=1e6, format="ci8")).replace(b"v.npy", b"n.npy"))


def test_what_cannot_be_sent_says_so(rng: np.random.Generator) -> None:
    x = rng.integers(0, 200, (2000, 2)).astype(np.uint8)
    fitted = tl.fit(tl.autocorrelate(x, bin_s=1e-3), model="3d")
    visibilities = tl.correlate(x.T.astype(np.float32), rate_hz=1000, channels=16, taps=2)
    for one, said in ((fitted, "its arrays"), (visibilities, "its arrays"), (tl.stages.channelize.Plan(16), "Plan")):
        with pytest.raises(TypeError, match=said):
            pickle.dumps(one)
