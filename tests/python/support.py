"""Files and arrays that tests read, and nodes of their pipelines."""
import gc
import pathlib
import subprocess
import sys
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import tautline as tl

INTEROP = pathlib.Path(__file__).resolve().parents[2] / ".venv-interop" / "bin" / "python"


def run_with_interop(code: str) -> None:
    """Runs code that ends with print("equal") in the environment of the interoperability tests, which has more packages."""
    if not INTEROP.exists():
        pytest.skip(f"{INTEROP} is not there: run scripts/interop")
    version = subprocess.run([INTEROP, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
    if version.stdout.split() != [str(part) for part in sys.version_info[:2]]:
        pytest.skip(f"{INTEROP} is another Python than the module's")
    package = str(pathlib.Path(tl.__file__).parents[1])
    whole = f"import sys; sys.path.insert(0, {package!r})\n" + code
    done = subprocess.run([INTEROP, "-W", "ignore", "-c", whole], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.endswith("equal\n"), done.stdout + done.stderr


def header(name: str, value: Any) -> Any:
    text = name.encode()
    kinds = {int: "<i4", float: "<f8"}
    return len(text).to_bytes(4, "little") + text + np.array(value, kinds[type(value)]).tobytes()


def write_filterbank(path: pathlib.Path, x: Any, mhz: Any, sample_time_s: Any) -> None:
    """A sigproc file of [time, channel]."""
    with path.open("wb") as file:
        file.write(len(b"HEADER_START").to_bytes(4, "little") + b"HEADER_START")
        file.write(header("data_type", 1) + header("nchans", x.shape[1]) + header("nbits", 8 * x.itemsize))
        file.write(header("nifs", 1) + header("tsamp", sample_time_s) + header("tstart", 59000.0))
        file.write(header("fch1", float(mhz[0])) + header("foff", float(mhz[1] - mhz[0])))
        file.write(len(b"HEADER_END").to_bytes(4, "little") + b"HEADER_END")
        file.write(x.tobytes())


DEDISPERSE = """
[filterbank]
type = "filterbank_files"
files = ["{folder}/x.fil"]
fill_gaps = true

[trials]
type = "dedisperse"
inputs = "filterbank"
dms.range = "0:20:5"

[series]
type = "trial_files"
inputs = "trials"
path = "{folder}/x.npy"
"""


def write_dedispersion(folder: pathlib.Path, rng: np.random.Generator, more: str = "") -> None:
    """30 s of noise, x.fil, and a pipeline of it, p.toml, with more text behind it."""
    write_filterbank(folder / "x.fil", rng.integers(0, 255, (30000, 16)).astype(np.uint8), 1500 - 5.0 * np.arange(16), 1e-3)
    (folder / "p.toml").write_text((DEDISPERSE + more).format(folder=folder))


def write_dada(path: pathlib.Path, x: Any, rate_hz: Any) -> None:
    """[time, antenna, polarisation] of int8 pairs as a DADA file."""
    facts = {
        "HDR_VERSION": "1.0", "HDR_SIZE": 4096, "NBIT": 8, "NDIM": 2, "NANT": x.shape[1], "NPOL": x.shape[2], "NCHAN": 1,
        "TSAMP": 1e6 / rate_hz, "FREQ": 150.0, "BW": rate_hz / 1e6, "UTC_START": "2026-01-02-03:04:05", "ORDER": "TFAP",
        "OBS_OFFSET": 0, "TELESCOPE": "TEST", "INSTRUMENT": "test", "SOURCE": "noise",
    }
    text = "".join(f"{key} {value}\n" for key, value in facts.items())
    path.write_bytes(text.encode().ljust(4096, b"\0") + x.tobytes())


class Foreign:
    """An array of another library, which offers DLPack alone."""

    def __init__(self, x: Any) -> None:
        self._x = x

    def __dlpack_device__(self) -> Any:
        return self._x.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        return self._x.__dlpack__(**options)


class OnDevice:
    """An array of a GPU that no library of this machine can read."""

    shape, ndim, dtype = (3, 4), 2, np.dtype(np.float32)

    def __dlpack_device__(self) -> Any:
        return (2, 0)

    def __dlpack__(self, **_: Any) -> None:
        raise AssertionError("memory of a device is not touched")


def read_only(x: Any) -> Any:
    x = x.copy()
    x.flags.writeable = False
    return x


def cannot_hold(good: Any) -> dict[str, Any]:
    """What cannot take the numbers that `good` can."""
    bad: dict[str, Any] = {
        "another type": np.zeros(good.shape, np.float64),
        "a row too few": good[:-1],
        "an axis less": good[0],
        "an axis more": good[None],
        "backwards": good[::-1],
        "Fortran's order": np.asfortranarray(good),
        "every row the same": np.broadcast_to(good[:1], good.shape),
        "read only": read_only(good),
        "a GPU's": OnDevice(),
        "text": "out",
        "a list": [[0]],
    }
    if good.itemsize > 1:
        bad["swapped"] = good.astype(good.dtype.newbyteorder())
    return bad


def beside_new_arrays(work: Any, like: Any) -> Any:
    """What work() gives in a thread, while memory that it gave back too early would be written by arrays like `like`."""
    begun = threading.Event()
    found: list[Any] = []

    def run() -> None:
        begun.set()
        found.append(work())

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(60)
    while thread.is_alive():
        gc.collect()
        np.full(like.shape, 77, like.dtype)
    thread.join()
    return found[0]


def torch_tensor(x: Any) -> Any:
    """A tensor of the same memory."""
    return pytest.importorskip("torch", reason="torch is not installed here").from_numpy(x)


class Pass(tl.Node):
    """Hands on every block, and keeps the names of its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def start(self) -> None:
        self.calls = ["start"]

    def begin_segment(self, input: int) -> None:
        self.calls.append("begin")

    def process(self, block: tl.Block) -> Any:
        self.calls.append("process")
        return block

    def end_segment(self, input: int) -> None:
        self.calls.append("end")

    def finish(self) -> None:
        self.calls.append("finish")

    def publish(self) -> None:
        self.calls.append("publish")

    def counters(self) -> Any:
        return {"blocks": self.calls.count("process")}


def numbers(total: int, length: Any = 100) -> Any:
    """A source of 0, 1, 2... at 1 kHz."""

    class Numbers(tl.Node):
        def open(self, streams: list[tl.Stream]) -> Any:
            assert streams == []
            kinds = [tl.ArrayType("x", "float64", ("time",), (length,))]
            start = "2026-01-02-03:04:05"
            return tl.Stream("numbers", kinds, Fraction(1000), start, total_samples=total, max_samples=length)

        def start(self) -> None:
            self.at = 0

        def produce(self) -> Any:
            if self.at >= total:
                return None
            block = np.arange(self.at, min(self.at + length, total), dtype=float)
            self.at += len(block)
            return {"x": block}

    return Numbers()


def assert_progress_may_raise(call: Any) -> None:
    """What the first call of `progress` raises ends call(progress), and it is not called again."""

    class Enough(Exception):
        pass

    seen: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        raise Enough

    with pytest.raises(Enough):
        call(stop)
    assert len(seen) == 1
