"""Arguments as people write them: units, names of the command's options, misspelt names."""
import pathlib
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import tautline as tl
from tautline import correlation, fitting, photons, pulses
from tautline.arguments import Fields, megahertz, number, rational
from support import write_dada, write_filterbank

ROOT = pathlib.Path(__file__).resolve().parents[2]
MHZ = np.linspace(1500, 1200, 16)
CALLS: dict[str, Fields] = {
    "correlate": correlation._FIELDS,
    "search": pulses._SEARCH,
    "dedisperse": pulses._DEDISPERSE,
    "autocorrelate": photons._FIELDS,
    "fit": fitting._FIELDS,
}


@pytest.mark.parametrize(
    "field, text, value",
    [
        ("rate_hz", "1MHz", 1e6), ("rate_hz", "1.28MHz", 1.28e6), ("rate_hz", "800kHz", 8e5), ("rate_hz", "5Hz", 5),
        ("rate_hz", "2.5GHz", 2.5e9), ("bandwidth_hz", "-1MHz", -1e6), ("centre_hz", "0.15e3MHz", 1.5e8), ("rate_hz", "7", 7),
        ("reference_mhz", "1.4GHz", 1400), ("reference_mhz", "1400", 1400), ("reference_mhz", "900kHz", 0.9),
        ("bin_s", "1us", 1e-6), ("bin_s", "1µs", 1e-6), ("sample_time_s", "20ms", 0.02), ("tick_s", "4ps", 4e-12),
        ("rate_hz", "1.28 MHz", 1.28e6), ("bin_s", "10 us", 1e-5), ("duration_s", "5min", 300), ("start_s", "2h", 7200), ("bin_s", "0.5", 0.5),
    ],
)  # fmt: skip
def test_quantities_have_units(field: str, text: str, value: float) -> None:
    assert number(text, field) == value == number(value, field)
    if value > 0 and "min" not in text and "h" not in text:
        digits, unit = re.fullmatch(r"([-\d.e]+) ?(\D*)", text).groups()  # type: ignore[union-attr]
        scale = {"ps": -12, "us": -6, "µs": -6, "ms": -3, "kHz": 3, "MHz": 6, "GHz": 9}.get(unit, 0)
        if field.endswith("mhz") and unit:
            scale -= 6
        assert rational(text, field) == Fraction(digits) * Fraction(10) ** scale  # exactly


@pytest.mark.parametrize("field, text", [("rate_hz", "1ms"), ("bin_s", "1MHz"), ("rate_hz", "fast"), ("threshold", "7Hz"), ("bin_s", "")])
def test_other_units_are_refused(field: str, text: str) -> None:
    for read in (number, rational):
        with pytest.raises(tl.ConfigError, match=f"^{field}: '{text}', expected a number"):
            read(text, field)
    if field != "threshold":
        with pytest.raises(tl.ConfigError, match=r"or a text with its unit, as (1\.28MHz|20ms)"):
            number(text, field)


