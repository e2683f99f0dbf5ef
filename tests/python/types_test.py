"""The package's annotations hold, and so do those of the calls that users make."""
import pathlib
import subprocess
import sys
from typing import Any

import tautline as tl

USE = '''
import numpy as np
import tautline as tl

x = np.zeros((2, 4096), np.complex64)
vis: tl.Visibilities = tl.correlate(x, rate_hz=1e6, channels=64, integration_s=0.001, progress=lambda done, total: None)
power = np.abs(vis.baseline(1, 0)) ** 2
spectra = tl.channelize(x, 64, taps=4)
for block in tl.open("night.fil").blocks(1000):
    print(block.shape)
found = tl.search("night.fil", "0:500", threshold=7)
k: tl.Curves = tl.autocorrelate(np.zeros(100, np.uint8), bin_s=1e-6)
r: tl.FitResult = tl.fit(k, model="3d+triplet", fixed={"kappa": 5})
tau: float = r.medians["tau_d_s"]
m = tl.multipletau.autocorrelate(np.zeros(100), m=16, normalize=False)
try:
    tl.channelize(x, "many")  # type: ignore[arg-type]
except tl.ConfigError as error:
    print(error.field, error.value, error.limit, error.advice)
'''


def check(tmp_path: pathlib.Path, *arguments: Any) -> None:
    package = pathlib.Path(tl.__file__).parent
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *arguments],
        cwd=package.parent, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package(tmp_path: pathlib.Path) -> None:
    check(tmp_path, "-p", "tautline")


def test_its_users(tmp_path: pathlib.Path) -> None:
    (tmp_path / "use.py").write_text(USE)
    check(tmp_path, str(tmp_path / "use.py"))


def test_every_call_says_what_it_takes_and_gives() -> None:
    for name in tl.__all__:
        one = getattr(tl, name)
        if callable(one):
            assert one.__doc__ and "{fields}" not in one.__doc__, name
    for call in (tl.channelize, tl.correlate, tl.dedisperse, tl.search, tl.autocorrelate, tl.fit, tl.open):
        for part in ("Parameters", "Returns", "Raises"):
            assert part in call.__doc__, (call, part)
