"""Visibilities as pyuvdata has them, in the environment of the interoperability tests, which has pyuvdata."""
import pathlib
import sys

import numpy as np
import pytest
import tautline as tl
from support import run_with_interop

CODE = """
import numpy as np
import tautline as tl
seed = int(np.random.SeedSequence().entropy % 2**32)
print("seed", seed)
rng = np.random.default_rng(seed)
x = (rng.standard_normal((4, 60000)) + 1j * rng.standard_normal((4, 60000))).astype(np.complex64)
vis = tl.correlate(x, rate_hz=1e6, centre_hz=150e6, channels=16, integration_s=0.02, start="2026-01-02-03:04:05", requantise="off")
uv = vis.to_uvdata()
assert uv.Nfreqs == 16 and uv.Ntimes == len(vis.times) == 3 and uv.Nants_data == 4
assert np.allclose(uv.freq_array, vis.frequencies) and np.allclose(np.unique(uv.time_array), vis.times, atol=1e-9)
for i in range(4):
    for j in range(i + 1):
        # ant_1 is j: pyuvdata's V12 = conj(x_1) x_2 is x_i conj(x_j).
        numbers = uv.telescope.antenna_numbers
        data = uv.get_data(numbers[j], numbers[i], uv.polarization_array[0])
        assert np.array_equal(data, vis.baseline(i, j)), (i, j)
print("equal")
"""

READ = """
import numpy as np
from pyuvdata import UVData
uv, expected = UVData.from_file({set!r}, run_check=False), np.load({data!r})
assert uv.Nfreqs == 16 and uv.Ntimes == len(expected) == 3 and uv.Nants_data == 4
for i in range(4):
    for j in range(i + 1):
        numbers = uv.telescope.antenna_numbers
        data = uv.get_data(numbers[j], numbers[i], uv.polarization_array[0])
        assert np.array_equal(data, expected[:, :, i * (i + 1) // 2 + j]), (i, j)
print("equal")
"""


def test_to_uvdata() -> None:
    run_with_interop(CODE)


def test_a_measurement_set_is_read_back(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    x = (rng.standard_normal((4, 60000)) + 1j * rng.standard_normal((4, 60000))).astype(np.complex64)
    vis = tl.correlate(x, rate_hz=1e6, centre_hz=150e6, channels=16, integration_s=0.02, requantise="off")
    try:
        vis.write(tmp_path / "v.ms")
    except tl.UnsupportedError as error:
        pytest.skip(str(error))  # this build is without casacore
    with pytest.raises(tl.InputOutputError):
        vis.write(tmp_path / "v.ms")
    vis.write(tmp_path / "v.ms", overwrite=True)
    np.save(tmp_path / "data.npy", vis.data)
    # In a process of its own: pyuvdata brings another casacore.
    run_with_interop(READ.format(set=str(tmp_path / "v.ms"), data=str(tmp_path / "data.npy")))


def test_without_pyuvdata_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyuvdata", None)
    vis = tl.correlate(np.ones((2, 9000), np.complex64), rate_hz=1e6, channels=16, integration_s=0.005)
    with pytest.raises(ImportError):
        vis.to_uvdata()
