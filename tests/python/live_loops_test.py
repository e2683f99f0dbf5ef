"""Loops over pipelines whose sources are live: what leaving them, and Ctrl-C, leaves behind."""
import os
import pathlib
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import write_filterbank

MHZ = 1500 - 5.0 * np.arange(16)


class Sender:
    """Writes a filterbank of 30 s into a named pipe for as long as anybody reads it."""

    def __init__(self, folder: pathlib.Path, rng: np.random.Generator) -> None:
        write_filterbank(folder / "x.fil", rng.integers(0, 255, (30000, 16)).astype(np.uint8), MHZ, 1e-3)
        self.sky = (folder / "x.fil").read_bytes()
        self.path = folder / "beam"
        os.mkfifo(self.path)
        self._thread = threading.Thread(target=self._send)

    def _send(self) -> None:
        with self.path.open("wb", buffering=0) as pipe:
            for at in range(0, len(self.sky), 1600):
                try:
                    pipe.write(self.sky[at : at + 1600])
                except BrokenPipeError:
                    return
                time.sleep(0.001 if at < len(self.sky) / 2 else 0.05)  # the whole takes longer than a test waits

    def __enter__(self) -> Any:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._thread.join()


def pipeline(folder: pathlib.Path) -> tl.Pipeline:
    p = tl.Pipeline(device="cpu")
    p.add("sky", "live_filterbank", path=folder / "beam", keep_constant=True, block_samples=500)
    p.add("trials", "dedisperse", inputs="sky", dms__range="0:10:5")
    p.add("series", "trial_files", inputs="trials", path=folder / "x.npy")
    return p


def assert_published(folder: pathlib.Path, at_least: int) -> None:
    """The beginning of the series, to the last time that had come."""
    written, whole = np.load(folder / "x.npy"), tl.dedisperse(folder / "x.fil", "0:10:5", keep_constant=True)
    assert at_least <= written.shape[1] < whole.shape[1] and np.array_equal(written, whole[:, : written.shape[1]])


def leave(p: tl.Pipeline, how: str) -> int:
    """The times that came before."""
    seen = 0
    for block in p.blocks("trials"):
        seen += block.samples
        if seen >= 1500:
            if how == "break":
                break
            if how == "Ctrl-C":
                signal.raise_signal(signal.SIGINT)
            raise RuntimeError("of the loop")
    return seen


@pytest.mark.parametrize("how", ["break", "error", "Ctrl-C"])
def test_what_had_come_is_written(how: str, tmp_path: pathlib.Path, rng: np.random.Generator) -> None:
    with Sender(tmp_path, rng):
        if how == "break":
            leave(pipeline(tmp_path), how)
        else:
            # The traceback is kept, as notebooks keep the last one.
            with pytest.raises(KeyboardInterrupt if how == "Ctrl-C" else RuntimeError) as kept:
                leave(pipeline(tmp_path), how)
            assert kept.value.__traceback__ is not None
        assert_published(tmp_path, 1500)


def test_ctrl_c_in_run_writes_what_had_come(tmp_path: pathlib.Path, rng: np.random.Generator) -> None:
    def interrupt(done: int, total: int) -> None:
        if done > 2000:
            signal.raise_signal(signal.SIGINT)

    with Sender(tmp_path, rng):
        with pytest.raises(KeyboardInterrupt):
            pipeline(tmp_path).run(progress=interrupt)
        assert_published(tmp_path, 1)


def test_ctrl_c_while_a_header_is_waited_for(tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "beam")
    for call in (lambda: pipeline(tmp_path).run(), lambda: list(pipeline(tmp_path).blocks("trials"))):
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            call()
        timer.join()
        assert time.monotonic() - begun < 30
        assert not (tmp_path / "x.npy").exists()
