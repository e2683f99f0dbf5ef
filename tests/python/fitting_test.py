"""fit: curves made of a model come back as its parameters."""
import pathlib
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import assert_progress_may_raise


def write_curve(path: pathlib.Path, lag_s: Any, g: Any) -> None:
    path.write_text("".join(f"{t:.12e}\t{y:.12e}\n" for t, y in zip(lag_s, g)))


def model_3d(lag_s: Any, n: Any, tau: Any, kappa: Any) -> Any:
    return 1 / n / (1 + lag_s / tau) / np.sqrt(1 + lag_s / tau / kappa**2)


def test_a_model_comes_back(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    n, tau = rng.uniform(1, 20), 10 ** rng.uniform(-5, -3)
    lag_s = np.geomspace(1e-7, 1, 120)
    write_curve(tmp_path / "g.csv", lag_s, model_3d(lag_s, n, tau, 5))
    r = tl.fit(tmp_path / "g.csv", model="3d", fixed={"kappa": 5}, waist_um=0.25)
    assert abs(r.parameters["n"][0] / n - 1) < 1e-6 and abs(r.parameters["tau_d_s"][0] / tau - 1) < 1e-6
    assert r.parameters["kappa"][0] == 5 and r.errors["kappa"][0] == 0
    assert abs(r.d_um2_per_s[0] * 4 * tau / 0.25**2 - 1) < 1e-6 and abs(r.g0[0] * n - 1) < 1e-6
    assert np.abs(r.g(lag_s)[0] - model_3d(lag_s, n, tau, 5)).max() < 1e-6
    assert r.g().shape == (1, len(r.lag_s)) and r.model == "3d"
    r.write(tmp_path / "f.csv")
    assert "tau_d_s" in (tmp_path / "f.csv").read_text()
    with pytest.raises(FileExistsError):
        r.write(tmp_path / "f.csv")


def test_a_dark_state_comes_back(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    lag_s = np.geomspace(1e-8, 1, 160)
    n, tau, fraction, tau_t = rng.uniform(1, 20), 10 ** rng.uniform(-4, -3), rng.uniform(0.1, 0.4), 10 ** rng.uniform(-6.5, -5.5)
    dark = 1 + fraction / (1 - fraction) * np.exp(-lag_s / tau_t)
    write_curve(tmp_path / "g.csv", lag_s, model_3d(lag_s, n, tau, 5) * dark)
    r = tl.fit(tmp_path / "g.csv", model="3d+triplet", fixed={"kappa": 5})
    assert r.model == "3d+triplet"
    for name, value in (("n", n), ("tau_d_s", tau), ("triplet", fraction), ("tau_t_s", tau_t)):
        assert abs(r.parameters[name][0] / value - 1) < 1e-4, name


def test_curves_of_counts_are_taken(rng: np.random.Generator) -> None:
    # Bursts of exponential length: a correlation that decays.
    rate = np.repeat(rng.exponential(1, 4000), rng.geometric(0.02, 4000))[:100000]
    k = tl.autocorrelate(rng.poisson(rate), bin_s=1e-6)
    r = tl.fit(k, model="3d", fixed={"kappa": 5}, bounds={"tau_d_s": (1e-8, 1)})
    assert 1e-6 < r.parameters["tau_d_s"][0] < 1e-3 and len(r.status) == 1 and "of 1 curves" in repr(r)


@pytest.mark.parametrize(
    "arguments, field",
    [
        ({"model": "4d"}, "model"),
        ({"fixed": {"nu": 3}}, "fixed"),
        ({"bounds": {"n": (3, 2)}}, "bounds"),
        ({"speed": 1}, "speed"),
    ],
)
def test_bad_arguments_name_the_field(rng: np.random.Generator, arguments: Any, field: Any) -> None:
    k = tl.autocorrelate(rng.poisson(3, 3000), bin_s=1e-6, bins=8, levels=4)
    with pytest.raises(tl.ConfigError) as caught:
        tl.fit(k, **arguments)
    assert caught.value.field == field


def test_a_fit_repeats_that_counts_stopped(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    counts = rng.poisson(2.0, (200_000, 2)).astype(np.uint8)
    counts[120_000:, 1] = 0
    k = tl.autocorrelate(counts, bin_s=1e-4, bins=16, levels=6)
    assert k.facts["counts_stop"] and any("counts stop" in one for one in tl.fit(k, model="3d", fixed={"kappa": 5}).warnings)
    assert [one.startswith("counts stop") for one in tl.fit(k, model="3d", fixed={"kappa": 5}).status] == [False, True]
    good = tl.autocorrelate(counts[:100_000], bin_s=1e-4, bins=16, levels=6)
    assert not good.facts["counts_stop"] and not any("counts stop" in one for one in tl.fit(good, model="3d", fixed={"kappa": 5}).warnings)


def test_progress_is_told_and_may_raise(rng: np.random.Generator) -> None:
    k = tl.autocorrelate(rng.poisson(3, (20_000, 12)), bin_s=1e-6, bins=8, levels=4)
    seen: list[tuple[int, int]] = []
    r = tl.fit(k, fixed={"kappa": 5}, progress=lambda done, total: seen.append((done, total)))
    assert len(r.status) == 12 and seen and seen == sorted(seen) and seen[-1] == (12, 12)
    assert_progress_may_raise(lambda progress: tl.fit(k, fixed={"kappa": 5}, progress=progress))
