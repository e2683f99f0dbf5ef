"""What is wrong with the data is a DataWarning at the line of the call, in the command's words; good data give none."""
import inspect
import json
import pathlib
import subprocess
import warnings
from typing import Any, Callable

import numpy as np
import numpy.typing as npt
import pytest
import tautline as tl
from support import Pass, write_dada, write_filterbank

MHZ = np.linspace(1500, 1200, 32)
KNOWN: dict[str, Any] = {"frequencies": MHZ, "sample_time_s": 1e-3}


def told(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What a call gives, and its warnings, which all are of the line that `call` is in."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    code = inspect.unwrap(call).__code__
    for one in caught:
        assert one.category is tl.DataWarning, one
        assert one.filename == __file__ and code.co_firstlineno <= one.lineno <= code.co_firstlineno + 3, one
    texts = [str(one.message) for one in caught]
    assert len(set(texts)) == len(texts)
    facts = getattr(result, "facts", {})
    assert facts.get("warnings", texts) == texts
    return result, texts


def one_with(texts: list[str], words: str) -> str:
    (found,) = [text for text in texts if words in text]
    return found


def voltages(rng: np.random.Generator, shape: Any) -> Any:
    x = 30 * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))
    return x.astype(np.complex64)


def sky(rng: np.random.Generator, times: int = 20_000) -> npt.NDArray[np.float32]:
    return rng.normal(100, 10, (times, MHZ.size)).astype(np.float32)


def test_good_data_give_none(rng: np.random.Generator) -> None:
    x = voltages(rng, (3, 40_000))
    assert told(lambda: tl.correlate(x, rate_hz="64kHz", channels=32))[1] == []
    assert told(lambda: tl.channelize(x, 32, output="ci8", gains=0.2))[1] == []
    y = sky(rng).clip(0, 255).astype(np.uint8)
    assert told(lambda: tl.search(y, [0.0, 1.0], threshold=30, **KNOWN))[1] == []
    series, texts = told(lambda: tl.dedisperse(y, [0.0, 1.0], **KNOWN))
    assert texts == [] and told(lambda: tl.detect(series, sample_time_s=1e-3))[1] == []
    n = rng.poisson(2.0, (50_000, 2)).astype(np.uint8)
    assert told(lambda: tl.autocorrelate(n, bin_s="10us", bins=16, levels=6))[1] == []


def test_voltages(rng: np.random.Generator) -> None:
    x = voltages(rng, (4, 100_000))
    x[2] = 0
    x[1, 5000:5007] = np.nan
    vis, texts = told(lambda: tl.correlate(x, rate_hz=64_000, channels=32))
    assert "input 2" in one_with(texts, "never change, taken for lost")
    assert one_with(texts, "not finite") == "7 samples were not finite (NaN or infinite): flagged as invalid"
    assert vis.facts["not_finite"] == 7 and vis.facts["empty_samples"] == 100_000


def device_that_compiles() -> str:
    for name in ("cuda:0", "opencl:0"):
        try:
            tl.correlate(np.ones((2, 4096), np.complex64), rate_hz=1e3, channels=16, keep_constant=True, device=name)
            return name
        except tl.Error:
            continue
    pytest.skip("no device of CUDA or OpenCL is here")


@pytest.mark.parametrize("device", ["cpu", "compiles"])
def test_constant_channels(rng: np.random.Generator, device: str) -> None:
    # On a GPU it is the host beside it that finds them.
    device = device_that_compiles() if device == "compiles" else device
    x = voltages(rng, (8, 3, 20_000))
    x[5, 1] = 3 + 1j
    _, texts = told(lambda: tl.correlate(x, rate_hz=1000, integration_s=5, device=device))
    assert "channel 5" in one_with(texts, "never change, flagged")


def test_clipped_spectra(rng: np.random.Generator) -> None:
    x = voltages(rng, (2, 40_000))
    _, texts = told(lambda: tl.channelize(x, 32, output="ci8", gains=5.0))
    assert "components of the spectra were clipped" in one_with(texts, "gains")


