"""spead2 receives what a pipeline's `visibility_stream` sends: the visibilities of its `visibility_file`, to the bit.

The heaps say themselves what they hold, and spead2 is told nothing. baseband writes the voltages, as VDIF.
"""
import pathlib
import re
import socket
import subprocess
import threading

import numpy as np
from interop_support import Checks, arguments, offline, scratch, skip

offline()
import astropy.units as u  # noqa: E402
import spead2  # noqa: E402
import spead2.recv  # noqa: E402
from astropy.time import Time  # noqa: E402
from baseband import vdif  # noqa: E402
from baseband.base.encoding import decoder_levels  # noqa: E402

try:
    import h5py
except ImportError:
    skip("no h5py")

CHANNELS, FRAMES = 64, 200
START = Time("2026-11-23T14:00:00", scale="utc")
CODES = {(0, 0): -5, (1, 1): -6, (1, 0): -7}  # V(i, j) = mean of x_i conj(x_j) is the file's x* y of (j, i)


def write_voltages(path, random):
    codes = random.integers(0, 4, (FRAMES * 32000, 2))
    header = vdif.VDIFHeader.fromvalues(edv=0, bps=2, complex_data=False, nchan=1, station=0, thread_id=0,
                                        samples_per_frame=32000, time=START, frame_nr=0, frame_length=1004)
    with vdif.open(str(path), "ws", header0=header, nthread=2, sample_rate=64 * u.MHz, squeeze=False) as file:
        file.write(decoder_levels[2][codes][:, :, None])


def receiving_socket():
    """On a port that the system chose, which no other program can take from here on."""
    receiving = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiving.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**22)
    receiving.bind(("127.0.0.1", 0))
    return receiving


class Receiver:
    """The items of all heaps that come before the sender says that the stream has ended."""

    def __init__(self):
        self.stream = spead2.recv.Stream(spead2.ThreadPool(), spead2.recv.StreamConfig(max_heaps=64),
                                         spead2.recv.RingStreamConfig(heaps=256))
        receiving = receiving_socket()
        self.port = receiving.getsockname()[1]
        self.stream.add_udp_reader(receiving)
        self.heaps = []
        self.thread = threading.Thread(target=self.receive, daemon=True)
        self.thread.start()

    def receive(self):
        for heap in self.stream:
            items = spead2.ItemGroup()
            items.update(heap)
            if len(items):
                self.heaps.append({name: np.array(item.value) for name, item in items.items()})

    def wait(self):
        self.thread.join(30)
        ended = not self.thread.is_alive()
        self.stream.stop()
        return ended


def run_pipeline(command, folder, port, packet_bytes):
    (folder / "pipeline.toml").write_text(
        f'[voltages]\ntype = "voltage_files"\nfiles = "{folder / "frames.vdif"}"\nthreads_are = "polarisations"\n'
        'rate_hz = 64e6\ncentre_hz = 1.4e9\nbandwidth_hz = 32e6\nkeep_constant = true\n'
        f'[f]\ntype = "filter_bank"\ninputs = "voltages"\nchannels = {CHANNELS}\n'
        '[x]\ntype = "correlator"\ninputs = "f"\nintegration_s = 0.005\n'
        f'[file]\ntype = "visibility_file"\ninputs = "x"\npath = "{folder / "file.uvh5"}"\n'
        f'[stream]\ntype = "visibility_stream"\ninputs = "x"\nto = "udp://127.0.0.1:{port}"\npacket_bytes = {packet_bytes}\n'
        'gbit_per_s = 0.2\n')
    subprocess.run([str(command), "--quiet", "--device", "cpu", "run", "--overwrite", str(folder / "pipeline.toml")], check=True)


def check_stream(checks, command, folder, packet_bytes):
    receiver = Receiver()
    run_pipeline(command, folder, receiver.port, packet_bytes)
    checks.that(receiver.wait(), "the stream ends")
    with h5py.File(folder / "file.uvh5") as file:
        codes = list(file["Header/polarization_array"][()])
        frequencies = file["Header/freq_array"][()].reshape(-1)
        times = file["Header/time_array"][()]
        lengths = file["Header/integration_time"][()]
        values = file["Data/visdata"][()].reshape(len(times), -1, len(codes))
        weights = file["Data/nsamples"][()].reshape(values.shape)
    checks.same(len(receiver.heaps), len(times), "integrations")
    checks.that(len(times) > 10, f"{len(times)} integrations")
    full = max(int(heap["counts"].max()) for heap in receiver.heaps)
    for k, heap in enumerate(receiver.heaps):
        checks.same(heap["frequency_hz"], frequencies, "frequencies")
        checks.same(heap["inputs"], np.array([[0, 0], [1, 0], [1, 1]], np.uint32), "inputs")
        checks.near(float(heap["time"]), (times[k] - 2440587.5) * 86400, 1e-3, "time")
        checks.near(float(heap["integration_s"]), lengths[k], 1e-9, "length")
        for baseline, (i, j) in enumerate(heap["inputs"]):
            column = codes.index(CODES[int(i), int(j)])
            checks.same(heap["visibilities"][:, baseline], values[k, :, column], f"visibilities {i}, {j}")
            checks.near(heap["counts"][:, baseline] / full, weights[k, :, column], 1e-6, f"counts {i}, {j}")


def check_page(checks, command, folder):
    """The lines of docs/guide/live.md that receive a stream."""
    page = (pathlib.Path(__file__).parents[2] / "docs/guide/live.md").read_text()
    code = next(text for text in re.findall(r"```python\n(.*?)```", page, re.S) if "spead2" in text)
    reader = 'stream.add_udp_reader(7149, bind_hostname="127.0.0.1")'
    checks.that(reader in code, "the page's reader")
    # As it stands there, but on a port that the system chooses; the run sends to one that is known before it is read.
    exec(reader.replace("7149", "0"), {"stream": spead2.recv.Stream(spead2.ThreadPool())})
    receiving, printed = receiving_socket(), []
    names = {"print": lambda *values: printed.append(values), "receiving": receiving}
    code = code.replace(reader, "stream.add_udp_reader(receiving)")
    thread = threading.Thread(target=exec, args=(code, names), daemon=True)
    thread.start()
    run_pipeline(command, folder, receiving.getsockname()[1], 1400)
    thread.join(30)
    checks.that(not thread.is_alive(), "the page's loop ends with the run")
    checks.that(len(printed) > 10, f"{len(printed)} integrations printed")


def main():
    options = arguments(__doc__, needs_command=True)
    checks = Checks()
    random = np.random.default_rng(options.seed)
    with scratch() as name:
        folder = pathlib.Path(name)
        write_voltages(folder / "frames.vdif", random)
        for packet_bytes in (1000, 8192):
            checks.where = f"{packet_bytes} bytes a packet"
            check_stream(checks, options.command, folder, packet_bytes)
        checks.where = "live.md"
        check_page(checks, options.command, folder)
    checks.finish()


main()
