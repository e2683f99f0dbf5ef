"""channelize against the formula of docs/maths/conventions.md, with numpy."""
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import tautline as tl

TOLERANCE = 2e-5  # of the largest value: single precision over some thousand terms


def prototype(channels: Any, taps: Any, window: Any = True) -> Any:
    n = np.arange(channels * taps)
    h = np.sinc((n - (n.size - 1) / 2) / channels)
    if window:
        h = h * (0.5 - 0.5 * np.cos(2 * np.pi * (n + 0.5) / n.size))
    return h / np.sqrt(np.sum(h**2))


def filter_bank(x: Any, channels: Any, h: Any, hop: Any = None) -> Any:
    """[input, time] complex: [input, spectrum, channel] in ascending order of frequency."""
    hop = hop or channels
    taps = h.size // channels
    spectra = (x.shape[1] - h.size) // hop + 1
    out = np.empty((x.shape[0], spectra, channels), complex)
    for s in range(spectra):
        frames = (x[:, s * hop : s * hop + h.size] * h[::-1]).reshape(x.shape[0], taps, channels).sum(1)
        out[:, s] = np.fft.fft(frames, axis=1)
    return np.fft.fftshift(out, axes=2)


def near(got: Any, expected: Any) -> None:
    assert got.shape == expected.shape
    assert np.abs(got - expected).max() <= TOLERANCE * np.abs(expected).max()


def noise(rng: np.random.Generator, shape: Any, dtype: str) -> Any:
    x = 30 * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))
    if np.dtype(dtype).kind == "c":
        return x.astype(dtype)
    return np.stack([x.real, x.imag], axis=-1).round().astype(dtype)


def complex_of(x: Any) -> Any:
    return x if x.dtype.kind == "c" else x[..., 0] + 1j * x[..., 1]


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "int8", "int16"])
@pytest.mark.parametrize("channels, taps", [(16, 1), (19, 3), (256, 8)])
def test_complex_voltages(rng: np.random.Generator, dtype: str, channels: Any, taps: Any) -> None:
    x = noise(rng, (3, channels * taps + 5 * channels + 3), dtype)
    y = tl.channelize(x, channels, taps=taps)
    assert y.dtype == np.complex64 and y.shape == (3, 6, channels)
    near(y, filter_bank(complex_of(x), channels, prototype(channels, taps)))


def test_real_voltages(rng: np.random.Generator) -> None:
    channels, taps = 32, 4
    x = rng.integers(-128, 128, (2, 2 * channels * 20)).astype(np.int8)
    expected = filter_bank(x.astype(complex), 2 * channels, prototype(2 * channels, taps))[:, :, channels:]
    near(tl.channelize(x, channels, taps=taps), expected)
    near(tl.channelize(x.astype(np.float32), channels, taps=taps), expected)


def test_one_input_has_no_axis_of_inputs(rng: np.random.Generator) -> None:
    x = noise(rng, (1, 4096), "complex64")
    assert np.array_equal(tl.channelize(x[0], 64), tl.channelize(x, 64)[0])
    turned = tl.channelize(x[0], 64, corner_turned=True)
    assert np.array_equal(turned.T, tl.channelize(x[0], 64))


def test_plain_transform_and_own_coefficients(rng: np.random.Generator) -> None:
    x = noise(rng, (2, 1000), "complex64")
    near(tl.channelize(x, 50, taps=1, window="rect"), filter_bank(x, 50, np.full(50, 50**-0.5)))
    h = rng.standard_normal(150).astype(np.float32)
    near(tl.channelize(x, 50, taps=3, coefficients=h), filter_bank(x, 50, h.astype(float)))


def test_oversampled(rng: np.random.Generator) -> None:
    x = noise(rng, (1, 2048), "complex64")
    y = tl.channelize(x, 64, taps=4, oversample="4/3")
    assert np.array_equal(y, tl.channelize(x, 64, taps=4, oversample=Fraction(4, 3)))
    expected = filter_bank(x, 64, prototype(64, 4), hop=48)
    near(np.abs(y), np.abs(expected))  # the phase of the moving origin is taken out


def test_rounded_to_eight_bits(rng: np.random.Generator) -> None:
    x = noise(rng, (3, 64 * 40), "complex64")
    gains = rng.uniform(0.1, 0.3, (64, 3))
    turned = tl.channelize(x, 64, corner_turned=True)
    rounded = tl.channelize(x, 64, output="ci8", gains=gains)
    assert rounded.dtype == np.int8 and rounded.shape == turned.shape + (2,)
    scaled = turned * gains[:, :, np.newaxis]
    assert np.abs(complex_of(rounded.astype(float)) - scaled).max() <= np.sqrt(0.5) + 1e-3
    with pytest.raises(tl.ConfigError, match="gains"):
        tl.channelize(x, 64, output="ci8")
    with pytest.raises(tl.ConfigError, match="gains"):
        tl.channelize(x, 64, output="ci8", gains=gains.T)


def test_any_strides_give_the_same(rng: np.random.Generator) -> None:
    wide = noise(rng, (6, 3000), "complex64")
    expected = tl.channelize(np.ascontiguousarray(wide[::2, ::-3]), 32)
    assert np.array_equal(tl.channelize(wide[::2, ::-3], 32), expected)
    assert np.array_equal(tl.channelize(np.asfortranarray(wide[::2, ::-3]), 32), expected)
    swapped = wide.astype(">c8")
    assert np.array_equal(tl.channelize(swapped[::2, ::-3], 32), expected)
    readonly = wide.copy()
    readonly.flags.writeable = False
    assert np.array_equal(tl.channelize(readonly, 32), tl.channelize(wide, 32))


def test_reference_and_host_agree(rng: np.random.Generator) -> None:
    x = noise(rng, (2, 4000), "int8")
    near(tl.channelize(x, 100, device="cpu"), tl.channelize(x, 100, device="reference"))


def test_arrays_longer_than_a_piece(rng: np.random.Generator) -> None:
    # tl.channelize works on 2^24 samples at a time.
    x = rng.integers(-128, 128, (1, 3 << 23), np.int8)
    told: list[tuple[int, int]] = []
    got = tl.channelize(x, 4096, taps=4, progress=lambda done, total: told.append((done, total)))
    plan = tl.stages.channelize.Plan(4096, dtype="i8", taps=4, max_samples=x.shape[1])
    assert np.array_equal(got, plan.execute(x)) and told[-1] == (x.shape[1], x.shape[1]) and told == sorted(told)
    one = tl.channelize(x, 4096, taps=4, output="ci8", gains=0.1)
    parts = np.stack([got.real, got.imag], -1).transpose(2, 0, 1, 3) * np.float32(0.1)
    assert np.abs(one - parts.clip(-127, 127)).max() <= 0.5 + 1e-3


@pytest.mark.parametrize("times", [63, 64, 1000, 3_000_000])
def test_results_begin_on_a_cache_line(rng: np.random.Generator, times: int) -> None:
    x = rng.integers(-99, 99, (2, times)).astype(np.int8)  # real: frames of 32
    for output in ("cf32", "ci8"):
        made = tl.channelize(x, 16, taps=2, output=output, gains=None if output == "cf32" else 0.1)
        assert (made.ctypes.data % 64 == 0 or made.size == 0) and made.flags.c_contiguous and made.flags.writeable
        assert made.shape[1 if output == "cf32" else 2] == max(0, times // 32 - 1)
