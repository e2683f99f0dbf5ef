"""What the measurements of live pipelines share: a pipeline as a process, its senders, and what both take of the processors.

Standard library alone. TAUTLINE and SEND_LOAD name other programs than build/tautline and build/bench/bench_send_load.
"""
import json
import os
import pathlib
import re
import resource
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TAUTLINE = os.environ.get("TAUTLINE", str(ROOT / "build/tautline"))
SEND_LOAD = os.environ.get("SEND_LOAD", str(ROOT / "build/bench/bench_send_load"))
START_S, END_S = 120, 60  # that a run may take to listen, and to end
MWA_BYTES_PER_S = 4 * 34 * 1.28e6


def free_ports(count, kind):
    sockets = [socket.socket(socket.AF_INET, kind) for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def correlator(name, source, integration_s=1.0, channels="channels = 128\n"):
    """Nodes of a pipeline file: a source, and its visibilities in a file."""
    return (f"[{name}]\n{source}\n[f{name}]\ntype = \"filter_bank\"\ninputs = \"{name}\"\n{channels}"
            f"[x{name}]\ntype = \"correlator\"\ninputs = \"f{name}\"\nintegration_s = {integration_s}\n"
            f"[v{name}]\ntype = \"visibility_file\"\ninputs = \"x{name}\"\npath = \"{name}.uvh5\"\n")


def mwa_arrays(ports):
    """So many coarse channels of the MWA's prototype, of four TCP connections each."""
    return "".join(
        correlator(f"mwa{k}", f'type = "receivers"\nlayout = "mwa32t"\nlisten = "tcp://127.0.0.1:{port}"\nconnections = 4\n'
                   f'wait_s = 30\nblock_samples = 65536\ncentre_hz = {140e6 + 1.28e6 * k}\n'
                   'utc_start = "2026-11-23-12:00:00"\n')
        for k, port in enumerate(ports))


def seconds_of(stat):
    """Processor time of /proc/.../stat, to a hundredth of a second."""
    words = pathlib.Path(stat).read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def children_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def last_object(text):
    return json.loads(text[text.rindex('{"schema"'):])


class Pipeline:
    """tautline run, from when it listens on; killed where that ends by an exception."""

    def __init__(self, folder, text, device, listening, options=()):
        self.folder = pathlib.Path(folder)
        (self.folder / "pipeline.toml").write_text(text)
        self.log, self.out = self.folder / "log", self.folder / "out"
        with open(self.log, "w") as err, open(self.out, "w") as summary:
            self.process = subprocess.Popen([TAUTLINE, "--json", "--device", device, "run", "pipeline.toml", *options],
                                            cwd=folder, stdout=summary, stderr=err)
        self._others_s = children_s()  # of children that have ended
        try:
            self.wait_for(r"listening at ", listening)
        except BaseException:
            self.kill()
            raise
        self.start_s = self.cpu_s()  # what it took to start: compiling, memory

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def log_tail(self):
        return self.log.read_text()[-2000:]

    def wait_for(self, pattern, count=1):
        """The log's lines with the pattern, when there are so many."""
        until = time.monotonic() + START_S
        while time.monotonic() < until and self.process.poll() is None:
            found = [line for line in self.log.read_text().splitlines() if re.search(pattern, line)]
            if len(found) >= count:
                return found
            time.sleep(0.05)
        raise RuntimeError("the pipeline does not come so far:\n" + self.log_tail())

    def cpu_s(self):
        return seconds_of(f"/proc/{self.process.pid}/stat")

    def threads(self):
        """Processor time of each thread, by its number: (name, seconds)."""
        found = {}
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            try:
                name = (task / "comm").read_text().strip()
                try:
                    spent = int((task / "schedstat").read_text().split()[0]) * 1e-9
                except (OSError, IndexError):
                    spent = seconds_of(task / "stat")
                found[int(task.name)] = (name, spent)
            except OSError:  # it has ended
                pass
        return found

    def end(self):
        """Waits for the end. The summary; processor time since it listened."""
        before = children_s()
        self.process.wait(END_S)
        cpu_s = children_s() - before - self.start_s
        if self.process.returncode not in (0, 3):
            raise RuntimeError(self.log_tail())
        return last_object(self.out.read_text()), cpu_s


class Senders:
    """bench_send_load, beside the pipeline."""

    def __init__(self, words):
        self.process = subprocess.Popen([SEND_LOAD, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def wait_for_start(self):
        """When the first packet is due, by time.monotonic()."""
        if self.process.stdout.readline() != "sending\n":
            raise RuntimeError(self.process.stderr.read())
        return time.monotonic()

    def end(self, patience_s):
        """What they sent; their processor time."""
        before = children_s()
        out, err = self.process.communicate(timeout=patience_s)
        if self.process.returncode:
            raise RuntimeError(err)
        return json.loads(out.splitlines()[-1]), children_s() - before


def of(counters, name):
    """A counter, over all nodes."""
    return sum(count for key, count in counters.items() if key.split(".")[-1] == name)


def in_real_time(sent):
    # Who falls further behind as time goes on does not keep up; a part of a second at the start is that of its beginning.
    return sent["behind_end_s"] < max(0.5, sent["behind_quarter_s"])


def machine():
    limit = pathlib.Path("/proc/sys/net/core/rmem_max").read_text().strip()
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}, net.core.rmem_max {limit}"
