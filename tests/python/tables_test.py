"""Candidates as tables of pandas and astropy, in the environment of the interoperability tests, which has both."""
from support import run_with_interop

CODE = """
import astropy.table
import numpy as np
import pandas
import tautline as tl
seed = int(np.random.SeedSequence().entropy % 2**32)
print("seed", seed)
rng = np.random.default_rng(seed)
mhz = np.linspace(1500, 1200, 64)
x = rng.normal(100, 10, (30000, 64))
for at in (5000, 12000, 20000):
    for channel, late in enumerate(np.round(tl.DISPERSION_CONSTANT * 80 * (mhz**-2 - mhz.max() ** -2) / 256e-6).astype(int)):
        x[at + late : at + late + 8, channel] += 12
x = x.round().clip(0, 255).astype(np.uint8)
found = tl.search(x, "0:150", threshold=8, frequencies=mhz, sample_time_s=256e-6)
assert len(found) >= 3
for part in (found, found[found["snr"] > 10], found[:0]):
    frame, table = pandas.DataFrame(part), astropy.table.Table(part)
    assert tuple(frame.columns) == tuple(table.colnames) == part.dtype.names
    assert len(frame) == len(table) == len(part)
    for name in part.dtype.names:
        for column in (frame[name].to_numpy(), np.asarray(table[name])):
            assert column.dtype == part.dtype[name] and np.array_equal(column, part[name]), name
print("equal")
"""


def test_pandas_and_astropy() -> None:
    run_with_interop(CODE)
