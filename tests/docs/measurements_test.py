#!/usr/bin/env python3
"""The scripts that measure live runs (docs/performance/live.md) still run, at hundredths of their rates, and print every row.

    measurements_test.py --source DIR --command build/tautline --senders build/bench/bench_send_load --python PYTHON --need required

What they measure is no part of the verdict: a busy machine may lose packets. PYTHON has numpy; where it is absent measure_dumps is
left out, which is an error if it is `required`.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

SCRIPTS = {
    "measure_live": (["--rows", "udp,mwa,latency", "--gbit", "0.4", "--arrays", "1", "--threads", "1", "--seconds", "3"],
                     ["| UDP, packets of 8 kB", "| MWA's prototype, 1 coarse", "| after the last record |"]),
    "measure_monitor": (["--seconds", "4", "--browsers", "3", "--silent", "1"], ["| 0 |", "| 1 |", "| 3, 1 that never read |"]),
    "measure_dumps": (["--gbytes", "0.02", "--keep", "5", "--seconds", "10", "--every", "2", "--small", "3", "--checkers", "1"],
                      ["| of 2 s, 0.04 GB |", "| of 1 to 20 ms |", "packets placed"]),
}


def ran(what, words, expected):
    """Whether it ended by itself and printed these."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300)
    absent = [text for text in expected if text not in done.stdout]
    if done.returncode in (0, 1) and not absent and "Traceback" not in done.stderr:
        return True
    print(f"{what}: status {done.returncode}, without {absent}\n{done.stdout}{done.stderr}")
    return False


def watched(scripts, python):
    """watch_run, from the begin of a run to its end."""
    sys.path.insert(0, str(scripts))
    from live_load import END_S, Pipeline, Senders, free_ports, mwa_arrays  # pylint: disable=import-outside-toplevel
    import socket  # pylint: disable=import-outside-toplevel
    port, monitor = free_ports(2, socket.SOCK_STREAM)
    with tempfile.TemporaryDirectory() as folder, \
            Pipeline(folder, mwa_arrays([port]), "cpu", 1, options=["--monitor", f"127.0.0.1:{monitor}"]) as running, \
            Senders(["mwa", 5, port]) as senders:
        good = ran("watch_run", [python, scripts / "watch_run", f"http://127.0.0.1:{monitor}", "--every", 1, "--settled", 1],
                   ["MB", "lost:", "descriptors", "memory"])
        senders.end(END_S)
        running.end()
    return good


def main():
    parser = argparse.ArgumentParser()
    for name in ("source", "command", "senders", "python", "need"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    os.environ.update(TAUTLINE=options.command, SEND_LOAD=options.senders)
    scripts = pathlib.Path(options.source) / "docs" / "performance"
    python, good = sys.executable, True
    for name, (words, expected) in SCRIPTS.items():
        if name == "measure_dumps" and not pathlib.Path(options.python).exists():
            print(f"measure_dumps is left out: {options.python}, which has numpy, is absent")
            good &= options.need != "required"
            continue
        runs_on = options.python if name == "measure_dumps" else python
        good &= ran(name, [runs_on, scripts / name, "--device", "cpu", *words], expected)
    good &= watched(scripts, python)
    return 0 if good else 1


sys.exit(main())
