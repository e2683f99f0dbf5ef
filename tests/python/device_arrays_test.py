"""What calls make of arrays of a GPU, before the library gets them: no GPU is needed. gpu_test.py runs them on one."""
import sys
import types
import weakref
from typing import Any

import numpy as np
import pytest
import tautline as tl
from tautline import _tautline
from tautline.stages import detect as detect_stage

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


def test_pieces_of_series_live_until_the_search_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[Any] = []

    class Plan:
        def __init__(self, *_: Any, **__: Any) -> None: ...

        def execute(self, series: Any) -> None:
            pieces.append(weakref.ref(series))

        def finish(self) -> None:
            assert len(pieces) == 4 and all(piece() is not None for piece in pieces)
            raise Called

    monkeypatch.setattr(detect_stage, "Plan", Plan)
    with pytest.raises(Called):
        tl.detect(GpuArray((2, 200_000), "float32"), sample_time_s=1e-3)


class CupyArray(GpuArray):
    pass


CupyArray.__module__ = "cupy"


@pytest.mark.parametrize("name", ["channelize", "dedisperse"])
def test_results_of_jax_go_to_no_array_of_another_library(name: str) -> None:
    with pytest.raises(tl.ConfigError) as caught:
        OTHERS[name](GpuArray((4000, 16), "float32"), out=CupyArray((2, 4000), "float32"))
    error = caught.value
    assert error.field.endswith("out") and "results of jax" in error.limit and error.advice == "leave it out"


class InMemory(CupyArray):
    """An array of cupy's at the addresses of one of the host's."""

    def __init__(self, array: Any) -> None:
        super().__init__(array.shape, array.dtype.name)
        self.__cuda_array_interface__ = array.__array_interface__


InMemory.__module__ = "cupy"


@pytest.mark.parametrize("name", ["channelize", "dedisperse"])
def test_results_go_to_no_memory_of_the_samples(name: str, rng: np.random.Generator) -> None:
    memory = np.zeros(1 << 20, np.float32)
    seen = set()
    for _ in range(100):
        first, begin = rng.integers(0, 900_000, 2)
        x = memory[first : first + 80_000].reshape(5000, 16)[:: rng.choice([1, 3, -1])]
        out = memory[begin : begin + 40_000].reshape(2, -1)[:, :: rng.choice([1, 2])]
        with pytest.raises((tl.ConfigError, tl.UnsupportedError)) as caught:  # there is no cuda:3
            OTHERS[name](InMemory(x), out=InMemory(out))
        refused = "out: memory of the samples, expected an array of its own" in str(caught.value)
        assert refused == np.may_share_memory(x, out)
        seen.add(refused)
    assert seen == {False, True}


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


class Kernels:
    """In the place of the module's plans on a GPU: what they were given."""

    given: list[Any] = []
    written = 30

    def __init__(self, *_: Any) -> None:
        Kernels.given = []

    def cuda(self) -> int:
        return 3

    def spectra(self, count: int) -> int:
        return count // 16

    def execute(self, *arguments: Any) -> int:
        *arrays, stream = arguments
        Kernels.given.append([one.__dlpack__() for one in arrays] + [stream])
        return Kernels.written

    def room(self) -> int:
        return Kernels.written

    def finish(self) -> None: ...

    def take(self) -> Any:
        return {"dm": np.zeros(0)}, {"missing": 0}

    def latency_samples(self) -> int:
        return 0

    def max_delay(self) -> int:
        return 70

    def floats(self) -> bool:
        return False


@pytest.fixture
def of_jax(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An array as jax's, on a machine with neither jax nor a GPU."""

    class Jax(GpuArray):
        device = "cuda:3 of jax"

        def __getitem__(self, key: Any) -> Any:
            return Jax(np.empty(self.shape, self.dtype)[key].shape, self.dtype.name)

    def empty(shape: tuple[int, ...], dtype: Any, device: Any) -> Any:
        assert device == Jax.device
        return Jax(shape, np.dtype(dtype).name)

    Jax.__module__ = "jaxlib._jax"
    module = types.ModuleType("jax.numpy")
    module.__dict__["empty"] = empty
    monkeypatch.setitem(sys.modules, "jax.numpy", module)
    for stage in ("Channelize", "Dedisperse", "Detect"):
        monkeypatch.setattr(_tautline, stage + "Plan", Kernels)
    return Jax


def test_arrays_of_jax_are_taken_on_the_default_stream_and_given_back(of_jax: Any) -> None:
    exported: Any = lambda *shape: ("exported", shape, 1)  # noqa: E731
    spectra = tl.channelize(of_jax((2, 640), "complex64"), 16)
    assert isinstance(spectra, of_jax) and spectra.shape == (2, 40, 16) and spectra.dtype == np.complex64
    assert Kernels.given == [[exported(2, 640), exported(2, 40, 16), 1]]
    one = tl.channelize(of_jax((640, 2), "int8"), 16, corner_turned=True)
    assert isinstance(one, of_jax) and one.shape == (16, 40)
    assert Kernels.given == [[exported(1, 640, 2), exported(16, 1, 40), 1]]
    series = tl.dedisperse(of_jax((200_000, 16), "uint8"), [0, 2, 4], frequencies=MHZ, sample_time_s=1e-3)
    assert isinstance(series, of_jax) and series.shape == (3, 199_930) and series.dtype == np.int32
    assert Kernels.given == [[exported(200_000, 16), exported(3, 199_930), 1]]
    assert tl.detect(of_jax((3, 100_000), "int32"), sample_time_s=1e-2).size == 0
    assert Kernels.given == [[exported(3, 65_536), 1], [exported(3, 34_464), 1]]


def test_arrays_of_jax_are_no_outputs(of_jax: Any) -> None:
    with pytest.raises(tl.ConfigError, match="out: an array of jaxlib.*never changed; leave it out"):
        tl.channelize(of_jax((2, 640), "complex64"), 16, out=of_jax((2, 40, 16), "complex64"))
    with pytest.raises(tl.ConfigError, match="out: an array of jaxlib.*never changed; leave it out"):
        tl.dedisperse(of_jax((200, 16), "uint8"), [0], frequencies=MHZ, sample_time_s=1e-3, out=of_jax((1, 130), "int32"))


def test_results_of_arrays_of_unknown_libraries_are_refused(of_jax: Any) -> None:
    of_jax.__module__ = "elsewhere"
    with pytest.raises(tl.ConfigError, match="an array of elsewhere, expected one of cupy, torch or jax"):
        tl.channelize(of_jax((2, 640), "complex64"), 16)
