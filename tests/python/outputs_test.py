"""Results of calls in arrays of the caller's: the same numbers, no new array, and a clear error for what cannot hold them."""
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import cannot_hold, torch_tensor

MHZ = np.linspace(1500, 1200, 16)
SKY: dict[str, Any] = {"frequencies": MHZ, "sample_time_s": 1e-3}

CALLS: dict[str, Any] = {
    "channelize": lambda x, **more: tl.channelize(x, 16, taps=2, **more),
    "channelize one input": lambda x, **more: tl.channelize(x[0], 16, taps=2, **more),
    "channelize turned": lambda x, **more: tl.channelize(x, 16, taps=2, corner_turned=True, **more),
    "channelize one input turned": lambda x, **more: tl.channelize(x[1], 16, taps=2, corner_turned=True, **more),
    "channelize ci8": lambda x, **more: tl.channelize(x, 16, taps=2, output="ci8", gains=20, **more),
    "channelize one input ci8": lambda x, **more: tl.channelize(x[2], 16, taps=2, output="ci8", gains=20, **more),
    "channelize ci4": lambda x, **more: tl.channelize(x, 16, taps=2, output="ci4", gains=1, **more),
    "channelize reference": lambda x, **more: tl.channelize(x[:, :999], 16, taps=2, device="reference", **more),
    "dedisperse": lambda x, **more: tl.dedisperse(x, [0, 2, 5], **SKY, **more),
    "dedisperse floats": lambda x, **more: tl.dedisperse(x.astype(np.float32), [0, 2], **SKY, **more),
    "dedisperse ft": lambda x, **more: tl.dedisperse(x.T, [0, 2], axes="ft", **SKY, **more),
    "dedisperse longer than a block": lambda x, **more: tl.dedisperse(np.tile(x, (9, 1)), [0, 2], **SKY, **more),
}
each_call = pytest.mark.parametrize("name", CALLS)


def samples_of(name: str, rng: np.random.Generator) -> Any:
    if name.startswith("channelize"):
        return (rng.standard_normal((3, 5000)) + 1j * rng.standard_normal((3, 5000))).astype(np.complex64)
    return rng.integers(0, 200, (4000, 16)).astype(np.uint8)


@each_call
def test_the_same_numbers_in_place(name: str, rng: np.random.Generator) -> None:
    x = samples_of(name, rng)
    expected = CALLS[name](x)
    assert expected.size > 0
    out = np.full(expected.shape, 77, expected.dtype)
    for _ in range(2):  # nothing is added to what was there
        assert CALLS[name](x, out=out) is out and out.tobytes() == expected.tobytes()
    wide = np.full((expected.shape[0] + 3, expected.shape[1] + 5, *expected.shape[2:]), 77, expected.dtype)
    part = wide[1:-2, 2:-3]
    assert CALLS[name](x, out=part) is part and part.tobytes() == expected.tobytes()
    part[...] = 77
    assert (wide == 77).all(), "it wrote beside the array"


@each_call
def test_tensors_of_torch(name: str, rng: np.random.Generator) -> None:
    x = samples_of(name, rng)
    expected = CALLS[name](x)
    memory = np.zeros(expected.shape, expected.dtype)
    tensor = torch_tensor(memory)
    assert CALLS[name](x, out=tensor) is tensor and memory.tobytes() == expected.tobytes()


@each_call
def test_what_cannot_hold_them_is_refused(name: str, rng: np.random.Generator) -> None:
    x = samples_of(name, rng)
    expected = CALLS[name](x)
    good = np.zeros(expected.shape, expected.dtype)
    raw = np.zeros(good.nbytes + 1, np.uint8)
    longer = np.zeros([n + 1 for n in good.shape], good.dtype)
    bad = cannot_hold(good) | {"too long": longer, "too short": longer[..., : good.shape[-1] - 1]}
    if good.itemsize >= 4:
        bad["misaligned"] = raw[1:].view(good.dtype).reshape(good.shape)
    for what, out in bad.items():
        with pytest.raises((tl.ConfigError, tl.UnsupportedError)) as caught:
            CALLS[name](x, out=out)
            pytest.fail(what)
        assert caught.value.field == "out" and "\n" not in str(caught.value), what
    assert not good.any() and not longer.any() and not bad["read only"].any() and not raw.any()
    assert CALLS[name](x, out=good).tobytes() == expected.tobytes()


def test_memory_of_the_samples_is_refused(rng: np.random.Generator) -> None:
    x = samples_of("channelize", rng)[0]
    memory = x.copy()
    spectra = tl.channelize(x, 16, taps=2).shape[0]
    for first in (0, 4, x.size - 16 * spectra):
        out = memory[first : first + 16 * spectra].reshape(spectra, 16)
        with pytest.raises(tl.ConfigError, match="out: memory of the samples"):
            tl.channelize(memory, 16, taps=2, out=out)
    assert np.array_equal(memory, x)
    half = np.zeros(2 * x.size, np.complex64)  # beside them is not in them
    half[: x.size] = x
    out = half[x.size : x.size + 16 * spectra].reshape(spectra, 16)
    tl.channelize(half[: x.size], 16, taps=2, out=out)
    assert np.array_equal(out, tl.channelize(x, 16, taps=2)) and np.array_equal(half[: x.size], x)


def test_plans_refuse_memory_of_the_samples() -> None:
    x = np.ones((1, 4000), np.float32)
    plan = tl.stages.channelize.Plan(16, 1, dtype="f32", max_samples=4000, taps=2, device="cpu")
    out = x.view(np.complex64).reshape(1, -1, 16)[:, : plan.spectra(4000)]
    with pytest.raises(tl.ConfigError, match="out: memory of the samples"):
        plan._execute(x, out)
    sky = np.ones((4000, 16), np.float32)
    bank = tl.stages.dedisperse.Plan(np.linspace(1500, 1200, 16), 1e-3, [0, 1], dtype="f32", max_samples=4000, device="cpu")
    with pytest.raises(tl.ConfigError, match="out: memory of the samples"):
        bank._execute(sky, sky.reshape(2, -1))


def test_empty_results(rng: np.random.Generator) -> None:
    x = samples_of("channelize", rng)[:, :20]
    out = np.zeros((3, 0, 16), np.complex64)
    assert tl.channelize(x, 16, taps=2, out=out) is out
    series = np.zeros((1, 0), np.int32)
    sky = samples_of("dedisperse", rng)[:3]
    assert tl.dedisperse(sky, [5000], out=series, **SKY) is series


def test_files_have_none() -> None:
    with pytest.raises(tl.ConfigError) as caught:
        tl.dedisperse("x.fil", [0], out=np.zeros((1, 5), np.int32))
    assert caught.value.field == "out"
