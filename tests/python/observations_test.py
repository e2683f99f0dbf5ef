"""Files with tables [[observation]]: a run for each, by the clock where they say so."""
import datetime
import os
import pathlib
import signal
import threading
import time
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import write_dedispersion, write_filterbank

OBSERVATIONS = """
[[observation]]
set.filterbank.duration_s = 10

[[observation]]
set.filterbank.start_s = 12
set.filterbank.duration_s = 8
set.trials."dms.range" = "0:10:5"
set.series.path = "{folder}/second.npy"
"""


@pytest.fixture
def folder(rng: np.random.Generator, tmp_path: pathlib.Path) -> pathlib.Path:
    write_dedispersion(tmp_path, rng, OBSERVATIONS)
    return tmp_path


def trials_of(blocks: Any) -> Any:
    return np.concatenate([next(iter(block.arrays.values())) for block in blocks], axis=1)


def expected(folder: pathlib.Path) -> list[Any]:
    path = folder / "x.fil"
    return [
        tl.dedisperse(path, "0:20:5", duration_s=10),
        tl.dedisperse(path, "0:10:5", start_s=12, duration_s=8),
    ]


def test_each_has_its_blocks_counters_and_files(folder: pathlib.Path) -> None:
    observations = tl.Pipeline(folder / "p.toml").observations()
    wanted = expected(folder)
    for one, series, samples in zip(observations, wanted, (10000, 8000), strict=True):
        blocks = list(one.blocks("trials"))
        assert np.array_equal(trials_of(blocks), series) and blocks[0].first == 0
        assert one.counters["filterbank.samples"] == samples
        assert one.observations() == [one] and "observation" in repr(one)
    for name, series in zip(("x-0001.npy", "second.npy"), wanted, strict=True):
        assert np.array_equal(np.load(folder / name), series)


def test_a_loop_and_a_run_take_all_of_them(folder: pathlib.Path) -> None:
    p = tl.Pipeline(folder / "p.toml")
    blocks = list(p.blocks("trials"))
    second = next(k for k, block in enumerate(blocks) if next(iter(block.arrays.values())).shape[0] == 3)
    for part, series in zip((blocks[:second], blocks[second:]), expected(folder), strict=True):
        assert np.array_equal(trials_of(part), series)
    assert p.counters["filterbank.samples"] == 18000
    with pytest.raises(tl.Error, match="x-0001.npy"):
        p.run()  # the files are there
    assert tl.Pipeline(folder / "p.toml", overwrite=True).run()["filterbank.samples"] == 18000


def test_all_are_checked_before_the_first_begins(folder: pathlib.Path) -> None:
    path = folder / "p.toml"
    good = path.read_text()
    for bad, field in (("set.trials.speed = 1", "set trials.speed"), ("duration_s = 5", "p.toml"), ("duration_s = -1", "p.toml")):
        path.write_text(good + f"\n[[observation]]\n{bad}\n")
        calls: list[Any] = [
            lambda: tl.Pipeline(path).run(),
            lambda: list(tl.Pipeline(path).blocks("trials")),
            lambda: tl.Pipeline(path).observations(),
        ]
        for call in calls:
            with pytest.raises(tl.Error) as caught:
                call()
            assert field in caught.value.field and "\n" not in str(caught.value)
    assert sorted(one.name for one in folder.iterdir()) == ["p.toml", "x.fil"]


def test_one_that_fails_leaves_those_before_it_and_lets_others_run(folder: pathlib.Path) -> None:
    class Picky(tl.Node):
        def process(self, block: tl.Block) -> Any:
            if block.arrays["trials"].shape[0] == 5:
                raise KeyError("of the node")

    p = tl.Pipeline(folder / "p.toml", set={"series.path": str(folder / "y.npy")})
    p.add("picky", Picky(), inputs="trials")
    with pytest.raises(KeyError, match="of the node"):
        p.run()
    ended = []
    for one in p.observations():
        try:
            ended.append(one.run()["filterbank.samples"])
        except KeyError:
            ended.append(0)
    assert ended == [0, 8000] and (folder / "second.npy").exists() and not (folder / "y-0001.npy").exists()


