"""What the tests of packets send: the items of MeerKAT's heaps, and frames that baseband writes."""
import astropy.units as u
import spead2
import spead2.send
from astropy.time import Time
from baseband import vdif
from baseband.base.encoding import decoder_levels

TIMESTAMP, FENG_ID, CHANNEL, FENG_RAW = 0x1600, 0x4101, 0x4103, 0x4300
VDIF_BYTES = 8032


def heap_item(number, value):
    if isinstance(value, int):
        return spead2.Item(number, f"item_{number}", "", shape=(), format=[("u", 48)], value=value)
    return spead2.Item(number, f"item_{number}", "", shape=value.shape, dtype=value.dtype, value=value)


def heap_of(content):
    """A heap of {item: value}, the items in each of its packets."""
    heap = spead2.send.Heap(spead2.Flavour(4, 64, 48))
    heap.repeat_pointers = True
    for number, value in content.items():
        heap.add_item(heap_item(number, value))
    return heap


def write_vdif(path, frames, random):
    """Two threads of real samples of 2 bits, 32000 a frame, 64 MHz: their start, codes [time][thread] and frames."""
    start = Time("2026-11-23T14:00:00", scale="utc")
    codes = random.integers(0, 4, (frames * 32000, 2))
    header = vdif.VDIFHeader.fromvalues(edv=0, bps=2, complex_data=False, nchan=1, station=0, thread_id=0,
                                        samples_per_frame=32000, time=start, frame_nr=0, frame_length=1004)
    with vdif.open(str(path), "ws", header0=header, nthread=2, sample_rate=64 * u.MHz, squeeze=False) as file:
        file.write(decoder_levels[2][codes][:, :, None])
    data = path.read_bytes()
    return start, codes, [data[k:k + VDIF_BYTES] for k in range(0, len(data), VDIF_BYTES)]
