"""The packages that compare.py measures the Python package beside, each in a process of its own."""

import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import time
import types
import warnings

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
VENVS = (".venv-package", ".venv-interop", ".venv-interop-search", ".venv-peers")


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


# The peers: each function loads what it needs and gives what is timed.


def peer_multipletau(o):
    import multipletau

    warnings.simplefilter("ignore")
    counts = np.load(o["path"], mmap_mode="r")
    first, last = o["sensors"]
    columns = np.ascontiguousarray(counts[:, first:last].T)

    def work():
        curves = [multipletau.autocorrelate(one, m=16, deltat=1, normalize=True) for one in columns]
        np.save(o["to"], np.stack(curves))

    return work


def peer_tttrlib(o):
    import tttrlib

    times = np.load(o["path"]).astype(np.uint64)

    def work():
        correlator = tttrlib.Correlator(method=o["method"], n_casc=o["levels"], n_bins=o["bins"])
        correlator.set_macrotimes(times, times)
        weights = np.ones(len(times))
        correlator.set_weights(weights, weights)
        correlator.correlation  # made when it is asked for

    return work


def peer_pycorrelate(o):
    import pycorrelate

    times = np.load(o["path"])
    lags = np.unique(np.array(o["lags"], np.int64))
    return lambda: pycorrelate.pcorrelate(times, times, lags)


def peer_sigpyproc(o):
    from sigpyproc.block import FilterbankBlock
    from sigpyproc.header import Header

    data = np.load(o["path"], mmap_mode="r")
    header = Header(
        filename="", data_type="filterbank", nchans=data.shape[1], foff=o["width_mhz"], fch1=o["top_mhz"], nbits=8,
        tsamp=o["sample_time_s"], tstart=59000.0, nsamples=data.shape[0],
    )  # fmt: skip
    block = FilterbankBlock(np.ascontiguousarray(data.T), header)
    return lambda: block.dedisperse(o["dm"]).get_tim()


def peer_your(o):
    from your.candidate import Candidate

    # Its dedispersion alone: a Candidate is otherwise made of files.
    mhz = o["top_mhz"] + o["width_mhz"] * np.arange(o["channels"])
    own = types.SimpleNamespace(data=np.load(o["path"]), chan_freqs=mhz, native_tsamp=o["sample_time_s"])

    def work():
        Candidate.dedisperse(own, dms=o["dm"])
        return own.dedispersed.sum(axis=1)

    return work


def be_peer(name, options):
    work = globals()["peer_" + name](json.loads(options))
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the libraries print
    work()
    module = json.loads(options).get("module", name)
    print(json.dumps(f"{module} {importlib.metadata.version(module)}"), file=results, flush=True)
    for _ in sys.stdin:
        print(json.dumps(seconds(work)), file=results, flush=True)


class Peer:
    """A peer in a process of its own, ready to work."""

    def __init__(self, name, **options):
        pythons = [sys.executable] + [str(ROOT / venv / "bin" / "python") for venv in VENVS]
        has = [p for p in pythons if os.path.exists(p) and subprocess.run([p, "-c", f"import {name}"], capture_output=True).returncode == 0]
        if not has:
            raise LookupError(f"no Python here has {name}")
        self.process = subprocess.Popen(
            [has[0], __file__, name, json.dumps(options)], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        line = self.process.stdout.readline()
        if not line:
            raise LookupError(f"{name} failed")
        self.version = json.loads(line)

    def start(self):
        self.process.stdin.write("again\n")
        self.process.stdin.flush()

    def wait(self):
        return json.loads(self.process.stdout.readline())

    def __call__(self):
        self.start()
        return self.wait()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


if __name__ == "__main__":
    be_peer(*sys.argv[1:])
