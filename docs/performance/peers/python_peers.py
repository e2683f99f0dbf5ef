#!/usr/bin/env python3
"""The other programs of ../measure_peers, each in a process of its own.

`python_peers.py NAME OPTIONS` loads what it needs and prints its version; for each line on standard input it works once and
prints wall and processor seconds.
"""

import json
import os
import sys
import time


def tttrlib(o):
    """Reads a PTU file and correlates its photons by tttrlib's fastest method ("wahl" takes nine times as long)."""
    import numpy as np
    import tttrlib

    def work():
        tags = tttrlib.TTTR(o["path"], "PTU")
        ticks = round(o["bin_s"] / tags.header.macro_time_resolution)
        times = np.ascontiguousarray(tags.macro_times // ticks).astype(np.uint64)
        weights = np.ones(len(times))
        correlator = tttrlib.Correlator(method="felekyan", n_casc=o["levels"], n_bins=o["bins"])
        correlator.set_macrotimes(times, times)
        correlator.set_weights(weights, weights)
        correlator.correlation  # made when it is asked for

    return "tttrlib " + tttrlib.__version__, work


def sigpyproc(o):
    """Opens a filterbank, dedisperses it to one DM on both cores and writes the series."""
    import importlib.metadata
    from sigpyproc.readers import FilReader

    def work():
        FilReader(o["path"]).dedisperse(o["dm"], parallel=True).to_tim(o["to"])

    return "sigpyproc " + importlib.metadata.version("sigpyproc"), work


def correlate_sensors(task):
    """Curves of a range of sensors; counts lie [time][sensor], as a camera writes them."""
    import multipletau
    import numpy as np

    path, samples, sensors, first, last = task
    counts = np.memmap(path, np.uint8, "r", shape=(samples, sensors))
    start_s = time.process_time()
    own = np.ascontiguousarray(counts[:, first:last].T)
    curves = [multipletau.autocorrelate(one.astype(np.float64), m=16, normalize=True) for one in own]
    return curves, time.process_time() - start_s


def multipletau(o):
    """Curves of all sensors on two processes, which wait between rounds."""
    import multiprocessing
    import warnings
    import multipletau
    import numpy as np

    warnings.simplefilter("ignore")
    pool = multiprocessing.Pool(o["processes"])
    step = max(1, o["sensors"] // 16)
    tasks = [
        (o["path"], o["samples"], o["sensors"], k, min(k + step, o["sensors"])) for k in range(0, o["sensors"], step)
    ]

    def work():
        parts = pool.map(correlate_sensors, tasks, 1)
        np.save(o["to"], np.concatenate([curves for curves, _ in parts]))
        return sum(used_s for _, used_s in parts)

    return f"multipletau {multipletau.__version__}, numpy {np.__version__}", work


def numpy_fx(o):
    """A filter bank (products with the window, numpy's FFT in single precision) and correlation by OpenBLAS: two
    threads of Python take blocks of spectra in turn, with one of OpenBLAS each."""
    from concurrent.futures import ThreadPoolExecutor
    import numpy as np

    inputs, channels, taps, block = o["inputs"], o["channels"], o["taps"], 512
    window = np.hanning(channels * taps + 1)[:-1] * np.sinc(np.arange(channels * taps) / channels - taps / 2)
    window = window.reshape(taps, 1, channels).astype(np.float32)

    def some_spectra(task):
        samples, first, count = task
        part = samples[first * channels : (first + count + taps - 1) * channels]
        x = np.ascontiguousarray(part.transpose(1, 0, 2)).astype(np.float32).view(np.complex64)[..., 0]
        x = x.reshape(inputs, count + taps - 1, channels)
        filtered = x[:, :count] * window[0]
        for t in range(1, taps):
            filtered += x[:, t : t + count] * window[t]
        spectra = np.ascontiguousarray(np.fft.fft(filtered).transpose(2, 0, 1))
        return np.matmul(spectra, spectra.conj().transpose(0, 2, 1))

    def work():
        samples = np.memmap(o["path"], np.int8, "r", offset=4096).reshape(-1, inputs, 2)
        spectra = len(samples) // channels - taps + 1
        tasks = [(samples, first, min(block, spectra - first)) for first in range(0, spectra, block)]
        with ThreadPoolExecutor(o["threads"]) as pool:
            total = sum(pool.map(some_spectra, tasks))
        np.save(o["to"], total)

    return f"numpy {np.__version__}", work


def main():
    version, work = globals()[sys.argv[1]](json.loads(sys.argv[2]))
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the libraries print
    print(json.dumps(version), file=results, flush=True)
    for _ in sys.stdin:
        before_s, start_s = time.process_time(), time.perf_counter()
        of_processes_s = work()  # that this one started and that go on
        wall_s, used_s = time.perf_counter() - start_s, time.process_time() - before_s
        print(json.dumps([wall_s, used_s + (of_processes_s or 0)]), file=results, flush=True)


if __name__ == "__main__":
    main()
