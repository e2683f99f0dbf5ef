"""Libraries that have arrays of GPUs, and what the tests of these share. Without pytest, too."""
import importlib
import json
import os
import pathlib
import tempfile
from typing import Any

import numpy as np
import tautline as tl

try:
    import pytest
except ImportError:  # a machine with a GPU need not have it
    pytest = None  # type: ignore[assignment]

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # jax would take most of the GPU's memory
MHZ = np.linspace(1500, 1200, 64)
SEARCH: dict[str, Any] = {"frequencies": MHZ, "sample_time_s": 1e-3}


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
gpu: Any = None  # the fixture
needs_gpu: Any = None
if pytest is not None:
    needs_gpu = pytest.mark.skipif(not LIBRARIES, reason=f"no library with a CUDA device: {WHY_NOT}")

    @pytest.fixture(name="gpu", params=LIBRARIES, ids=lambda one: one.name)
    def each_library(request: pytest.FixtureRequest) -> Any:
        return request.param

    gpu = each_library


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


def run(tests: dict[str, Any]) -> int:
    """Runs the tests among a script's globals with each library; 1 if one failed."""
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"seed {seed}")
    if not LIBRARIES:
        print(f"skipped: no library with a CUDA device: {WHY_NOT}")
        return 0
    failed = 0
    for gpu in LIBRARIES:
        for name, test in list(tests.items()):
            if not name.startswith("test_"):
                continue
            try:
                test(gpu, np.random.default_rng(seed))
                print(f"passed {gpu.name} {name}")
            except Exception as error:  # noqa: BLE001
                failed = 1
                print(f"FAILED {gpu.name} {name}: {type(error).__name__}: {error}")
    return failed
