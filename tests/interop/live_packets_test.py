"""spead2 and baseband as senders to a running pipeline: its visibilities are those of the samples that were sent.

spead2 sends heaps as MeerKAT's F-engines do, over UDP on the loopback; numpy says what their visibilities are.
baseband writes VDIF frames, which go out as datagrams; `tautline correlate` of the same frames as a file gives the
same to the bit.
"""
import pathlib
import re
import socket
import subprocess
import time

import numpy as np
from interop_support import Checks, arguments, offline, scratch, skip

offline()
import spead2  # noqa: E402
import spead2.send  # noqa: E402
from packets_support import CHANNEL, FENG_ID, FENG_RAW, TIMESTAMP, heap_of, write_vdif  # noqa: E402

try:
    import h5py
except ImportError:
    skip("no h5py")

POLARISATIONS = {-5: (0, 0), -6: (1, 1), -7: (0, 1), -8: (1, 0)}
TRIES = 5  # where this machine itself loses packets, which are counted


class Pipeline:
    """A run that listens at a port that the system chooses."""

    def __init__(self, command, folder, fields, bank=""):
        self.output = folder / "live.uvh5"
        (folder / "pipeline.toml").write_text(
            f'[packets]\ntype = "packets"\nlisten = "udp://127.0.0.1:0"\nwait_s = 60\nsilence_s = 2.0\n{fields}\n'
            f'[f]\ntype = "filter_bank"\ninputs = "packets"\n{bank}\n'
            '[x]\ntype = "correlator"\ninputs = "f"\nintegration_s = 0.02\n'
            f'[visibilities]\ntype = "visibility_file"\ninputs = "x"\npath = "{self.output}"\n')
        self.log = folder / "log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [str(command), "--device", "cpu", "run", "--overwrite", str(folder / "pipeline.toml")],
                stdout=subprocess.PIPE, stderr=log, text=True)

    def port(self):
        for _ in range(6000):
            found = re.search(r"listening at udp://127\.0\.0\.1:(\d+)", self.log.read_text())
            if found:
                return int(found[1])
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise RuntimeError(self.log.read_text())

    def counters(self):
        text = self.process.communicate()[0]
        if self.process.returncode not in (0, 3):
            raise RuntimeError(self.log.read_text())
        return {name: int(count) for name, count in re.findall(r"packets\.(\w+): (\d+)", text)}


def visibilities(path):
    """[time, baseline, channel, polarisation] with the antennas of each baseline."""
    with h5py.File(path) as file:
        times = file["Header/Ntimes"][()]
        shape = (times, -1, *file["Data/visdata"].shape[1:])
        first = file["Header/ant_1_array"][()].reshape(times, -1)[0]
        second = file["Header/ant_2_array"][()].reshape(times, -1)[0]
        return (first, second, file["Header/polarization_array"][()], file["Data/visdata"][()].reshape(shape),
                file["Data/nsamples"][()].reshape(shape), file["Data/flags"][()].reshape(shape))


def received(checks, command, folder, fields, send, bank=""):
    """What a run counts; again where the machine has lost packets."""
    for _ in range(TRIES):
        pipeline = Pipeline(command, folder, fields, bank)
        packets = send(pipeline.port())
        counters = pipeline.counters()
        if counters["dropped_by_kernel"] == 0:
            break
        print("dropped by the kernel:", counters["dropped_by_kernel"])
    checks.same(counters["accepted"], packets, "accepted")
    checks.same(counters["missing"] + counters["malformed"] + counters["late"], 0, "others")
    return visibilities(pipeline.output)


def check_f_engines(checks, command, folder, random):
    antennas, channels, spectra, per_heap, times, rate_hz = 3, 32, 256, 16, 20, 51200
    data = random.integers(-128, 128, (antennas, channels, times * spectra, 2, 2), dtype=np.int8)
    start = 2**21 * int(random.integers(1, 1000))

    def send(port):
        config = spead2.send.StreamConfig(max_packet_size=8192 + 8 * 9, rate=20e6, max_heaps=8)
        stream = spead2.send.UdpStream(spead2.ThreadPool(), [("127.0.0.1", port)], config)
        for n in range(times):
            for antenna in range(antennas):
                for channel in range(0, channels, per_heap):
                    raw = np.ascontiguousarray(data[antenna, channel:channel + per_heap, n * spectra:(n + 1) * spectra])
                    stream.send_heap(heap_of({TIMESTAMP: start + n * 2**21, FENG_ID: antenna, CHANNEL: channel,
                                              FENG_RAW: raw}))
        return times * antennas * channels // per_heap * 2

    fields = (f'layout = "meerkat-f"\nantennas = {antennas}\nchannels = {channels}\nrate_hz = {rate_hz}\n'
              'centre_hz = 1.4e9\n')
    first, second, codes, vis, nsamples, flags = received(checks, command, folder, fields, send)
    each = round(0.02 * rate_hz)
    checks.same(vis.shape[0], times * spectra // each, "integrations")
    checks.same(flags.any(), False, "flags")
    checks.same(nsamples, np.ones_like(nsamples), "weights")
    x = (data[..., 0].astype(np.int64) + 1j * data[..., 1]).reshape(antennas, channels, -1, each, 2)
    for k, (a, b) in enumerate(zip(first, second)):
        for p, code in enumerate(codes):
            i, j = POLARISATIONS[int(code)]
            expected = (np.conj(x[a, ..., i]) * x[b, ..., j]).mean(axis=-1).T  # [time][channel]
            checks.near(vis[:, k, :, p], expected, 2e-7 * 2**15, f"antennas {a} and {b}, {code}")


def check_vdif(checks, command, folder, random):
    path = folder / "frames.vdif"
    frames = write_vdif(path, 120, random)[2]

    def send(port):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            for k, frame in enumerate(frames):
                out.sendto(frame, ("127.0.0.1", port))
                if k % 4 == 0:
                    time.sleep(0.002)
        return len(frames)

    live = received(checks, command, folder, 'layout = "vdif"\npolarisations = 2\ncentre_hz = 1.4e9\n', send,
                    "channels = 16\n")
    subprocess.run([str(command), "--quiet", "--device", "cpu", "correlate", str(path), "-o", str(folder / "file.uvh5"),
                    "--channels", "16", "--integration", "0.02", "--threads-are", "polarisations", "--rate-hz", "64e6",
                    "--centre-hz", "1.4e9", "--bandwidth-hz", "32e6", "--keep-constant"], check=True)
    for name, got, expected in zip(("first", "second", "polarisations", "visibilities", "weights", "flags"), live,
                                   visibilities(folder / "file.uvh5")):
        checks.same(got, expected, name)
    checks.that(live[3].shape[0] >= 2 and np.abs(live[3]).max() > 0, "there are visibilities")


def main():
    options = arguments(__doc__, needs_command=True)
    checks = Checks()
    random = np.random.default_rng(options.seed)
    with scratch() as name:
        for check in (check_f_engines, check_vdif):
            checks.where = check.__name__
            check(checks, options.command, pathlib.Path(name), random)
    checks.finish()


main()
