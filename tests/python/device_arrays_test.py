"""What calls make of arrays of a GPU, before the library gets them: no GPU is needed. gpu_test.py runs them on one."""
from typing import Any

import numpy as np
import pytest
import tautline as tl
from tautline import _tautline

MHZ = np.linspace(1500, 1200, 16)


class GpuArray:
    """An array in the memory of cuda:3, of a library whose stream is not known, as jax's."""

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        self.shape, self.ndim, self.dtype = shape, len(shape), np.dtype(dtype)

    def __dlpack_device__(self) -> Any:
        return (2, 3)

    def __dlpack__(self, *, stream: int) -> Any:
        return "exported", self.shape, stream

    def __getitem__(self, key: Any) -> Any:
        return GpuArray(np.empty(self.shape, self.dtype)[key].shape, self.dtype.name)


GpuArray.__module__ = "jaxlib.xla"


class Called(Exception):
    pass


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The arguments of the module's function when `call` has called it."""
    given: dict[str, Any] = {}

    def take(*arguments: Any) -> None:
        given["arguments"] = arguments
        raise Called

    for name in ("correlate", "search", "autocorrelate"):
        monkeypatch.setattr(_tautline, name, take)

    def arguments_of(call: Any) -> Any:
        with pytest.raises(Called):
            call()
        return given["arguments"]

    return arguments_of


def correlate(x: Any, **options: Any) -> Any:
    return tl.correlate(x, rate_hz=1000, **options)


def search(x: Any, **options: Any) -> Any:
    return tl.search(x, [1.0], frequencies=MHZ, sample_time_s=1e-3, **options)


def autocorrelate(x: Any, **options: Any) -> Any:
    return tl.autocorrelate(x, bin_s=1e-3, **options)


CALLS: dict[str, Any] = {"correlate": correlate, "search": search, "autocorrelate": autocorrelate}
GOOD = {
    "correlate": GpuArray((3, 4000), "complex64"),
    "search": GpuArray((4000, 16), "uint8"),
    "autocorrelate": GpuArray((4000, 16), "uint8"),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("options", [{}, {"device": "cuda:3"}, {"keep_constant": True}])
def test_the_device_is_the_arrays_and_the_host_does_not_look_at_it(name: str, options: Any, called: Any) -> None:
    arguments = called(lambda: CALLS[name](GOOD[name], **options))
    (exported,) = (one for one in arguments if isinstance(one, tuple))
    shape = (1, *GOOD[name].shape) if name == "correlate" else GOOD[name].shape
    assert exported == ("exported", shape, 1)  # CUDA's default stream
    assert "cuda:3" in arguments and arguments[arguments.index("cuda:3") + 1] == 1
    assert any(isinstance(one, dict) and one.get("keep_constant") == "true" for one in arguments)


@pytest.mark.parametrize("dtype, shape, axes, pairs", [
    ("complex64", (70,), (1, 1, 70), False), ("float32", (5, 70), (1, 5, 70), False),
    ("int8", (5, 70, 2), (1, 5, 70, 2), True), ("int16", (4, 5, 70, 2), (4, 5, 70, 2), True),
    ("int16", (4, 5, 70), (4, 5, 70), False),
])  # fmt: skip
def test_voltages_get_the_axes_that_are_left_out(dtype: str, shape: Any, axes: Any, pairs: bool, called: Any) -> None:
    _, samples, are_pairs, facts, *_ = called(lambda: correlate(GpuArray(shape, dtype)))
    assert samples == ("exported", axes, 1) and are_pairs == pairs
    host = called(lambda: correlate(np.ones(shape, dtype)))
    assert host[1].shape == axes and host[2] == pairs and host[3] == facts and host[-2] == 0


def test_counts_of_one_sensor(called: Any) -> None:
    assert called(lambda: autocorrelate(GpuArray((90,), "uint16")))[1] == ("exported", (90, 1), 1)


BY_HOST: dict[str, Any] = {
    "correlate": {"settle_s": 3, "follow_gains": True},
    "search": {"mask": "a.mask", "flag_channels": True, "iqrm": True, "inject": "every=1,dm=1:2,width=1ms:2ms,snr=9:10",
               "picture_folder": "p", "cutout_folder": "c"},
    "autocorrelate": {"bin_sensors": "2x2"},
}  # fmt: skip


@pytest.mark.parametrize("name, option", [(name, one) for name in CALLS for one in [*BY_HOST[name], "keep_constant"]])
def test_options_for_which_the_host_looks_at_samples_are_refused(name: str, option: str, called: Any) -> None:
    value = BY_HOST[name].get(option, False)
    with pytest.raises(tl.ConfigError) as caught:
        CALLS[name](GOOD[name], **{option: value})
    error = caught.value
    assert error.field.rsplit(".", 1)[-1] == option and error.value.endswith("for an array of cuda:3")
    assert "the host's memory" in error.limit and "copy" in error.advice
    called(lambda: CALLS[name](np.ones(GOOD[name].shape, GOOD[name].dtype), **{option: value}))
    if isinstance(value, bool) and option != "keep_constant":
        called(lambda: CALLS[name](GOOD[name], **{option: not value}))


OTHERS: dict[str, Any] = {
    "channelize": lambda x, **options: tl.channelize(x, 16, **options),
    "dedisperse": lambda x, **options: tl.dedisperse(x, [0, 2], frequencies=MHZ, sample_time_s=1e-3, **options),
    "detect": lambda x, **options: tl.detect(x, sample_time_s=1e-2, **options),
}


@pytest.mark.parametrize("name", [*CALLS, *OTHERS])
@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_another_device_is_refused(name: str, device: str) -> None:
    with pytest.raises(tl.ConfigError) as caught:
        {**CALLS, **OTHERS}[name](GpuArray((16, 16), "float32"), device=device)
    error = caught.value
    assert error.field == "device" and error.value == device and error.limit.startswith("auto or cuda:3")


@pytest.mark.parametrize("name, shape, dtype", [
    ("correlate", (3, 4000), "complex128"), ("correlate", (3, 4000), "uint8"), ("correlate", (1, 2, 3, 40), "float32"),
    ("search", (4000, 16), "float64"), ("search", (4000, 16), "int32"), ("search", (4000,), "uint8"),
    ("autocorrelate", (4000, 16), "int64"), ("autocorrelate", (4, 5, 6), "uint8"), ("autocorrelate", (0, 4), "uint8"),
])  # fmt: skip
def test_types_and_axes_are_not_converted(name: str, shape: Any, dtype: str, called: Any) -> None:
    with pytest.raises(tl.ConfigError) as caught:
        CALLS[name](GpuArray(shape, dtype))
    assert caught.value.field in ("x", "counts")


def test_channels_first_are_refused(called: Any) -> None:
    with pytest.raises(tl.ConfigError):
        search(GpuArray((16, 4000), "uint8"), axes="ft")


@pytest.mark.parametrize("name", CALLS)
def test_where_there_is_no_gpu(name: str) -> None:
    # A tuple is no array to the module, whose own error is the other.
    with pytest.raises((tl.Error, TypeError)):
        CALLS[name](GOOD[name])
