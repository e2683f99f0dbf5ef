"""Pipelines: blocks are what the files of the same run hold; errors, stopping and leaving early."""
import pathlib
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import write_dada, write_dedispersion, write_filterbank

CORRELATE = """
[voltages]
type = "voltage_files"
files = ["{folder}/x.dada"]

[f]
type = "filter_bank"
inputs = "voltages"
channels = 16

[x]
type = "correlator"
inputs = "f"
integration_s = 0.01
"""


@pytest.fixture
def correlate(rng: np.random.Generator, tmp_path: pathlib.Path) -> Any:
    write_dada(tmp_path / "x.dada", rng.integers(-100, 100, (50000, 2, 1, 2)).astype(np.int8), 1e6)
    (tmp_path / "p.toml").write_text(CORRELATE.format(folder=tmp_path))
    return tmp_path


@pytest.fixture
def dedisperse(rng: np.random.Generator, tmp_path: pathlib.Path) -> Any:
    write_dedispersion(tmp_path, rng)
    return tmp_path


def test_blocks_of_what_no_node_takes(correlate: Any) -> None:
    blocks = list(tl.Pipeline(correlate / "p.toml"))
    vis = tl.correlate(correlate / "x.dada", channels=16, integration_s=0.01)
    assert [b.kind for b in blocks] == ["visibilities"] * len(vis.times)
    assert np.array_equal(np.stack([b.arrays["visibilities"] for b in blocks]), vis.data)
    assert np.array_equal(np.stack([b.arrays["counts"] for b in blocks]), vis.counts)
    assert blocks[0].start_utc.startswith("2026-01-02T03:04:05") and blocks[0].first == 0 and blocks[0].samples > 0


def test_fields_are_set(correlate: Any) -> None:
    pipeline = tl.Pipeline(correlate / "p.toml", set={"f.channels": 8, "x.integration_s": 0.02}, device="cpu")
    block = next(iter(pipeline))
    assert block.arrays["visibilities"].shape == (8, 3)


def test_blocks_of_a_node_while_files_are_written(dedisperse: Any) -> None:
    pipeline = tl.Pipeline(dedisperse / "p.toml")
    trials = np.concatenate([next(iter(b.arrays.values())) for b in pipeline.blocks("trials")], axis=1)
    assert np.array_equal(trials, np.load(dedisperse / "x.npy"))
    assert np.array_equal(trials, tl.dedisperse(dedisperse / "x.fil", "0:20:5"))
    assert pipeline.counters["filterbank.samples"] == 30000
    with pytest.raises(tl.Error):
        tl.Pipeline(dedisperse / "p.toml").run()  # the files are there
    assert tl.Pipeline(dedisperse / "p.toml", overwrite=True).run()["filterbank.samples"] == 30000


def test_a_loop_that_is_left_ends_the_run(dedisperse: Any, rng: np.random.Generator) -> None:
    write_filterbank(dedisperse / "x.fil", rng.integers(0, 255, (600000, 16)).astype(np.uint8), 1500 - 5.0 * np.arange(16), 1e-3)
    for _ in tl.Pipeline(dedisperse / "p.toml").blocks("trials"):
        break
    assert sorted(p.name for p in dedisperse.iterdir()) == ["p.toml", "x.fil"]
    blocks = tl.Pipeline(dedisperse / "p.toml").blocks("trials")
    next(blocks)
    with pytest.raises(RuntimeError):
        blocks.throw(RuntimeError("of the loop"))
    assert sorted(p.name for p in dedisperse.iterdir()) == ["p.toml", "x.fil"]


def test_progress(dedisperse: Any) -> None:
    seen = []
    tl.Pipeline(dedisperse / "p.toml").run(progress=lambda done, total: seen.append(done))
    assert seen and seen == sorted(seen) and seen[-1] <= 30000

    def stop(done: int, total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        tl.Pipeline(dedisperse / "p.toml", overwrite=True).run(progress=stop)


def test_errors_name_what_is_wrong(correlate: Any, dedisperse: Any) -> None:
    path = dedisperse / "p.toml"
    for call, error in (
        (lambda: tl.Pipeline(dedisperse / "absent.toml").run(), tl.InputOutputError),
        (lambda: tl.Pipeline(path, set={"trials.speed": 1}).run(), tl.ConfigError),
        (lambda: tl.Pipeline(path, set={"filterbank.files": str(dedisperse / "absent.fil")}).run(), tl.InputOutputError),
        (lambda: list(tl.Pipeline(path)), tl.ConfigError),
        (lambda: list(tl.Pipeline(path).blocks("series")), tl.ConfigError),
        (lambda: list(tl.Pipeline(path).blocks("trials", 7)), tl.ConfigError),
        (lambda: list(tl.Pipeline(path, device="abacus").blocks("trials")), tl.ConfigError),
    ):
        with pytest.raises(error) as caught:
            call()
        assert caught.value.field


def test_what_is_never_run_or_kept(correlate: Any) -> None:
    tl.Pipeline(correlate / "p.toml")
    blocks = iter(tl.Pipeline(correlate / "p.toml"))
    del blocks
    kept = iter(tl.Pipeline(correlate / "p.toml"))
    next(kept)
    del kept
    assert len(list(tl.Pipeline(correlate / "p.toml"))) > 1  # what was given up leaves nothing behind
