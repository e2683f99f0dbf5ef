"""search of series that are dedispersed already: their files say the trials."""
import pathlib
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import write_filterbank

DMS = np.arange(0, 100, 10.0)
SAMPLE_TIME_S = 1e-3
MHZ = 1500 - 10.0 * np.arange(32)


@pytest.fixture
def folder(rng: np.random.Generator, tmp_path: pathlib.Path) -> pathlib.Path:
    """Noise with a pulse of DM 20, and its series: x.npy, dat/x_DM*.dat, tim/x_DM*.tim."""
    x = rng.normal(100, 10, (20000, MHZ.size))
    for channel, late in enumerate(tl.DISPERSION_CONSTANT * 20 * (MHZ**-2 - MHZ[0] ** -2) / SAMPLE_TIME_S):
        x[9000 + round(late) : 9008 + round(late), channel] += 30
    write_filterbank(tmp_path / "x.fil", x.round().clip(0, 255).astype(np.uint8), MHZ, SAMPLE_TIME_S)
    p = tl.Pipeline()
    p.add("filterbank", "filterbank_files", files=[str(tmp_path / "x.fil")], fill_gaps=True)
    p.add("trials", "dedisperse", inputs="filterbank", dms__list=list(DMS))
    for form, path in (("npy", "x.npy"), ("dat", "dat"), ("tim", "tim")):
        (tmp_path / "dat").mkdir(exist_ok=True)
        (tmp_path / "tim").mkdir(exist_ok=True)
        p.add(form, "trial_files", inputs="trials", path=str(tmp_path / path), format=form)
    p.run()
    return tmp_path


def files_of(folder: pathlib.Path, form: str) -> Any:
    return folder / "x.npy" if form == "npy" else sorted((folder / form).glob(f"*.{form}"))


@pytest.mark.parametrize("form", ["npy", "dat", "tim"])
def test_every_format_is_searched_by_the_trials_that_it_has(folder: pathlib.Path, form: str) -> None:
    files = files_of(folder, form)
    found = tl.search(files, threshold=8)
    assert abs(found["dm"][0] - 20) < 1e-6 and found["dm_index"][0] == 2 and abs(found["sample"][0] - 9004) <= 4
    assert found.facts["trials"] == DMS.size
    if form != "npy":
        assert tl.search(folder / form, threshold=8).tobytes() == found.tobytes()
    opened = tl.open(files)
    assert opened.kind == "series" and tl.search(opened, threshold=8).tobytes() == found.tobytes()
    of_arrays = tl.detect(opened[:].T, opened.dms, sample_time_s=SAMPLE_TIME_S, threshold=8)
    assert of_arrays["dm"][0] == found["dm"][0] and abs(of_arrays["sample"][0] - found["sample"][0]) <= 4


@pytest.mark.parametrize("dms", ["0:40", [0.0, 4.0], 20])
def test_other_trials_of_series_are_refused(folder: pathlib.Path, dms: Any) -> None:
    for series in (folder / "x.npy", tl.open(folder / "x.npy")):
        with pytest.raises(tl.ConfigError) as caught:
            tl.search(series, dms)
        assert caught.value.field == "dms" and "x.npy" in caught.value.value and caught.value.advice == "leave it out"


def test_filterbanks_need_trials(folder: pathlib.Path) -> None:
    x: Any = np.ones((2000, MHZ.size), np.uint8)
    calls: list[Any] = [
        lambda: tl.search(folder / "x.fil"),
        lambda: tl.search(tl.open(folder / "x.fil"), threshold=7),
        lambda: tl.search(x, frequencies=MHZ, sample_time_s=SAMPLE_TIME_S),
    ]
    for call in calls:
        with pytest.raises(tl.ConfigError) as caught:
            call()
        assert caught.value.field == "dms" and caught.value.value == "none" and '"0:500"' in caught.value.limit


def test_arrays_of_series_are_sent_to_detect(folder: pathlib.Path) -> None:
    series = tl.dedisperse(folder / "x.fil", DMS)
    for dms in (None, DMS):
        with pytest.raises(tl.ConfigError, match=r"tautline\.detect"):
            tl.search(series, dms, frequencies=MHZ, sample_time_s=SAMPLE_TIME_S)
    opened: Any = tl.open(folder / "x.npy")
    with pytest.raises(tl.ConfigError, match=r"series: .*tautline\.search"):  # its axes are [time, trial]
        tl.detect(opened, sample_time_s=SAMPLE_TIME_S)
