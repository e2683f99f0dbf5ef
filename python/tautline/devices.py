"""Arrays in the memory of GPUs: whose they are, their library's current stream, and new ones beside them."""

from __future__ import annotations

import importlib
import math
import sys
from typing import Any

import numpy as np

from .arguments import Fields, text
from .errors import ConfigError, UnsupportedError, out_of_memory, refuse, unsupported

_HOST = (1, 3)  # DLPack's numbers for the host's memory, and for its pinned memory
_CUDA = 2
_LIBRARIES = ("cupy", "torch")
_ADOPTED = "cupy.from_dlpack or torch.from_dlpack"
_COPIES = {"cupy": "x.get()", "torch": "x.cpu()"}  # of an array x, in the host's memory
_LARGE_BYTES = 1 << 30  # arrays from there on are held against the memory that is free
_LEGACY_STREAM = 1  # CUDA's name for the default stream


def cuda_of(x: Any, field: str) -> int | None:
    """The number of the CUDA device whose memory an array lies in; None: the host's."""
    if isinstance(x, np.ndarray):
        return None
    where = getattr(x, "__dlpack_device__", None)
    if where is None:
        if hasattr(x, "__cuda_array_interface__"):  # numba, pycuda
            found = f"an array of {_library(x)} in CUDA's memory"
            raise unsupported(field, found, "one of cupy or torch, or in the host's memory", "give cupy.asarray of it")
        return None
    kind, number = where()
    if kind in _HOST:
        return None
    if kind != _CUDA:
        found = "an array in a device's memory that is not CUDA's"
        raise unsupported(field, found, "the host's memory, or CUDA's", "copy it to the host first")
    return int(number)


def place_of(x: Any, field: str, device: str) -> str | None:
    """The device of a call that takes an array of a GPU: the one in whose memory it lies. None: no such array."""
    cuda = cuda_of(x, field)
    if cuda is None or not hasattr(x, "dtype") or not hasattr(x, "shape"):
        return None
    here = f"cuda:{cuda}"
    if device not in ("auto", here):
        raise refuse("device", device, f"auto or {here}, in whose memory {field} lies", "leave it out, or copy the array")
    return here


def unread_by_host(here: str, known: Fields, options: dict[str, Any], by_host: tuple[str, ...]) -> dict[str, Any]:
    """The options of a run over an array of a GPU; refuses those `by_host`, for which the host looks at the samples."""
    for field, value in known.texts(options).items():
        looks = value != "true" if field == "keep_constant" else field in by_host and value not in ("", "false", "0")
        if looks:
            found = f"{value} for an array of {here}"
            raise refuse(field, found, "an array in the host's memory, which looks at the samples", "leave it out, or copy it")
    return {**options, "keep_constant": True}


class Foreign:
    """An array of a GPU for plans, of a library whose current stream is not known (jax): work on it goes to CUDA's default
    stream, which waits for what makes the array. The array, and those made of it, live until that work is done.
    """

    def __init__(self, array: Any) -> None:
        self.array, self.shape, self.ndim, self.dtype = array, array.shape, array.ndim, array.dtype

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, number = self.array.__dlpack_device__()
        return int(kind), int(number)

    def __dlpack__(self, **_: Any) -> Any:
        return self.array.__dlpack__(stream=_LEGACY_STREAM)

    def __getitem__(self, key: Any) -> Foreign:
        return Foreign(self.array[key])


def for_plans(x: Any) -> Any:
    """An array of a GPU as plans take it."""
    return x if _library(x) in _LIBRARIES else Foreign(x)


def behind_its_stream(x: Any, field: str, here: str) -> tuple[Any, int]:
    """What the module takes as an array of a GPU, and the stream whose work it waits for."""
    if _library(x) in _LIBRARIES:
        return x, stream_for({field: x}, int(here.rsplit(":", 1)[-1]))
    return x.__dlpack__(stream=_LEGACY_STREAM), _LEGACY_STREAM  # jax's own stream is not known


def stream_for(arrays: dict[str, Any], cuda: int) -> int:
    """The stream that a plan's work goes to: 0 for arrays of the host, else the current one of the arrays' library.

    `cuda` is the plan's device, -1 for the host's.
    """
    first = next(iter(arrays.values()))
    if isinstance(first, np.ndarray) and all(isinstance(one, np.ndarray) for one in arrays.values()):
        return 0
    places = {field: cuda_of(x, field) for field, x in arrays.items()}
    if all(place is None for place in places.values()):
        return 0
    for field, place in places.items():
        if place is None or place != cuda:
            found = "an array in the host's memory" if place is None else f"an array of cuda:{place}"
            raise _elsewhere(field, found, cuda)
    if all(isinstance(one, Foreign) for one in arrays.values()):
        return _LEGACY_STREAM
    for field, x in arrays.items():
        _require_library(field, x)
    if _library(first) == "cupy":
        pointer = importlib.import_module("cupy").cuda.get_current_stream(cuda).ptr
    else:
        pointer = importlib.import_module("torch").cuda.current_stream(cuda).cuda_stream
    return int(pointer) or _LEGACY_STREAM


