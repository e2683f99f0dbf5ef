"""Whether a dump of a buffer is what bench_send_load sent, to the bit. Needs numpy.

The stream: antennas of two polarisations, complex samples of 8 + 8 bits, 2,048 times of an antenna in a packet. The bytes of a packet's
payload lie in a pool of random words, at a place that its time and antenna tell.
"""
import json
import os

import numpy as np

TIMES, SAMPLE_BYTES = 2048, 4  # of a packet; both polarisations
PAYLOAD_BYTES = TIMES * SAMPLE_BYTES
PLACES = 1 << 23  # of payloads in the pool, 8 bytes apart

LAYOUT = f"""about = "one antenna, for measurements"
header_bytes = 16
byte_order = "big"
axes = [[{TIMES}, "time"], [2, "polarisation"]]
sample = "ci8"
step = {TIMES}

[fields]
counter = {{ offset_bits = 0, bits = 64 }}
antenna = {{ offset_bits = 64, bits = 16 }}
"""


def make_pool(path, seed):
    random = np.random.default_rng(seed).integers(0, 1 << 64, PLACES + PAYLOAD_BYTES // 8, dtype=np.uint64)
    random.tofile(path)


def sent(pool, payload, antennas):
    """Samples as the file has them, [time][antenna], of payloads [first, end)."""
    first, end = payload
    rows = np.empty((end - first, antennas, PAYLOAD_BYTES // 8), dtype=np.uint64)
    for number, row in enumerate(rows.reshape(-1, PAYLOAD_BYTES // 8), first * antennas):
        place = number * 5000011 % PLACES
        row[:] = pool[place:place + PAYLOAD_BYTES // 8]
    samples = rows.view(np.uint32).reshape(end - first, antennas, TIMES)
    return samples.transpose(0, 2, 1).reshape((end - first) * TIMES, antennas)


def check(path, pool_path, antennas, wanted):
    """None, or what is wrong with a dump and its record; `wanted`: (first sample, samples)."""
    with open(path + ".json") as file:
        record = json.load(file)
    first, samples = record["start_sample"], record["samples"]
    if (first, samples) != tuple(wanted):
        return f"samples {first} + {samples}, wanted {wanted[0]} + {wanted[1]}"
    if record["missed"] or record["invalid"]:
        return f"missed {record['missed'][:3]}, invalid {record['invalid'][:3]}"
    with open(path, "rb") as file:
        header_bytes = int(file.read(4096).split(b"HDR_SIZE", 1)[1].split()[0])
    if os.path.getsize(path) != header_bytes + samples * antennas * SAMPLE_BYTES:
        return f"{os.path.getsize(path)} bytes"
    pool = np.memmap(pool_path, dtype=np.uint64, mode="r")
    file = np.memmap(path, dtype=np.uint32, mode="r", offset=header_bytes, shape=(samples, antennas))
    step = max(1, (8 << 20) // (PAYLOAD_BYTES * antennas))
    payload = first // TIMES
    while payload * TIMES < first + samples:
        end = min(payload + step, (first + samples + TIMES - 1) // TIMES)
        expected = sent(pool, (payload, end), antennas)
        low, high = max(first, payload * TIMES), min(first + samples, end * TIMES)
        if not np.array_equal(file[low - first:high - first], expected[low - payload * TIMES:high - payload * TIMES]):
            return f"samples {low} to {high} of the stream are others"
        payload = end
    return None
