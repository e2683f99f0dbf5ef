"""Files that tests read."""
import numpy as np


def header(name, value):
    text = name.encode()
    kinds = {int: "<i4", float: "<f8"}
    return len(text).to_bytes(4, "little") + text + np.array(value, kinds[type(value)]).tobytes()


def write_filterbank(path, x, mhz, sample_time_s):
    """A sigproc file of [time, channel]."""
    with path.open("wb") as file:
        file.write(len(b"HEADER_START").to_bytes(4, "little") + b"HEADER_START")
        file.write(header("data_type", 1) + header("nchans", x.shape[1]) + header("nbits", 8 * x.itemsize))
        file.write(header("nifs", 1) + header("tsamp", sample_time_s) + header("tstart", 59000.0))
        file.write(header("fch1", float(mhz[0])) + header("foff", float(mhz[1] - mhz[0])))
        file.write(len(b"HEADER_END").to_bytes(4, "little") + b"HEADER_END")
        file.write(x.tobytes())


def write_dada(path, x, rate_hz):
    """[time, antenna, polarisation] of int8 pairs as a DADA file."""
    facts = {
        "HDR_VERSION": "1.0", "HDR_SIZE": 4096, "NBIT": 8, "NDIM": 2, "NANT": x.shape[1], "NPOL": x.shape[2], "NCHAN": 1,
        "TSAMP": 1e6 / rate_hz, "FREQ": 150.0, "BW": rate_hz / 1e6, "UTC_START": "2026-01-02-03:04:05", "ORDER": "TFAP",
        "OBS_OFFSET": 0, "TELESCOPE": "TEST", "INSTRUMENT": "test", "SOURCE": "noise",
    }
    text = "".join(f"{key} {value}\n" for key, value in facts.items())
    path.write_bytes(text.encode().ljust(4096, b"\0") + x.tobytes())
