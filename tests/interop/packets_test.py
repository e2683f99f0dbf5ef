"""spead2 and baseband write packets, and the capture engine must place the samples that they wrote; they read ours.

spead2 sends heaps as MeerKAT's F-engines and digitisers do; baseband's VDIF frames are datagrams.
"""
import json
import pathlib
import struct
import subprocess

import numpy as np
from interop_support import Checks, arguments, offline, scratch

offline()
import astropy.units as u  # noqa: E402
import spead2  # noqa: E402
import spead2.recv  # noqa: E402
import spead2.send  # noqa: E402
from astropy.time import Time  # noqa: E402
from baseband import vdif  # noqa: E402
from baseband.base.encoding import decoder_levels  # noqa: E402
from packets_support import CHANNEL, FENG_ID, FENG_RAW, TIMESTAMP, heap_item, heap_of, write_vdif  # noqa: E402

SPEAD_WORD = 8
DIGITISER_ID, DIGITISER_STATUS, ADC_SAMPLES = 0x3101, 0x3102, 0x3300


def run(program, *words):
    done = subprocess.run([str(word) for word in (program, *words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def write_packets(path, packets):
    path.write_bytes(b"".join(struct.pack("<II", source, len(packet)) + packet for source, packet in packets))


def read_packets(path):
    data, at, packets = path.read_bytes(), 0, []
    while at < len(data):
        source, length = struct.unpack_from("<II", data, at)
        packets.append((source, data[at + 8:at + 8 + length]))
        at += 8 + length
    return packets


def split_spead(data):
    """The packets of a BytesStream: each says how many items it has and how long its payload is."""
    packets, at = [], 0
    while at < len(data):
        items = struct.unpack_from(">H", data, at + 6)[0]
        table = struct.unpack_from(f">{items}Q", data, at + SPEAD_WORD)
        payload = next(word & (2**48 - 1) for word in table if word >> 48 & 0x7FFF == 4)
        length = SPEAD_WORD * (1 + items) + payload
        packets.append(data[at:at + length])
        at += length
    return packets


def spead_packets(heaps, payload_bytes, items):
    """What spead2 sends of heaps of {item: value}, each in packets of payload_bytes; descriptors first."""
    config = spead2.send.StreamConfig(max_packet_size=payload_bytes + SPEAD_WORD * (5 + items), max_heaps=4)
    stream = spead2.send.BytesStream(spead2.ThreadPool(), config)
    descriptors = spead2.send.Heap(spead2.Flavour(4, 64, 48))
    for number, value in heaps[0].items():
        descriptors.add_descriptor(heap_item(number, value))
    stream.send_heap(descriptors)
    before = len(split_spead(stream.getvalue()))
    for content in heaps:
        stream.send_heap(heap_of(content))
    packets = split_spead(stream.getvalue())
    return packets[:before], packets[before:]


def check_f_engines(checks, program, folder, random):
    antennas, channels, spectra, per_heap, times, first_channel = 3, 32, 256, 16, 4, 64
    step = 2**21
    start = (2**48 - 2 * step) // step * step  # wraps after two heaps
    data = random.integers(-128, 128, (antennas, channels, times * spectra, 2, 2), dtype=np.int8)
    heaps = [{TIMESTAMP: (start + n * step) % 2**48, FENG_ID: a, CHANNEL: first_channel + c,
              FENG_RAW: np.ascontiguousarray(data[a, c:c + per_heap, n * spectra:(n + 1) * spectra])}
             for n in range(times) for a in range(antennas) for c in range(0, channels, per_heap)]
    descriptors, packets = spead_packets(heaps, 8192, 4)
    checks.same(len(packets), 2 * len(heaps), "packets of 8192 bytes")
    # The second part of heap 9 is lost; heaps of one time are shuffled; a packet comes twice.
    lost = 19
    kept = [packet for k, packet in enumerate(packets) if k != lost]
    blocks = [kept[k:k + 12] for k in range(0, len(kept), 12)]
    for block in blocks:
        random.shuffle(block)
    shuffled = descriptors + [packet for block in blocks for packet in block] + [kept[5]]
    write_packets(folder / "spead", [(0, packet) for packet in shuffled])
    shape = f"{times * spectra},{antennas},{channels},2,{first_channel}"
    facts = run(program, "receive", "meerkat-f", shape, folder / "spead", folder / "bytes", folder / "valid")
    checks.same(facts["accepted"], len(kept), "accepted")
    checks.same(facts["missing"], 1, "missing")
    checks.same(facts["duplicate"], 1, "duplicate")
    checks.same(facts["foreign"], len(descriptors), "foreign: descriptors")
    checks.same(facts["malformed"] + facts["early"] + facts["late"], 0, "others")
    checks.same(facts["start_count"], start, "start")
    got = np.fromfile(folder / "bytes", np.int8).reshape(data.shape)  # [antenna][channel][time][pol][re, im]
    valid = np.fromfile(folder / "valid", np.uint8).reshape(channels, antennas, 2, -1).astype(bool)
    expected = np.ones_like(valid)
    heap = lost // 2
    n, a, c = heap // 6, heap % 6 // 2, heap % 2 * per_heap
    expected[c + 8:c + 16, a, :, n * spectra:(n + 1) * spectra] = False
    checks.same(valid, expected, "validity")
    mask = valid.transpose(1, 0, 3, 2)
    checks.same(got[mask], data[mask], "samples")

    # And back: spead2 reads what we send.
    np.ascontiguousarray(data).tofile(folder / "bytes")
    run(program, "send", "meerkat-f", shape, start, folder / "bytes", folder / "spead")
    ours = read_packets(folder / "spead")
    checks.same(len(ours), len(packets), "packets sent")
    stream = spead2.recv.Stream(spead2.ThreadPool(), spead2.recv.StreamConfig(max_heaps=64))
    stream.add_buffer_reader(b"".join(packet for _, packet in ours))
    found = 0
    for heap in stream:
        items = {item.id: item for item in heap.get_items()}
        count = (items[TIMESTAMP].immediate_value - start) % 2**48 // step
        a, c = items[FENG_ID].immediate_value, items[CHANNEL].immediate_value - first_channel
        raw = np.frombuffer(bytes(np.array(items[FENG_RAW], copy=False)), np.int8)
        wanted = data[a, c:c + per_heap, count * spectra:(count + 1) * spectra]
        checks.same(raw, np.ascontiguousarray(wanted).reshape(-1), "heap that spead2 reads")
        found += 1
    checks.same(found, len(heaps), "heaps that spead2 reads")


def check_digitisers(checks, program, folder, random):
    times = 3
    samples = random.integers(-512, 512, (2, times * 4096))
    bits = (samples[..., None] >> np.arange(9, -1, -1)) & 1  # the highest first
    packed = np.packbits(bits.reshape(2, times, -1).astype(np.uint8), axis=-1)
    packets = []
    for source in range(2):
        heaps = [{TIMESTAMP: 4096 * (7 + n), DIGITISER_ID: 5, DIGITISER_STATUS: 0, ADC_SAMPLES: packed[source, n]}
                 for n in range(times)]
        packets += [(source, packet) for packet in spead_packets(heaps, 5120, 4)[1]]
    write_packets(folder / "spead", packets)
    facts = run(program, "receive", "meerkat-digitiser", f"{times * 4096},1,1,2,0", folder / "spead",
                folder / "bytes", folder / "valid")
    checks.same(facts["accepted"], 2 * times, "accepted")
    checks.same(facts["missing"], 0, "missing")
    got = np.fromfile(folder / "bytes", np.int16).reshape(2, -1)
    checks.same(got, samples.astype(np.int16), "10-bit samples")


def check_vdif(checks, program, folder, random):
    frames = 6
    start, codes, data = write_vdif(folder / "frames.vdif", frames, random)
    packets = [(0, frame) for frame in data]
    later = packets[2:]  # a stream begins with the first of the packets that prove it: those of the first frame stay first
    random.shuffle(later)
    packets = packets[:2] + later
    write_packets(folder / "vdif", packets)
    shape = f"{frames * 32000},1,1,2,0"
    facts = run(program, "receive", "vdif", shape, folder / "vdif", folder / "bytes", folder / "valid")
    checks.same(facts["accepted"], 2 * frames, "accepted")
    checks.same(facts["missing"], 0, "missing")
    seconds = round((start.unix - Time("2000-01-01T00:00:00", scale="utc").unix))
    checks.same(facts["start_count"], seconds * 2000, "start")
    got = np.fromfile(folder / "bytes", np.uint8).reshape(2, -1)
    unpacked = (got[..., None] >> np.array([0, 2, 4, 6]) & 3).reshape(2, -1)
    checks.same(unpacked.T, codes.astype(np.uint8), "codes")

    run(program, "send", "vdif", shape, seconds * 2000, folder / "bytes", folder / "vdif")
    (folder / "ours.vdif").write_bytes(b"".join(packet for _, packet in read_packets(folder / "vdif")))
    with vdif.open(str(folder / "ours.vdif"), "rs", sample_rate=64 * u.MHz, squeeze=False) as file:
        checks.that(abs((file.start_time - start).sec) < 1e-9, f"start {file.start_time.isot}")
        checks.same(file.read()[:, :, 0], decoder_levels[2][codes], "samples that baseband reads")


def main():
    options = arguments(__doc__)
    checks = Checks()
    random = np.random.default_rng(options.seed)
    program = options.programs / "packets"
    with scratch() as name:
        for check in (check_f_engines, check_digitisers, check_vdif):
            checks.where = check.__name__
            check(checks, program, pathlib.Path(name), random)
    checks.finish()


main()
