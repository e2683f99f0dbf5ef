#!/usr/bin/env python3
"""Kept plans of the Python package on arrays of cupy and torch in a GPU's memory, in and out, beside `tautline bench` of the
same problem on the same GPU, in turns; the calls tl.correlate, tl.search and tl.autocorrelate on such arrays, beside the
same calls on arrays in the host's memory; and the bytes that go between the host and the GPU in a call.

    PYTHONPATH=build/python python3 bench/python/on_device.py --tautline build/tautline [STAGE ...] [--rounds 5] [--small]

For a machine without the sources: this file, the package, the command and their libraries, as `scripts/test-gpu --pack`
puts them in a folder. It needs numpy, and cupy or torch with a CUDA device; what is absent is said. The bytes are
those of the profiler of torch, which sees all that the process copies, of cupy's arrays too. `--device cpu` runs the
same with numpy's arrays, to see that the script works. Status 1 when a stage failed or copied, 2 when there was
nothing to measure.
"""

import argparse
import importlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import tautline as tl

MEASURED_S = 0.4  # of calls, as long as `bench` measures
REST_S = 1.0  # before them, as while `bench` starts: a GPU at its power limit is the faster for it


class Numpy:
    """The host's, for the script itself."""

    name = "numpy"

    def there(self, x):
        return x

    def empty(self, shape, dtype):
        return np.zeros(shape, dtype)

    def synchronise(self):
        pass

    def seconds(self, call, times):
        start = time.perf_counter()
        for _ in range(times):
            call()
        return time.perf_counter() - start


class Cupy(Numpy):
    name = "cupy"

    def __init__(self, number):
        self.module = importlib.import_module("cupy")
        self.module.cuda.Device(number).use()
        self.marks = [self.module.cuda.Event() for _ in range(2)]

    def there(self, x):
        return self.module.asarray(x)

    def empty(self, shape, dtype):
        return self.module.zeros(shape, dtype)

    def synchronise(self):
        self.module.cuda.runtime.deviceSynchronize()

    def seconds(self, call, times):
        self.marks[0].record()
        for _ in range(times):
            call()
        self.marks[1].record()
        self.marks[1].synchronize()
        return 1e-3 * self.elapsed_ms()

    def elapsed_ms(self):
        return self.module.cuda.get_elapsed_time(*self.marks)


class Torch(Cupy):
    name = "torch"

    def __init__(self, number):
        self.module = importlib.import_module("torch")
        if not self.module.cuda.is_available():
            raise ImportError("no CUDA device")
        self.module.cuda.set_device(number)
        self.device = f"cuda:{number}"
        self.marks = [self.module.cuda.Event(enable_timing=True) for _ in range(2)]

    def there(self, x):
        return self.module.from_numpy(x).to(self.device)

    def empty(self, shape, dtype):
        return self.module.zeros(shape, dtype=getattr(self.module, np.dtype(dtype).name), device=self.device)

    def synchronise(self):
        self.module.cuda.synchronize()

    def elapsed_ms(self):
        return self.marks[0].elapsed_time(self.marks[1])


def median_seconds(library, call, row_s):
    """As `bench` measures: rows of calls between marks on the stream, each row_s or longer."""
    library.seconds(call, 1)
    once = max(library.seconds(call, 1), 1e-9)
    times = int(min(max(np.ceil(row_s / once), 1), 1000))
    taken, started = [], time.perf_counter()
    while len(taken) < 5 or time.perf_counter() - started < MEASURED_S:
        taken.append(library.seconds(call, times) / times)
    return statistics.median(taken)


