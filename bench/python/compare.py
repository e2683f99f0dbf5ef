#!/usr/bin/env python3
"""The Python package against its peers, its plans and calls against the same stages in C++, and its runs against the command,
in turns on the same cores; what is measured beside its target, and a table of all at the end.

    PYTHONPATH=build/python .venv-package/bin/python bench/python/compare.py [ROW ...] [--rounds 5] [--small]

Rows: import, small_call, stages, calls, runs, multipletau, tags, dedisperse, device (bench/python/on_device.py), wheel (a
fresh environment; numpy from PyPI). Each line has medians of the rounds and of the ratios round by round. Peers run in
processes of their own, which have imported and worked once before the first round; they are looked for in .venv-package,
.venv-interop, .venv-interop-search and .venv-peers (`python3 -m venv .venv-peers && .venv-peers/bin/pip install numpy
tttrlib pycorrelate`). A row whose peer is absent says so.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
from peers import ROOT, Peer, seconds


def in_turns(rounds, own, other):
    """Medians of both, and of other over own."""
    own()
    pairs = [(own(), other()) for _ in range(rounds)]
    return [statistics.median(t) for t in zip(*pairs)] + [statistics.median(b / a for a, b in pairs)]


def say(row, text):
    print(f"{row:12} {text}", flush=True)


TABLE = []  # (row, what, target, measured, whether it is met) of all lines that have a target


def judge(row, what, text, measured, target, form, at_least=False):
    """A line whose `measured` has a `target`; `form`: of both, as "{:.2f} x"."""
    met = measured >= target if at_least else measured <= target
    wanted = ("at least " if at_least else "at most ") + form.format(target)
    TABLE.append((row, what, wanted, form.format(measured), "met" if met else "missed"))
    say(row, f"{what}: {text} (target: {wanted}: {TABLE[-1][-1]})")


def leave_out(row, why):
    TABLE.append((row, "", "", "left out", why))
    say(row, f"left out: {why}")


OF_BENCH = 1.03  # most of the time of `bench`, for plans, calls and runs


def row_import(options, folder):
    code = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    once = lambda name: float(subprocess.check_output([sys.executable, "-c", code.format(name)]))  # noqa: E731
    own, numpy_s, _ = in_turns(options.rounds, lambda: once("tautline"), lambda: once("numpy"))
    judge("import", "import tautline", f"{own:.3f} s, of which numpy {numpy_s:.3f} s", own, 0.3, "{:.3f} s")


def row_small_call(options, folder):
    import tautline as tl

    correlator = tl.stages.correlate.Plan(4, 2, dtype="ci8")
    z = np.ones((4, 2, 64, 2), np.int8)
    sums, counts = correlator.sums()
    plan = tl.stages.channelize.Plan(16, 1, taps=4)
    x = np.ones((1, 128), np.complex64)
    out = np.empty((1, 9, 16), np.complex64)
    many = 20_000
    for name, call in (
        ("correlate", lambda: correlator.execute(z, sums, counts)),
        ("channelize", lambda: plan.execute(x, out=out)),
    ):
        taken = [seconds(lambda: [call() for _ in range(many)]) / many for _ in range(options.rounds)]
        taken_us = statistics.median(taken) * 1e6
        judge("small_call", f"{name}, 1 kB on a kept plan", f"{taken_us:.2f} us, its work included", taken_us, 10, "{:.2f} us")


def on_a_line(array):
    """A copy that begins on a cache line, as the memory of `bench` does; numpy's begins 16 bytes behind one."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    copy = memory[-memory.ctypes.data % 64 :][: array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def stage_runs(options):
    """(stage, what its arrays are, problem of `bench`, the call)."""
    import tautline as tl

    rng = np.random.default_rng()
    scale = 16 if options.small else 1
    counts = rng.integers(0, 256, (98_304 // scale, 1024), np.uint8)
    for memory, given in (("numpy's memory", counts), ("on a cache line", on_a_line(counts))):
        correlator = tl.stages.autocorrelate.Plan(1024, max_samples=len(counts), device="cpu")
        yield "autocorrelate", memory, f"sensors=1024,samples={len(counts)}", lambda: correlator.execute(given)
    z = rng.integers(-128, 128, (128, 128, 3072 // scale, 2), np.int8)
    products = tl.stages.correlate.Plan(128, 128, dtype="ci8", max_samples=z.shape[2], device="cpu")
    sums, valid = products.sums()
    problem = f"channels=128,inputs=128,samples={z.shape[2]}"
    yield "correlate", "numpy's memory", problem, lambda: products.execute(z, sums, valid)
    spectra = 3072 // scale
    x = rng.integers(-128, 128, (16, spectra * 1024, 2), np.int8)
    bank = tl.stages.channelize.Plan(1024, 16, dtype="ci8", taps=8, max_samples=x.shape[1], device="cpu")
    out = on_a_line(np.zeros((16, spectra, 1024), np.complex64))
    bank.execute(x, out=out[:, : bank.spectra(x.shape[1])])  # later calls have the history of this one
    problem = f"inputs=16,channels=1024,taps=8,output_bits=32,spectra={spectra}"
    yield "channelize", "on a cache line", problem, lambda: bank.execute(x, out=out)
    times, trials, channels = 98_304 // scale, 100, 1024
    mhz, dms = 1500 - 0.25 * np.arange(channels), 0.25 * np.arange(trials)
    sky = rng.integers(0, 256, (times, channels), np.uint8)
    dedisperser = tl.stages.dedisperse.Plan(mhz, 50e-6, dms, max_samples=times, device="cpu")
    series = np.zeros((trials, dedisperser.room), dedisperser.dtype)
    dedisperser.execute(sky, out=series)  # later calls have the times that this one leaves
    problem = f"channels={channels},top_khz=1500000,width_hz=250000,rate_hz=20000,step_millidm=250,trials={trials},samples={times},bits=8"
    yield "dedisperse", "numpy's memory", problem, lambda: dedisperser.execute(sky, out=series)


def beside_bench(row, options, runs):
    """Of each of `runs`, as stage_runs has them, the call in turns with `bench`."""

    def stage(name, problem):
        command = [str(options.tautline), "--device", "cpu", "--json", "bench", name, "--problem", problem, "--budget", "0.3"]
        in_memory = {**os.environ, "TMPDIR": "/dev/shm"}  # the files of whole runs
        return json.loads(subprocess.check_output(command, text=True, env=in_memory))["seconds"]

    for name, memory, problem, call in runs:
        own, other, ratio = in_turns(
            options.rounds, lambda: statistics.median(seconds(call) for _ in range(5)), lambda: stage(name, problem)
        )
        text = f"{problem}: {own * 1e3:.1f} ms, `bench` {other * 1e3:.1f} ms: {1 / ratio:.3f} of its time"
        judge(row, f"{name}, {memory}", text, 1 / ratio, OF_BENCH, "{:.3f}")


def row_stages(options, folder):
    beside_bench("stages", options, stage_runs(options))


def call_runs(options):
    """The same of functions that take whole arrays: each makes a plan (`tl.dedisperse` in its first call), which `bench` does
    not, and writes to `out`, as `bench` writes to the same memory again and again, or to a new array, which the system clears.
    """
    import tautline as tl

    rng = np.random.default_rng()
    scale = 16 if options.small else 1
    spectra = 3072 // scale
    x = rng.integers(-128, 128, (16, spectra * 1024, 2), np.int8)
    problem = f"inputs=16,channels=1024,taps=8,output_bits=32,spectra={spectra}"
    spectra = on_a_line(tl.channelize(x, 1024, taps=8, device="cpu"))
    yield "channelize", "tl.channelize to `out`", problem, lambda: tl.channelize(x, 1024, taps=8, out=spectra, device="cpu")
    yield "channelize", "tl.channelize to a new array", problem, lambda: tl.channelize(x, 1024, taps=8, device="cpu")
    times, trials, channels = 98_304 // scale, 100, 1024
    known = {"frequencies": 1500 - 0.25 * np.arange(channels), "sample_time_s": 50e-6, "device": "cpu"}
    dms = 0.25 * np.arange(trials)
    sky = rng.integers(0, 256, (times, channels), np.uint8)
    problem = f"channels={channels},top_khz=1500000,width_hz=250000,rate_hz=20000,step_millidm=250,trials={trials},samples={times},bits=8"
    trials_of_sky = on_a_line(tl.dedisperse(sky, dms, **known))
    yield "dedisperse", "tl.dedisperse to `out`", problem, lambda: tl.dedisperse(sky, dms, out=trials_of_sky, **known)
    yield "dedisperse", "tl.dedisperse to a new array", problem, lambda: tl.dedisperse(sky, dms, **known)
    series = rng.normal(100_000, 300, (trials, 262_144 // scale)).astype(np.int32)  # as `bench` has it
    problem = f"trials={trials},samples={series.shape[1]},rate_hz=20000,width_ms=100"
    yield "detect", "tl.detect", problem, lambda: tl.detect(series, sample_time_s=50e-6, device="cpu")
    # The call does what the command's run does: segments for the errors, the trace, the search for stops. So does `bench`
    # of the run, on a file of /dev/shm whose curves it writes.
    megabytes = 101 // scale
    counts = rng.integers(0, 4, (megabytes * 1_000_000 // 1024, 1024), np.uint8)  # as there
    fields = {"bin_s": 1.6e-6, "bins": 32, "levels": 10, "device": "cpu"}
    problem = f"sensors=1024,bits=8,bins=32,levels=10,megabytes={megabytes}"
    yield "run_autocorrelate", "tl.autocorrelate", problem, lambda: tl.autocorrelate(counts, **fields)


def row_calls(options, folder):
    beside_bench("calls", options, call_runs(options))


def run_calls(options, folder):
    """(run, its size, the call, the command's words for the same): on an array and on a file of /dev/shm with its samples, of
    `fit` on curves and on their file, of a pipeline on one file."""
    import tautline as tl

    sys.path.insert(0, str(ROOT / "tests" / "python"))
    from support import write_filterbank

    rng = np.random.default_rng()
    scale = 16 if options.small else 1
    voltages = rng.integers(-100, 100, (16, 4_000_000 // scale, 2), np.int8)
    np.save(f"{folder}/x.npy", voltages)
    correlate = {"rate_hz": 1e6, "channels": 256, "integration_s": 0.5}
    yield (
        "correlate", f"{voltages.nbytes / 1e6:.0f} MB of 16 inputs", lambda: tl.correlate(voltages, device="cpu", **correlate),
        ["correlate", f"{folder}/x.npy", "-o", f"{folder}/x.uvh5", "--format", "ci8", "--rate-hz", "1e6", "--channels", "256", "--integration", "0.5"],
    )  # fmt: skip
    mhz = 1500 - 0.25 * np.arange(1024)
    sky = rng.normal(100, 10, (200_000 // scale, mhz.size)).round().astype(np.uint8)
    write_filterbank(pathlib.Path(folder, "x.fil"), sky, mhz, 64e-6)
    search = {"dms": "0:100:1", "threshold": 7, "frequencies": mhz, "sample_time_s": 64e-6}
    yield (
        "search", f"{sky.nbytes / 1e6:.0f} MB, 101 trials", lambda: tl.search(sky, device="cpu", **search),
        ["search", f"{folder}/x.fil", "-o", f"{folder}/x.csv", "--dms", "0:100:1", "--threshold", "7"],
    )  # fmt: skip
    photons = 5_000_000 // scale
    times = np.cumsum(np.minimum(rng.geometric(1 / 200, photons), 4000))  # ticks of 1 ns
    write_spc(pathlib.Path(folder, "x.spc"), times)
    fields = {"lag_scheme": "standard", "levels": 16, "bins": 16, "segments": 1, "device": "cpu"}
    yield (
        "autocorrelate", f"{photons} photons", lambda: tl.autocorrelate(tags=times, tick_s=1e-9, bin_s=1e-9, **fields),
        ["autocorrelate", f"{folder}/x.spc", "-o", f"{folder}/x.h5", "--bin", "1e-9", "--lags", "standard", "--levels", "16", "--bins", "16", "--segments", "1"],
    )  # fmt: skip
    sensors = 1024 // scale
    model = ["--model", "diffusion:n=0.5,tau=2e-4,rate=1e5", "--duration", "1", "--bin", "1e-5"]
    run = [options.tautline, "--quiet", "simulate", "photons", "--sensors", str(sensors), *model, "-o", f"{folder}/m.npy"]
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    curves = tl.autocorrelate(np.load(f"{folder}/m.npy"), bin_s=1e-5, lag_scheme="standard", bins=16, levels=10)
    curves.write(f"{folder}/m.h5")
    yield (
        "fit", f"{sensors} curves of {curves.lag_s.size} lags", lambda: tl.fit(curves, "3d+triplet"),
        ["fit", f"{folder}/m.h5", "-o", f"{folder}/m.csv", "--model", "3d+triplet"],
    )  # fmt: skip
    pipeline = str(ROOT / "examples" / "pipelines" / "correlate.toml")
    sets = {"voltages.files": f"{folder}/x.npy", "voltages.format": "ci8", "voltages.rate_hz": 1e6, "f.channels": 256, "x.integration_s": 0.5}

    def run_pipeline():
        tl.Pipeline(pipeline, set={**sets, "visibilities.path": f"{folder}/p.uvh5"}, device="cpu", overwrite=True).run()

    words = [word for name, value in sets.items() for word in ("--set", f"{name}={value}")]
    yield (
        "pipeline", f"correlate.toml of {voltages.nbytes / 1e6:.0f} MB", run_pipeline,
        ["run", pipeline, *words, "--set", f"visibilities.path={folder}/r.uvh5"],
    )  # fmt: skip


def write_spc(path, times):
    """Ticks of 1 ns, less than 4,096 apart, as Becker & Hickl's file: 12 bits of each, and bit 30 where they begin anew."""
    wraps = np.diff(times >> 12, prepend=0)
    header = np.uint32(1 << 31 | 10)  # a clock of 10 x 0.1 ns
    np.concatenate([[header], (times & 0xFFF | wraps << 30).astype(np.uint32)]).astype("<u4").tofile(path)


def row_runs(options, folder):
    for name, size, call, words in run_calls(options, folder):
        inside = []

        def command():
            line = [str(options.tautline), "--device", "cpu", "--json", *words, "--overwrite"]
            start = time.perf_counter()
            ran = subprocess.run(line, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            taken_s = time.perf_counter() - start
            if ran.returncode not in (0, 3):  # 3: some fits are doubtful
                ran.check_returncode()
            inside.append(json.loads(ran.stdout)["elapsed_s"])
            return taken_s

        own, other, ratio = in_turns(options.rounds, lambda: seconds(call), command)
        run_s = statistics.median(inside)
        text = f"{own:.3f} s, the command {other:.3f} s: {1 / ratio:.3f} of its time; its run alone {run_s:.3f} s: {own / run_s:.3f}"
        judge("runs", f"{name}, {size}", text, own / run_s, OF_BENCH, "{:.3f}")


def row_multipletau(options, folder):
    import tautline as tl

    times, sensors = (20_000, 64) if options.small else (100_000, 1024)
    counts = np.random.default_rng().poisson(3.0, (times, sensors)).astype(np.uint8)
    for kind, a in (("counts as doubles", counts.astype(float)), ("doubles", counts + 0.25), ("bytes", counts)):
        peers = []
        np.save(f"{folder}/a.npy", a.astype(float))
        for k in range(2):  # the package uses one core: a process for each
            part = (k * sensors // 2, (k + 1) * sensors // 2)
            peers.append(Peer("multipletau", path=f"{folder}/a.npy", sensors=part, to=f"{folder}/{k}.npy"))
        curves = []

        def own():
            return seconds(lambda: curves.append(tl.multipletau.autocorrelate(a, m=16, deltat=1, normalize=True)))

        def both():
            for peer in peers:
                peer.start()
            return max([peer.wait() for peer in peers])

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            own_s, other_s, ratio = in_turns(options.rounds, own, both)
            one_s = statistics.median(sum(peer() for peer in peers) for _ in range(3))
        theirs = np.concatenate([np.load(f"{folder}/{k}.npy") for k in range(2)])
        difference = np.abs(curves[-1] - theirs)[:, :, 1].max()
        for peer in peers:
            peer.close()
        text = (
            f"{own_s * 1e3:.1f} ms, {peers[0].version} on two cores {other_s:.3f} s: {ratio:.1f} x "
            f"(on one core {one_s:.3f} s: {one_s / own_s:.1f} x)"
        )
        judge("multipletau", kind, text, ratio, 100, "{:.1f} x", at_least=True)
        judge("multipletau", kind + ", largest difference", f"{difference:.1e}", difference, 1e-12, "{:.1e}")


def row_tags(options, folder):
    import tautline as tl

    photons = 200_000 if options.small else 5_000_000
    times = np.sort(np.random.default_rng().integers(0, 200 * photons, photons))
    np.save(f"{folder}/t.npy", times)
    levels, bins = 16, 16

    def own():
        fields = {"lag_scheme": "standard", "levels": levels, "bins": bins, "segments": 1}
        return seconds(lambda: tl.autocorrelate(tags=times, tick_s=1e-9, bin_s=1e-9, **fields))

    lags = [*range(bins + 1), *(k << level for level in range(1, levels) for k in range(bins // 2 + 1, bins + 1))]
    for name, target, more in (
        ("tttrlib", 3, {"method": "felekyan", "levels": levels, "bins": bins}),
        ("pycorrelate", 50, {"lags": lags}),
    ):
        try:
            peer = Peer(name, module=name, path=f"{folder}/t.npy", **more)
        except LookupError as problem:
            leave_out("tags", problem)
            continue
        own_s, other_s, ratio = in_turns(options.rounds, own, peer)
        peer.close()
        text = f"{own_s:.3f} s, {peer.version} {other_s:.3f} s: {ratio:.2f} x"
        judge("tags", f"{photons} photons over {name}", text, ratio, target, "{:.1f} x", at_least=True)


def row_dedisperse(options, folder):
    import tautline as tl

    channels, times, trials = (256, 50_000, 10) if options.small else (1024, 1_000_000, 100)
    x = np.random.default_rng().integers(0, 255, (times, channels), np.uint8)
    np.save(f"{folder}/f.npy", x)
    top, width, tsamp = 1500.0, -300.0 / channels, 64e-6
    mhz = top + width * np.arange(channels)
    dms = np.linspace(3, 300, trials)
    own = lambda: seconds(lambda: tl.dedisperse(x, dms, frequencies=mhz, sample_time_s=tsamp))  # noqa: E731
    for name in ("sigpyproc", "your"):
        try:  # they take each trial alone, and seconds for one
            peer = Peer(
                name, path=f"{folder}/f.npy", channels=channels, top_mhz=top, width_mhz=width, sample_time_s=tsamp, dm=150.0
            )
        except LookupError as problem:
            leave_out("dedisperse", problem)
            continue
        own_s, other_s, ratio = in_turns(min(3, options.rounds), own, peer)
        peer.close()
        text = (
            f"{own_s:.3f} s, {peer.version} one trial {other_s:.3f} s, {trials} take {other_s * trials:.0f} s: {ratio * trials:.0f} x"
        )
        what = f"{trials} trials of {channels} channels x {times} over {name}"
        judge("dedisperse", what, text, ratio * trials, 10, "{:.0f} x", at_least=True)


def row_device(options, folder):
    script = [sys.executable, str(ROOT / "bench" / "python" / "on_device.py"), "--tautline", str(options.tautline)]
    more = ["--rounds", str(options.rounds)] + ["--small"] * options.small
    ran = subprocess.run(script + more, text=True, capture_output=True)
    lines = ran.stdout.splitlines()
    if ran.returncode == 2:
        raise LookupError(lines[-1] if lines else ran.stderr.strip().rpartition("\n")[-1])
    for line in lines:
        found = re.match(r"(\w+) +(\w+) +.*`bench`.*: ([\d.]+) of its time", line)
        if found is None:
            say("device", line)
            continue
        judge("device", f"{found[2]} of {found[1]}", line, float(found[3]), OF_BENCH, "{:.3f}")
        copied = re.search(r", (\d+) bytes copied from the host, (\d+) to it", line)
        if copied:
            all_bytes = int(copied[1]) + int(copied[2])
            judge("device", f"{found[2]} of {found[1]}, copied", f"{all_bytes} bytes", all_bytes, 0, "{:.0f} bytes")


FIRST = """
import numpy as np, tautline as tl
x = (np.random.default_rng().standard_normal((4, 100_000)) + 0j).astype(np.complex64)
print(tl.correlate(x, rate_hz=1e6, channels=64, integration_s=0.02, device="cpu"))
"""


def row_wheel(options, folder):
    kind = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    abi3 = "abi3" if sys.version_info >= (3, 12) else kind
    wheels = sorted(options.wheels.glob(f"tautline-*-{abi3}-*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        raise LookupError(f"no wheel of this Python in {options.wheels}: scripts/wheel --output {options.wheels} makes one")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}
    subprocess.run([sys.executable, "-m", "venv", f"{folder}/v"], check=True, env=clean)
    python = f"{folder}/v/bin/python"
    start = time.perf_counter()
    pip = [python, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check", str(wheels[-1])]
    if subprocess.run(pip, env=clean).returncode != 0:
        raise LookupError("pip could not install the wheel and numpy")
    installed = time.perf_counter()
    subprocess.run([python, "-c", FIRST], check=True, env=clean, stdout=subprocess.DEVNULL, cwd=folder)
    taken_s = time.perf_counter() - start
    text = f"{taken_s:.1f} s, of which pip {installed - start:.1f} s"
    judge("wheel", f"{wheels[-1].name}, to a first result", text, taken_s, 30, "{:.1f} s")


ROWS = {name[4:]: row for name, row in list(globals().items()) if name.startswith("row_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=" ".join(ROWS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--tautline", type=pathlib.Path, default=ROOT / "build" / "tautline", help="the command, for `stages`, `calls`, `runs` and `device`")
    parser.add_argument("--wheels", type=pathlib.Path, default=ROOT / "build" / "wheels", help="the folder of the wheel, for `wheel`")
    options = parser.parse_args()
    say("load", " ".join(f"{load:.1f}" for load in os.getloadavg()) + f" on {len(os.sched_getaffinity(0))} cores")
    for name in options.rows or ROWS:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            try:
                ROWS[name](options, folder)
            except LookupError as problem:
                leave_out(name, problem)
    print("\n| row | what | target | measured | |\n| --- | --- | --- | --- | --- |")
    for line in TABLE:
        print("| " + " | ".join(str(one) for one in line) + " |")


if __name__ == "__main__":
    main()