def test_a_loop_that_is_left_begins_no_other(folder: pathlib.Path, rng: np.random.Generator) -> None:
    write_filterbank(folder / "x.fil", rng.integers(0, 255, (600000, 16)).astype(np.uint8), 1500 - 5.0 * np.arange(16), 1e-3)
    p = tl.Pipeline(folder / "p.toml", set={"filterbank.duration_s": 100})
    (folder / "p.toml").write_text((folder / "p.toml").read_text().replace("set.filterbank.duration_s = 10\n", ""))
    for _ in p.blocks("trials"):
        break
    assert sorted(one.name for one in folder.iterdir()) == ["p.toml", "x.fil"]


class Ticks(tl.Node):
    """A live source: 0, 1, 2... at 1 kHz."""

    live = True

    def open(self, streams: list[tl.Stream]) -> Any:
        return tl.Stream("numbers", [tl.ArrayType("x", "float64", ("time",), (10,))], Fraction(1000), "2026-01-02-03:04:05")

    def start(self) -> None:
        self.at = 0

    def produce(self) -> Any:
        time.sleep(0.01)
        self.at += 10
        return {"x": np.arange(self.at - 10, self.at, dtype=float)}


def utc(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(time.time() + seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")


def live(folder: pathlib.Path, observations: str, ticks: Ticks | None = None) -> tl.Pipeline:
    (folder / "clock.toml").write_text(observations)
    p = tl.Pipeline(folder / "clock.toml")
    p.add("ticks", ticks or Ticks())
    return p


def test_live_ones_begin_and_end_by_the_clock(tmp_path: pathlib.Path) -> None:
    for by_time in (False, True):
        begun, ticks = time.time(), Ticks()
        clock = f'start = "{utc(2)}"\nstop = "{utc(7)}"' if by_time else "duration_s = 1"
        (one,) = live(tmp_path, f"[[observation]]\n{clock}\n", ticks).observations()
        blocks: list[tl.Block] = []
        for block in one:
            if not blocks:
                assert time.time() - begun > (1.99 if by_time else 0)
            blocks.append(block)
            time.sleep(0.02)  # so that blocks wait when the clock ends it
        assert time.time() - begun > (6.99 if by_time else 0.99)
        values = np.concatenate([block.arrays["x"] for block in blocks])
        assert np.array_equal(values, np.arange(ticks.at)) and ticks.at >= 10  # all that came
        assert one.counters == {}


def test_its_end_is_heard_while_a_source_waits_for_packets(folder: pathlib.Path) -> None:
    text = (folder / "p.toml").read_text().split("[[observation]]")[0]
    packets = f'type = "live_filterbank"\npath = "udp://127.0.0.1:0"\nheader = "{folder}/x.fil"\nwait_s = 100'
    text = text.replace(f'type = "filterbank_files"\nfiles = ["{folder}/x.fil"]', packets)
    (folder / "live.toml").write_text(f'{text}\n[[observation]]\nstop = "{utc(6)}"\n')
    begun = time.time()
    with pytest.raises(tl.Error, match="too little had come"):
        tl.Pipeline(folder / "live.toml").run()
    assert time.time() - begun < 60 and not (folder / "x.npy").exists()


def test_one_that_is_over_is_left_out_with_a_warning(tmp_path: pathlib.Path) -> None:
    p = live(tmp_path, f'[[observation]]\nstop = "{utc(-5)}"\n\n[[observation]]\nduration_s = 2\n')
    with pytest.warns(tl.DataWarning, match="observation 1 of 2 is left out: it ended at") as told:
        for block in p:
            assert len(block.arrays["x"]) > 0
            break
    assert len(told) == 1 and told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert p.observations()[0].run() == {}


def test_ctrl_c_ends_the_wait_for_a_start(tmp_path: pathlib.Path) -> None:
    p = live(tmp_path, f'[[observation]]\nstart = "{utc(3600)}"\n')
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        p.run()
    timer.join()