def copied_bytes(work):
    """To the host and from it while work() runs, as torch's profiler counts them."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder, "trace.json")
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
            work()
            torch.cuda.synchronize()
        found.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text())["traceEvents"]
    copies = {"HtoD": 0, "DtoH": 0}
    for event in events:
        for way in copies:
            if event.get("cat") == "gpu_memcpy" and f"Memcpy {way}" in event["name"]:
                copies[way] += int(event["args"]["bytes"])
    return copies["HtoD"], copies["DtoH"]


def why_not_counted():
    """Empty where the profiler counts a copy that is made for it."""
    try:
        import torch

        if not torch.cuda.is_available():
            return "torch has no CUDA device"
        there, back = copied_bytes(lambda: torch.zeros(1000, dtype=torch.uint8).to("cuda").cpu())
    except Exception as problem:  # noqa: BLE001: whatever a profiler raises
        return f"{type(problem).__name__}: {problem}"
    return "" if there == 1000 and back == 1000 else f"torch's profiler found {there} and {back} bytes of a copy of 1000 and back"


# Each stage: the problem as `bench` names it, the plan, the call, and the bytes that it is given.


def stage_correlate(library, device, small):
    channels, inputs, samples = (8, 64, 3072) if small else (240, 512, 3072)
    plan = tl.stages.correlate.Plan(channels, inputs, dtype="ci8", max_samples=samples, device=device)
    z = library.there(np.random.default_rng().integers(-128, 128, (channels, inputs, samples, 2), np.int8))
    baselines = inputs * (inputs + 1) // 2
    out, counts = library.empty((channels, baselines, 2), np.int64), library.empty((channels, baselines), np.int64)
    problem = f"channels={channels},inputs={inputs},samples={samples}"

    def integration():
        plan.begin()
        plan.execute(z, out, counts)

    return problem, plan, integration, z


def stage_channelize(library, device, small):
    inputs, spectra = (4, 256) if small else (64, 2048)
    channels, taps = 1024, 8
    samples = spectra * channels
    plan = tl.stages.channelize.Plan(channels, inputs, dtype="ci8", taps=taps, max_samples=samples, device=device)
    x = library.there(np.random.default_rng().integers(-128, 128, (inputs, samples, 2), np.int8))
    out = library.empty((inputs, spectra + 1, channels), np.complex64)
    problem = f"inputs={inputs},channels={channels},taps={taps},output_bits=32,spectra={spectra}"
    return problem, plan, lambda: plan.execute(x, out=out[:, :spectra]), x


def stage_dedisperse(library, device, small):
    trials, samples = (50, 4096) if small else (2000, 20000)
    channels, top_khz, width_hz, rate_hz, step_millidm = 1024, 1719854, 292969, 20000, 250
    mhz = top_khz * 1e-3 - width_hz * 1e-6 * np.arange(channels)
    dms = 1e-3 * step_millidm * np.arange(trials)
    plan = tl.stages.dedisperse.Plan(mhz, 1 / rate_hz, dms, dtype="u8", max_samples=samples, device=device)
    x = library.there(np.random.default_rng().integers(0, 256, (samples, channels), np.uint8))
    out = library.empty((trials, plan.room), plan.dtype)
    for _ in range(plan.max_delay // samples + 1):  # then every call gives as many times as it takes
        plan.execute(x, out=out)
    problem = (
        f"channels={channels},top_khz={top_khz},width_hz={width_hz},rate_hz={rate_hz},"
        f"step_millidm={step_millidm},trials={trials},samples={samples},bits=8"
    )
    return problem, plan, lambda: plan.execute(x, out=out), x


def stage_autocorrelate(library, device, small):
    sensors, samples = 1024, 4096 if small else 262_144
    plan = tl.stages.autocorrelate.Plan(sensors, dtype="u8", bins=32, levels=10, max_samples=samples, device=device)
    counts = library.there(np.random.default_rng().integers(0, 256, (samples, sensors), np.uint8))
    return f"sensors={sensors},bins=32,levels=10,bits=8,samples={samples}", plan, lambda: plan.execute(counts), counts


STAGES = {name[6:]: stage for name, stage in list(globals().items()) if name.startswith("stage_")}


# Each call: what it is given, the call, and the array in the host's memory. The results of all come to the host.


def call_correlate(device, small):
    inputs, samples, rate_hz = 64, 50_000 if small else 2_000_000, 1e6
    x = np.random.default_rng().integers(-100, 100, (inputs, samples, 2), np.int8)
    fields = {"rate_hz": rate_hz, "channels": 256, "integration_s": samples / rate_hz, "device": device}
    return f"inputs={inputs},channels=256,samples={samples}", lambda x: tl.correlate(x, **fields), x


def call_search(device, small):
    channels, samples = 1024, 20_000 if small else 200_000
    mhz = 1500 - 0.25 * np.arange(channels)
    sky = np.random.default_rng().normal(100, 10, (samples, channels)).round().astype(np.uint8)
    fields = {"dms": "0:100:1", "threshold": 7, "frequencies": mhz, "sample_time_s": 64e-6, "device": device}
    return f"channels={channels},trials=101,samples={samples}", lambda x: tl.search(x, **fields), sky


def call_autocorrelate(device, small):
    sensors, samples = 1024, 4096 if small else 262_144
    counts = np.random.default_rng().integers(0, 256, (samples, sensors), np.uint8)
    fields = {"bin_s": 1.6e-6, "bins": 32, "levels": 10, "lag_scheme": "chain", "device": device}
    return f"sensors={sensors},bins=32,levels=10,samples={samples}", lambda x: tl.autocorrelate(x, **fields), counts


CALLS = {"tl." + name[5:]: call for name, call in list(globals().items()) if name.startswith("call_")}


def measure_call(name, library, options, uncounted):
    problem, call, host = CALLS[name](options.device, options.small)
    given = library.there(host)
    pairs = []
    call(given), call(host)  # compile what is compiled
    for _ in range(options.rounds):
        time.sleep(REST_S)
        pairs.append([Numpy.seconds(library, lambda x=x: call(x), 1) for x in (given, host)])
    own, other = (statistics.median(column) for column in zip(*pairs))
    ratio = statistics.median(a / b for a, b in pairs)
    line = f"{own * 1e3:.1f} ms, of an array of the host {other * 1e3:.1f} ms: {ratio:.3f} of its time; given {host.nbytes / 1e6:.0f} MB"
    copies = None if uncounted else copied_bytes(lambda: call(given))
    line += "; copies not counted" if copies is None else f", {copies[0]} bytes copied from the host, {copies[1]} to it"
    print(f"{library.name:6} {name:17} {line}\n{'':24} {problem}", flush=True)
    # Results go to the host, with the sums of ten segments of curves, of small sizes more; samples do not.
    return copies is None or options.small or sum(copies) < host.nbytes


def measure(name, library, options, uncounted):
    problem, plan, call, given = STAGES[name](library, options.device, options.small)
    if name == "channelize":
        call()  # later calls have the history of this one: its first spectra are fewer
    command = [str(options.tautline), "--device", options.device, "--json", "bench", name]
    command += ["--problem", problem, "--budget", str(MEASURED_S)]

    def bench():
        ran = subprocess.run(command, text=True, capture_output=True)
        if ran.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {ran.stderr.strip()}")
        return json.loads(ran.stdout)

    bench()  # compiles what is compiled
    pairs, code = [], ""
    for _ in range(options.rounds):
        time.sleep(REST_S)
        own = median_seconds(library, call, options.row_s)
        other = bench()
        code = other.get("instruction_set", "")
        pairs.append((own, other["seconds"]))
    own, other = (statistics.median(column) for column in zip(*pairs))
    ratio = statistics.median(a / b for a, b in pairs)
    size = int(np.prod(tuple(given.shape))) * given.itemsize
    line = f"{own * 1e3:.3f} ms, `bench` {other * 1e3:.3f} ms: {ratio:.3f} of its time; given {size / 1e6:.0f} MB a call"
    copies = None
    if uncounted:
        line += "; copies not counted"
    else:
        library.synchronise()
        copies = copied_bytes(lambda: (call(), library.synchronise()))
        line += f", {copies[0]} bytes copied from the host, {copies[1]} to it"
    print(f"{library.name:6} {name:13} {line}", flush=True)
    print(f"{'':20} {problem}: {plan.backend}; `bench`: {code}", flush=True)
    # Arguments of kernels may go to the GPU; samples and results may not.
    return copies is None or sum(copies) < size / 1000


def libraries(options):
    if not options.device.startswith("cuda:"):
        return [Numpy()]
    found = []
    for kind in (Cupy, Torch):
        try:
            found.append(kind(int(options.device.split(":")[1])))
        except Exception as problem:  # noqa: BLE001: cupy raises its own where there is no driver
            print(f"{kind.name:6} left out: {type(problem).__name__}: {problem}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=" ".join([*STAGES, *CALLS]))
    parser.add_argument("--tautline", "--bench", type=pathlib.Path, required=True, help="the command, whose `bench` is the other side")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--row-s", type=float, default=0.02, help="seconds of a row of calls: of short rows the first call's start is a part")
    parser.add_argument("--small", action="store_true", help="small sizes, to see that it runs")
    options = parser.parse_args()
    unknown = [name for name in options.stages if name not in STAGES and name not in CALLS]
    if unknown:
        parser.error(f"no stage {unknown[0]}; there are {' '.join([*STAGES, *CALLS])}")
    if not options.tautline.exists():
        parser.error(f"--tautline: no {options.tautline}")
    found = libraries(options)
    if not found:
        print("nothing measured: neither cupy nor torch has a CUDA device here")
        return 2
    uncounted = why_not_counted() if options.device.startswith("cuda:") else "no GPU"
    if uncounted:
        print(f"copies are not counted: {uncounted}")
    good = True
    for library in found:
        for name in options.stages or [*STAGES, *CALLS]:
            try:
                good &= (measure if name in STAGES else measure_call)(name, library, options, uncounted)
            except Exception as problem:  # noqa: BLE001: the other stages go on
                good = False
                print(f"{library.name:6} {name:13} FAILED: {type(problem).__name__}: {problem}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
