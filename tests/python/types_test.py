"""The package's annotations hold, and so do those of the calls that users make."""
import os
import pathlib
import subprocess
import sys

import pytest
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


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """What mypy found out about numpy and the package, for the next test."""
    return tmp_path_factory.mktemp("mypy")


def check(cache: pathlib.Path, *arguments: str) -> None:
    package, tests = pathlib.Path(tl.__file__).parent.parent, pathlib.Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), *arguments],
        cwd=package, env={**os.environ, "MYPYPATH": f"{package}:{tests}"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package(cache: pathlib.Path) -> None:
    check(cache, "-p", "tautline")


def test_the_stub_of_the_module_is_of_this_build(tmp_path: pathlib.Path) -> None:
    root = pathlib.Path(__file__).parents[2]
    script, made = root / "scripts" / "python-stub", tmp_path / "_tautline.pyi"
    subprocess.run([sys.executable, str(script), str(made)], check=True)
    assert made.read_text() == (root / "python" / "tautline" / "_tautline.pyi").read_text(), f"run {script}"


def test_its_tests(cache: pathlib.Path) -> None:
    tests = sorted(pathlib.Path(__file__).parent.glob("*_test.py"))
    assert len(tests) > 10
    check(cache, *(str(path) for path in tests))


def test_its_users(cache: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "use.py").write_text(USE)
    check(cache, str(tmp_path / "use.py"))


def test_every_call_says_what_it_takes_and_gives() -> None:
    for name in tl.__all__:
        one = getattr(tl, name)
        if callable(one):
            assert one.__doc__ and "{fields}" not in one.__doc__, name
    for call in (tl.channelize, tl.correlate, tl.dedisperse, tl.detect, tl.search, tl.autocorrelate, tl.fit, tl.open):
        for part in ("Parameters", "Returns", "Raises"):
            assert part in (call.__doc__ or ""), (call, part)


def test_the_arguments_of_plans_are_those_of_their_stages() -> None:
    stages = tl.stages
    for plan, names in (
        (stages.channelize.Plan, "inputs channels taps window cutoff lower_sideband max_samples"),
        (stages.correlate.Plan, "inputs channels max_samples"),
        (stages.dedisperse.Plan, "sample_time_s dms dm_constant zero_dm downsample max_samples"),
        (stages.autocorrelate.Plan, "sensors lag_scheme bins levels coarsening max_samples"),
        (stages.detect.Plan, "trials sample_time_s threshold max_width_s baseline_s noise noise_s time_samples dm_trials width_octaves max_samples"),
        (tl.detect, "sample_time_s threshold max_width_s baseline_s noise noise_s time_samples dm_trials width_octaves"),
    ):
        lines = [line.strip() for line in (plan.__doc__ or "").splitlines()]
        arguments = [line.split(" [")[0] for line in lines]
        for name in names.split():
            assert arguments.count(name) == 1, (plan, name)
        assert "{fields}" not in lines
    assert "taps of the polyphase filter; 1 to 4096; default 8." in (stages.channelize.Plan.__doc__ or "")
    # The call's default, which is not the stage's.
    assert "most times that one execute is given; 1 to 1099511627776; default 65536." in (stages.correlate.Plan.__doc__ or "")
    assert "frequency channels; 1 to 1099511627776." in (stages.correlate.Plan.__doc__ or "")
