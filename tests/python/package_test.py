"""Importing, and how errors look."""
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import tautline as tl


def run_python(code: str) -> Any:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_import_prints_nothing_and_opens_no_device() -> None:
    # The drivers of GPUs are libraries that only a search for devices loads; OpenCL's are those that this machine lists.
    done = run_python(
        "import tautline, pathlib\n"
        "listed = [path.read_text().strip() for path in pathlib.Path('/etc/OpenCL/vendors').glob('*.icd')]\n"
        "drivers = [pathlib.Path(one).name.split('.so')[0] for one in listed if one]\n"
        "maps = open('/proc/self/maps').read()\n"
        "found = [one for one in ('libcuda', 'libnvrtc', *drivers) if one in maps]\n"
        "assert not found, found\n"
        "import threading, os\n"
        "assert len(os.listdir('/proc/self/task')) <= len(os.sched_getaffinity(0)) + 1\n"
    )
    assert done.stdout == "" and done.stderr == ""


def test_version_is_the_projects() -> None:
    root = pathlib.Path(__file__).resolve().parents[2]
    text = (root / "CMakeLists.txt").read_text()
    assert f"project(tautline VERSION {tl.__version__} " in text


def test_errors_carry_field_value_and_limit() -> None:
    with pytest.raises(tl.ConfigError) as caught:
        tl.channelize(np.zeros(4096, np.complex64), channels=1)
    error = caught.value
    assert isinstance(error, ValueError) and isinstance(error, tl.Error)
    assert error.field == "channels" and error.value == "1" and "65536" in error.limit.replace(",", "")
    assert error.field in str(error) and error.limit in str(error)


def test_every_kind_is_also_a_built_in_one() -> None:
    for own, other in (
        (tl.ConfigError, ValueError),
        (tl.FormatError, ValueError),
        (tl.InputOutputError, OSError),
        (tl.UnsupportedError, NotImplementedError),
        (tl.OutOfMemoryError, MemoryError),
        (tl.DeviceError, RuntimeError),
    ):
        assert issubclass(own, other) and issubclass(own, tl.Error)


def test_unknown_devices_are_refused() -> None:
    with pytest.raises(tl.ConfigError) as caught:
        tl.channelize(np.zeros(4096, np.complex64), channels=16, device="gpu7")
    assert caught.value.field == "device" and caught.value.value == "gpu7"
