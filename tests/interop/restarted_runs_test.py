"""A live run that is killed and started again: complete files on one grid of times, which pyuvdata reads as one.

Packets of a simulated sky, whose layout counts from a known time, go to a run with a file for each integration. The run
is killed inside an integration and started again by the same command while the packets go on. What lies in the files
is, to the bit, what `correlate` makes of the same samples; only the integration that was open and those for which no
run received are missing.
"""
import contextlib
import json
import pathlib
import re
import subprocess
import time

import numpy as np
from interop_support import Checks, arguments, offline, scratch

offline()
from pyuvdata import UVData  # noqa: E402

PACKET_S = 256 / 5000  # of 64 channels of 320 kHz
INTEGRATION_S = 2 * PACKET_S
TRIES = 5  # where this machine itself loses packets
START = "2026-03-20-14:00:00"
ARRAY = "latitude_deg = -26.7\nlongitude_deg = 116.67\naltitude_m = 377.0\n" + "".join(
    f"[[antenna]]\nenu_m = {place}\n" for place in ([0.0, 0.0, 0.0], [40.0, 310.0, 1.0], [520.0, -60.0, 0.0]))
SCENE = f"""start = "{START}"
centre_hz = 1420.4e6
bandwidth_hz = 320e3
[[source]]
name = "target"
ra_deg = 170.0
dec_deg = -20.0
flux = 0.5
"""
LAYOUT = 'like = "meerkat-f"\nrate_hz = 5000.0\nzero = 2026-03-20T14:00:00Z\n'
PIPELINE = """[packets]
type = "packets"
listen = "udp://127.0.0.1:0"
layout = "layout.toml"
antennas = 3
channels = 64
block_samples = 256
window_samples = 8192
centre_hz = 1420.3975e6
record = "spectra.dada.json"
wait_s = 60
silence_s = 3.0
[f]
type = "filter_bank"
inputs = "packets"
[x]
type = "correlator"
inputs = "f"
integration_s = {integration_s}
array_path = "array.toml"
[visibilities]
type = "visibility_file"
inputs = "x"
path = "night-{{utc}}.uvh5"
each_s = {integration_s}
"""


class Run:
    def __init__(self, command, folder):
        self.folder, self.log = folder, folder / "log"
        self.before = set(folder.glob("night-*.uvh5"))
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([command, "--device", "cpu", "--json", "run", "pipeline.toml"],
                                            cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True)

    def address(self):
        for _ in range(6000):
            if found := re.search(r"listening at (udp://127\.0\.0\.1:\d+)", self.log.read_text()):
                return found[1]
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise RuntimeError(self.log.read_text())

    def files(self):
        return sorted(set(self.folder.glob("night-*.uvh5")) - self.before)

    def kill_behind(self, files):
        for _ in range(3000):
            if len(self.files()) >= files:
                break
            time.sleep(0.01)
        self.process.kill()  # SIGKILL
        self.process.communicate()


def read(paths):
    return UVData.from_file([str(path) for path in paths], axis="blt")


def values(vis):
    """By the number of an integration from START on: its visibilities and weights."""
    found = {}
    middles = (vis.time_array - vis.time_array.min()) * 86400
    for k in np.unique(np.round(middles / INTEGRATION_S).astype(int)):
        rows = np.flatnonzero(np.round(middles / INTEGRATION_S).astype(int) == k)
        found[k] = (vis.data_array[rows], vis.nsample_array[rows], vis.integration_time[rows])
    return found


def main():
    options = arguments(__doc__, needs_command=True)
    checks = Checks()
    random = np.random.default_rng(options.seed)
    command = str(options.command.resolve())
    with scratch() as name:
        folder = pathlib.Path(name)
        for file, text in (("array.toml", ARRAY), ("scene.toml", SCENE), ("layout.toml", LAYOUT),
                           ("pipeline.toml", PIPELINE.format(integration_s=INTEGRATION_S))):
            (folder / file).write_text(text)

        def call(*words):
            done = subprocess.run([command, "--quiet", *words], cwd=folder, capture_output=True, text=True, check=False)
            checks.same(done.returncode, 0, " ".join(words) + done.stderr)
            return done.stdout

        call("simulate", "voltages", "--array", "array.toml", "--scene", "scene.toml", "--duration", "6s", "--seed",
             str(options.seed), "-o", "sky.dada")
        call("channelize", "sky.dada", "--channels", "64", "--requantize", "8", "-o", "spectra.dada")
        call("correlate", "spectra.dada", "--array", "array.toml", "--integration", str(INTEGRATION_S), "-o",
             "whole.uvh5")
        whole = values(read([folder / "whole.uvh5"]))

        def send(to, *words):
            call("send", "spectra.dada", "--layout", "layout.toml", "--to", to, "--rate", "2", "--senders", "3", *words)

        def run_twice():
            """A run that is killed, and the same command again: files of each, and the second one's counters."""
            for old in folder.glob("night-*"):
                old.unlink()
            first = Run(command, folder)
            send(first.address(), "--duration", f"{(2 * finished + 1) * PACKET_S:.4f}")
            first.kill_behind(finished)
            before = first.files()
            second = Run(command, folder)
            send(second.address(), "--start", f"{2 * goes_on * PACKET_S:.4f}")
            said = second.process.communicate()[0]
            checks.that(second.process.returncode in (0, 3), second.log.read_text())
            return before, second.files(), json.loads(said)["counters"]

        # The last packet of each flow of the first run begins an integration, the first one of the second a later one.
        finished = int(random.integers(5, 20))
        goes_on = finished + 1 + int(random.integers(0, 10))
        for _ in range(TRIES):
            before, after, counters = run_twice()
            both = read(before + after)
            lost = counters["packets.dropped_by_kernel"]
            if lost == 0 and read(before).nsample_array.min() == 1:
                break
            print("lost by this machine:", lost)
        checks.same(len(before), finished, "files of the run that was killed")
        for count in ("missing", "late", "early", "malformed"):
            checks.same(counters[f"packets.{count}"], 0, f"{count} packets of the second run")
        live = values(both)
        last = max(live)
        checks.same(sorted(live), [*range(finished), *range(goes_on, last + 1)], "integrations")
        checks.that(last - goes_on >= 5, "integrations of the second run")
        for k in sorted(live)[:-1]:  # the last one is as long as the packets that came
            for got, expected, what in zip(live[k], whole[k], ("visibilities", "weights", "lengths")):
                checks.same(got, expected, f"{what} of integration {k}")
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide" / "observing.md").read_text()
        with contextlib.chdir(folder):
            for snippet in re.findall(r"^```python\n(.*?)^```", page, re.S | re.M):
                exec(compile(snippet, "observing.md", "exec"), {})  # noqa: S102
        call("report", "night.uvh5", "-o", "night.html")
        call("plot", "night.uvh5", "-o", "night.svg")
        facts = json.loads(call("--json", "inspect", "night.uvh5"))
        checks.same(facts["integrations"], len(live), "integrations of one file of both runs")
    checks.finish()


main()