def test_filterbanks(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    x = sky(rng)
    x[:, 3] = 7
    x[100:105, 8] = np.inf
    write_filterbank(tmp_path / "x.fil", x, MHZ, 1e-3)
    found, of_array = told(lambda: tl.search(x, [0.0, 1.0], threshold=30, **KNOWN))
    assert one_with(of_array, "never changed").startswith("1 channel never changed, left out (`keep_constant`")
    assert found.facts["constant_channels"] == 1
    assert one_with(of_array, "not finite").startswith("5 values were not finite")
    _, of_file = told(lambda: tl.search(tmp_path / "x.fil", [0.0, 1.0], threshold=30))
    assert of_file == of_array
    assert told(lambda: tl.dedisperse(tmp_path / "x.fil", [0.0, 1.0]))[1] == of_array
    assert told(lambda: tl.dedisperse(x, [0.0], **KNOWN))[1] == ["5 values were not finite (NaN or infinite); zeros took their place"]
    series = sky(rng).T.copy()
    series[4, 7] = np.nan
    found, texts = told(lambda: tl.detect(series, sample_time_s=1e-3))
    assert found.facts["missing"] == 1 and "1 sample of the series is missing" in texts[0] and found.facts["warnings"] == texts


def test_a_filterbank_without_any_data() -> None:
    _, texts = told(lambda: tl.search(np.full((20_000, MHZ.size), 9, np.uint8), [0.0], **KNOWN))
    assert "`keep_constant` takes it for data" in one_with(texts, "no channel changes in any of the 20000 samples")


def test_counts_and_their_fits(rng: np.random.Generator) -> None:
    n = rng.poisson(2.0, (200_000, 2)).astype(np.uint8)
    n[120_000:, 1] = 0
    k, texts = told(lambda: tl.autocorrelate(n, bin_s=1e-4, bins=16, levels=6))
    assert texts and k.facts["counts_stop"]
    assert 79_000 < k.facts["empty_samples"] <= 80_000  # in whole steps
    r, texts = told(lambda: tl.fit(k, fixed={"kappa": 5}))
    assert one_with(texts, "counts stop") and texts == list(dict.fromkeys(r.warnings))


def test_damaged_files_in_the_commands_words(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.dada"
    write_dada(path, rng.integers(-100, 100, (30_000, 2, 1, 2)).astype(np.int8), 1e6)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 3)
    vis, texts = told(lambda: tl.correlate(path, channels=16, integration_s="10ms"))
    assert texts and vis.facts["damage"] and set(vis.facts["damage"]) <= set(texts)
    file_, of_opened = told(lambda: tl.open(path))
    assert of_opened and of_opened == list(dict.fromkeys(file_.header["damage"]))
    command = pathlib.Path(tl.__file__).parents[2] / "tautline"
    if not command.is_file():
        pytest.skip("the command is not beside the package")
    words: list[Any] = [command, "correlate", path, "-o", tmp_path / "x.uvh5", "--channels", "16", "--integration", "10ms"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 3, done
    for text in texts:
        assert text in done.stderr


def test_pipelines(rng: np.random.Generator) -> None:
    x = voltages(rng, (3, 100_000))
    x[2] = 0
    p = tl.Pipeline()
    p.add("voltages", tl.nodes.voltages(x, rate_hz="64 kHz"))
    p.add("f", "filter_bank", inputs="voltages", channels=32, requantise="off")
    p.add("end", Pass(), inputs="f")
    _, texts = told(lambda: list(p))
    assert "input 2" in one_with(texts, "never change, taken for lost")
    p.add("x", "correlator", inputs="end")
    p.add("out", type("Sink", (tl.Node,), {"process": lambda self, block: None})(), inputs="x")
    assert told(lambda: p.run())[1] == texts


def test_they_can_be_errors_or_silent(rng: np.random.Generator) -> None:
    x = voltages(rng, (2, 40_000))
    x[0, 9] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error", tl.DataWarning)
        with pytest.raises(tl.DataWarning, match="not finite"):
            tl.correlate(x, rate_hz=64_000, channels=32)
        warnings.simplefilter("ignore", tl.DataWarning)
        vis = tl.correlate(x, rate_hz=64_000, channels=32)
    assert one_with(vis.facts["warnings"], "not finite") and json.dumps(vis.facts)
    assert issubclass(tl.DataWarning, UserWarning)


def test_counts_with_more_sensors_than_times_may_be_transposed(rng: np.random.Generator) -> None:
    n = rng.poisson(2.0, (4, 200)).astype(np.uint8)
    assert told(lambda: tl.autocorrelate(n.T, bin_s="10us", bins=4, levels=1, segments=1))[1] == []
    texts = told(lambda: tl.autocorrelate(n, bin_s="10us", bins=2, levels=1, segments=1))[1]
    one_with(texts, "[sensor][time] has to be transposed")