def on_a_cache_line(shape: tuple[int, ...], dtype: Any, make: str = "empty") -> np.ndarray[Any, Any]:
    """A new array of the host's. numpy's large arrays begin 16 bytes behind a cache line, which costs up to a sixth."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size >= _LARGE_BYTES:
        _require_free(size)
    memory = getattr(np, make)(size + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    return memory[begin : begin + size].view(dtype).reshape(shape)  # type: ignore[no-any-return]


def _require_free(size: int) -> None:
    """Refuses an array that the system would promise memory for, and then end the process."""
    free = _free_bytes()
    if size > free:
        found, limit = f"an array of {size / 1e9:.4g} GB", f"at most the {free / 1e9:.4g} GB that are free"
        raise out_of_memory("memory", found, limit, "take it in parts: read or blocks of a file, a plan of tautline.stages")


def _free_bytes() -> int:
    """Of the host's memory, as Linux says it; without limit where it does not."""
    try:
        with open("/proc/meminfo") as file:
            kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in file}
        return 1024 * (kilobytes["MemAvailable"] + kilobytes["SwapFree"])
    except (OSError, KeyError, ValueError, IndexError):
        return sys.maxsize


def array_beside(x: Any, shape: tuple[int, ...], dtype: type[Any], make: str = "empty") -> Any:
    """A new array of x's library, in the same memory; `make`: empty or zeros."""
    cuda = cuda_of(x, "samples")
    if cuda is None:
        return on_a_cache_line(shape, dtype, make)
    if isinstance(x, Foreign):
        if not _library(x.array).startswith("jax"):
            raise refuse("samples", f"an array of {_library(x.array)}", "one of cupy, torch or jax", f"give {_ADOPTED} of it")
        # Of jax nobody else holds it yet: what is written there before anybody sees it is its contents.
        return Foreign(getattr(importlib.import_module("jax.numpy"), make)(shape, dtype, device=x.array.device))
    _require_library("samples", x)
    module = importlib.import_module(_library(x))
    if _library(x) == "torch":
        return getattr(module, make)(shape, dtype=getattr(module, np.dtype(dtype).name), device=x.device)
    with module.cuda.Device(cuda):
        return getattr(module, make)(shape, dtype)


def require_output(out: Any, x: Any) -> None:
    """Refuses what results of `x` cannot be written to, but for its type and shape, which the module looks at."""
    if isinstance(out, np.ndarray):
        if not out.flags.writeable or not out.dtype.isnative:
            found = "an array in the other byte order" if out.flags.writeable else "an array that is read only"
            raise refuse("out", found, "one that can be written")
    elif not hasattr(out, "__dlpack__"):
        raise refuse("out", f"a {type(out).__name__}", "an array")
    elif _library(out).startswith("jax"):
        raise refuse("out", f"an array of {_library(out)}", "none: arrays of jax are never changed", "leave it out")
    elif isinstance(x, Foreign):
        raise refuse("out", f"an array of {_library(out)}", f"none: results of {_library(x.array)}'s arrays are {_library(x.array)}'s", "leave it out")
    here, there = cuda_of(x, "x"), cuda_of(out, "out")
    if here != there:
        memory = ["the host's memory" if one is None else f"the memory of cuda:{one}" for one in (there, here)]
        raise refuse("out", f"an array in {memory[0]}", f"one in {memory[1]}, as x")
    if here is not None and not isinstance(x, Foreign) and _shares_memory(out, x):
        raise refuse("out", "memory of the samples", "an array of its own")


def _shares_memory(a: Any, b: Any) -> bool:
    """Whether arrays of cupy or torch lie in the same bytes, which are read piece by piece while others are written."""
    described = [getattr(one, "__cuda_array_interface__", None) for one in (a, b)]
    bounds = [_byte_bounds(one) for one in described if one is not None]
    return len(bounds) == 2 and bounds[0][0] < bounds[1][1] and bounds[1][0] < bounds[0][1]


def _byte_bounds(described: dict[str, Any]) -> tuple[int, int]:
    """The addresses of an array's first byte, and behind its last one; of an empty array equal ones."""
    shape, size = described["shape"], np.dtype(described["typestr"]).itemsize
    low = high = described["data"][0]
    if 0 in shape:
        return low, low
    strides = described.get("strides") or [size * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    for extent, stride in zip(shape, strides, strict=True):
        low, high = low + min(0, (extent - 1) * stride), high + max(0, (extent - 1) * stride)
    return low, high + size


def no_host_array(x: Any, field: str, takers: tuple[str, ...]) -> UnsupportedError:
    """The error of a call that takes arrays of the host alone; `takers`: what takes those of a GPU, one after the other."""
    given = "it" if _library(x) in _LIBRARIES else f"{_ADOPTED} of it"
    advice = "copy it first" + (f" ({_COPIES[_library(x)]})" if _library(x) in _COPIES else "")
    if takers:
        advice += f", or give {given} to " + ", then to ".join(f"tautline.{taker}" for taker in takers)
    return unsupported(field, f"an array of cuda:{cuda_of(x, field)}", "one in the host's memory", advice)


def type_name(x: Any) -> str:
    """Of numpy: torch's have a prefix."""
    return str(getattr(x.dtype, "name", x.dtype)).rsplit(".", 1)[-1]


def _library(x: Any) -> str:
    names = [one.__module__.split(".", 1)[0] for one in type(x).__mro__]
    return next((name for name in names if name in _LIBRARIES), names[0])


def _require_library(field: str, x: Any) -> None:
    if _library(x) not in _LIBRARIES:
        wanted = "one of cupy or torch, whose current stream is known"
        raise refuse(field, f"an array of {_library(x)}", wanted, f"give {_ADOPTED} of it")


def _elsewhere(field: str, found: str, cuda: int) -> ConfigError:
    wanted = "one in the host's memory" if cuda < 0 else f"all arrays of cuda:{cuda}, or all in the host's memory"
    return refuse(field, found, wanted, "copy it, or make the plan for the device of the arrays")