def test_calls_take_them(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    x = (rng.standard_normal((2, 20_000)) + 1j * rng.standard_normal((2, 20_000))).astype(np.complex64)
    plain = tl.correlate(x, rate_hz=1_000_000, centre_hz=150e6, channels=16, integration_s=0.01)
    units = tl.correlate(x, rate_hz="1MHz", centre_hz="150MHz", channels=16, integration_s="10ms")
    assert np.array_equal(plain.data, units.data) and np.array_equal(plain.frequencies, units.frequencies)
    np.save(tmp_path / "x.npy", x)
    for rate in ("1MHz", 10**6):
        assert np.array_equal(tl.correlate(tmp_path / "x.npy", rate_hz=rate, channels=16, integration_s=0.01).data, plain.data)
    assert tl.open(tmp_path / "x.npy", rate_hz="1MHz", centre_hz="150MHz").header["centre_hz"] == 150e6

    y = rng.integers(0, 200, (3000, 16)).astype(np.uint8)
    as_texts = [f"{one / 1000!r}GHz" for one in MHZ.tolist()]
    for call in (tl.dedisperse, tl.search):
        of_numbers = call(y, [0.0, 2.0], frequencies=MHZ, sample_time_s=1e-3)
        assert np.array_equal(of_numbers, call(y, [0.0, 2.0], frequencies=as_texts, sample_time_s="1ms"))
    series = tl.dedisperse(y, [0.0, 2.0], frequencies=MHZ, sample_time_s=1e-3)
    assert np.array_equal(
        tl.detect(series, sample_time_s="1ms", max_width_s="20ms"), tl.detect(series, sample_time_s=1e-3, max_width_s=0.02)
    )
    n = rng.poisson(3, 5000)
    assert np.array_equal(tl.autocorrelate(n, bin_s="1us").lag_s, tl.autocorrelate(n, bin_s=1e-6).lag_s)
    t = np.sort(rng.integers(0, 10**6, 5000))
    known: dict[str, Any] = {"bins": 8, "levels": 4}
    assert np.array_equal(
        tl.autocorrelate(tags=t, tick_s="1ns", bin_s="1us", **known).sums, tl.autocorrelate(tags=t, tick_s=1e-9, bin_s=1e-6, **known).sums
    )
    assert tl.nodes.voltages(x, rate_hz="1MHz").facts == tl.nodes.voltages(x, rate_hz=1e6).facts
    assert tl.nodes.counts(n, bin_s="1us").facts == {"bin_s": 1e-6}


def test_frequencies_that_look_like_other_units_get_a_hint(rng: np.random.Generator) -> None:
    x = rng.integers(0, 200, (600, 16)).astype(np.uint8)
    for call in (tl.dedisperse, tl.search, tl.nodes.filterbank):
        arguments: tuple[Any, ...] = () if call is tl.nodes.filterbank else ([0.0],)
        with pytest.raises(tl.ConfigError, match="frequencies: 1.5, expected MHz, the highest 10 or more; multiply those in GHz by 1000"):
            call(x, *arguments, frequencies=MHZ / 1000, sample_time_s=1e-3)
    assert megahertz(["5MHz", "4MHz"]) == [5, 4] and megahertz([85, 10.0, 8.0]) == [85, 10, 8]
    voltages = np.ones((2, 5000), np.complex64)
    with pytest.raises(tl.ConfigError, match="centre_hz: 150 Hz.*a number without a unit is hertz: 150MHz"):
        tl.correlate(voltages, rate_hz=1e6, centre_hz=150, channels=16)


@pytest.mark.parametrize(
    "call, typed, meant",
    [
        ("correlate", "requantize", "requantise"), ("correlate", "chanels", "channels"), ("correlate", "array", "array_path"),
        ("correlate", "center_hz", "centre_hz"), ("correlate", "integration", "integration_s"), ("correlate", "progres", "progress"),
        ("search", "tresholds", "threshold"), ("search", "ignorechan", "ignored_channels"), ("search", "sample_time", "sample_time_s"),
        ("search", "cutouts", "cutout_folder"), ("dedisperse", "zerodm", "zero_dm"),
        ("autocorrelate", "lags", "lag_scheme"), ("autocorrelate", "normalize", "normalization"), ("autocorrelate", "gate", "gate_s"),
        ("autocorrelate", "bin", "bin_s"), ("autocorrelate", "coarsen", "coarsening"), ("fit", "max_chi2", "highest_reduced_chi2"),
        ("fit", "modell", "model"),
    ],
)  # fmt: skip
def test_misspelt_arguments_are_told_the_nearest(call: str, typed: str, meant: str) -> None:
    given: dict[str, Any] = {
        "correlate": (np.ones((2, 1000), np.complex64), {"rate_hz": 1000}),
        "search": (np.ones((600, 16), np.uint8), {"dms": [0.0], "frequencies": MHZ, "sample_time_s": 1e-3}),
        "dedisperse": (np.ones((600, 16), np.uint8), {"dms": [0.0], "frequencies": MHZ, "sample_time_s": 1e-3}),
        "autocorrelate": (np.ones(1000, np.uint8), {"bin_s": 1}),
        "fit": ("curves.csv", {}),
    }
    x, known = given[call]
    with pytest.raises(tl.ConfigError) as caught:
        getattr(tl, call)(x, **known, **{typed: 1})
    assert str(caught.value) == (
        f"{typed}: no argument of this call, expected one that help(tautline.{call}) lists; did you mean {meant}"
    )


def test_other_calls_tell_the_nearest_too(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    write_dada(tmp_path / "x.dada", rng.integers(-9, 9, (3000, 2, 1, 2)).astype(np.int8), 1e6)
    with pytest.raises(tl.ConfigError, match="rate: no argument of this call, expected .*; did you mean rate_hz$"):
        tl.open(tmp_path / "x.dada", rate=5)
    p = tl.Pipeline()
    with pytest.raises(tl.ConfigError, match="did you mean filter_bank$"):
        p.add("f", "filter_bnk", inputs="v")
    with pytest.raises(tl.ConfigError, match=r"expected one that tautline.node_types\(\) lists; did you mean channels$"):
        p.add("f", "filter_bank", inputs="v", chanels=5)
    with pytest.raises(tl.ConfigError, match="mask: given for an array, expected one of .*; leave it out"):
        tl.dedisperse(np.ones((600, 16), np.uint8), [0.0], frequencies=MHZ, sample_time_s=1e-3, mask="x.mask")


def options_named_otherwise() -> list[tuple[str, str, str]]:
    """[(option, argument, calls)] where they differ by more than the unit at the argument's end."""
    page = (ROOT / "docs" / "guide" / "options.md").read_text()  # which a test of its own holds to the fields
    rows: dict[tuple[str, str], list[str]] = {}
    for call, fields in CALLS.items():
        arguments = {field: argument for argument, field in fields.arguments().items()}
        units = {name: unit.lower() for name, unit, *_ in fields._all}
        section = page.split(f"\n## {call}\n")[1].split("\n## ")[0]
        for names, field in re.findall(r"^\| ([^|]*) \|.*\| `([\w.]+)` \|$", section, re.M):
            for option in re.findall(r"`(--[\w-]+)`", names):
                plain, argument = option[2:].replace("-", "_"), arguments.get(field, "")
                assert fields.options().get(option[2:], "") == argument
                if argument not in ("", plain, f"{plain}_{units[field]}"):
                    rows.setdefault((option, argument), []).append(call)
    return sorted((option, argument, ", ".join(calls)) for (option, argument), calls in rows.items())


def test_the_guide_has_a_table_of_options_whose_arguments_are_named_otherwise() -> None:
    text = (ROOT / "docs" / "guide" / "python.md").read_text()
    table = re.findall(r"^\| `(--[\w-]+)` \| `(\w+)` \| ([\w, ]+) \|$", text, re.M)
    expected = options_named_otherwise()
    lines = "\n".join(f"| `{option}` | `{argument}` | {calls} |" for option, argument, calls in expected)
    assert len(expected) > 15 and table == expected, f"the table of docs/guide/python.md should be\n{lines}"


def test_files_say_their_frequencies_themselves(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    x = rng.integers(0, 200, (600, 4)).astype(np.uint8)
    write_filterbank(tmp_path / "x.fil", x, np.array([4.0, 3.5, 3.0, 2.5]), 1e-3)
    assert tl.dedisperse(tmp_path / "x.fil", [0.0]).shape == (1, 600)
