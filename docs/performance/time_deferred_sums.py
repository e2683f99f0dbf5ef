#!/usr/bin/env python3
"""Times variants of the correlator's kernel with deferred accumulators (wgmma_deferred.cuda.kernel), in turns.

    time_deferred_sums.py [--seconds S] [--sizes 64x480,1024x48] VARIANT ...

VARIANT is NAME[:FOLDER[:DEFINITIONS[:BYTES]]]: kernel files in FOLDER take the place of the tree's,
DEFINITIONS (STAGES=5,...) those of the plan, BYTES of shared memory are had beside the stages. Each
variant's sums of three launches are compared with exact ones before it is timed; what is wrong is left
out. A turn times all variants in another order; medians of the turns are printed. A compute capability
of 9.0, torch and NVIDIA's cuda-bindings are needed.
"""
import argparse
import ctypes
import math
import os
import random
import re

import torch
from cuda.bindings import driver, nvrtc

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tautline")
STAGE_BYTES, ITEM_INTS, SAMPLES = 32768, 32768, 3072


def checked(result):
    if result[0].value != 0:
        raise RuntimeError(str(result[0]))
    return result[1] if len(result) == 2 else result[1:]


def kernel_text(name, folder):
    places = [os.path.join(folder, os.path.basename(name))] if folder else []
    places += [os.path.join(TREE, part, name) for part in ("stages", "jit/kernels")]
    return open(next(p for p in places if os.path.exists(p))).read()


def with_includes(name, folder):
    lines = []
    for line in kernel_text(name, folder).split("\n"):
        included = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        lines.append(with_includes(included.group(1), folder) if included else line)
    return "\n".join(lines) + "\n"


def build(name, entry, folder, definitions, local_bytes):
    text = "".join("#define %s\n" % d.replace("=", " ") for d in definitions)
    text += with_includes("dialect_cuda.kernel", None) + with_includes(name, folder)
    program = checked(nvrtc.nvrtcCreateProgram(text.encode(), name.encode(), 0, [], []))
    options = [b"--gpu-architecture=sm_90a", b"--std=c++17"]
    if nvrtc.nvrtcCompileProgram(program, len(options), options)[0].value != 0:
        log = b" " * checked(nvrtc.nvrtcGetProgramLogSize(program))
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(log.decode())
    binary = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
    nvrtc.nvrtcGetCUBIN(program, binary)
    module = checked(driver.cuModuleLoadData(binary))
    function = checked(driver.cuModuleGetFunction(module, entry.encode()))
    if local_bytes:
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        checked(driver.cuFuncSetAttribute(function, attribute, local_bytes))
    return function, local_bytes


def schedule(channels, inputs, groups, pairs, end_pairs=8):
    """schedule_tiles of gpu/tensor.cpp for deferred accumulators: tiles of a channel, items, whole, parts, turn."""
    blocks = (inputs + 127) // 128
    of_channel = blocks * (blocks + 1) // 2
    tiles = channels * of_channel
    classes = math.gcd(groups, of_channel)
    met = [0] * classes
    index = rows = 0
    while index < of_channel:
        met[index % classes] += 1
        rows += 1
        index += rows + 1
    work = [of_channel // classes - 0.25 * m for m in met]
    turn = 0
    if max(work) * classes / sum(work) > 1.02:
        while turn + 1 < groups and math.gcd(groups + turn, of_channel) != 1:
            turn += 1
    left, parts = tiles % groups, 1
    time = lambda p: (left * p + groups - 1) // groups * (pairs / p + end_pairs)
    for p in range(2, pairs // 4 + 1):
        if left and time(p) < time(parts):
            parts = p
    whole = tiles - left if parts > 1 else tiles
    return of_channel, whole + (tiles - whole) * parts, whole, parts, turn


def tensor_map(x):
    channels, inputs, samples, _ = x.shape
    row = 2 * samples
    return checked(driver.cuTensorMapEncodeTiled(
        driver.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, x.data_ptr(),
        [driver.cuuint64_t(v) for v in (row, inputs, channels)],
        [driver.cuuint64_t(v) for v in (row, row * inputs)],
        [driver.cuuint32_t(v) for v in (128, 128, 1)], [driver.cuuint32_t(1)] * 3,
        driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B,
        driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))


class Arguments:
    def __init__(self, *values):
        self.kept, places = [], []
        for value in values:
            if isinstance(value, driver.CUtensorMap):
                memory = (ctypes.c_char * 192)()
                place = (ctypes.addressof(memory) + 63) // 64 * 64
                ctypes.memmove(place, value.getPtr(), 128)
            else:
                memory = (ctypes.c_uint64(value.data_ptr()) if torch.is_tensor(value)
                          else ctypes.c_uint32(value))
                place = ctypes.addressof(memory)
            self.kept.append(memory)
            places.append(place)
        self.places = (ctypes.c_void_p * len(places))(*places)


def launch(function, groups, threads, arguments):
    stream = torch.cuda.current_stream().cuda_stream
    checked(driver.cuLaunchKernel(function[0], groups, 1, 1, threads, 1, 1, function[1], stream,
                                  ctypes.addressof(arguments.places), 0))


class Variant:
    def __init__(self, text):
        parts = text.split(":") + ["", "", ""]
        self.name, folder = parts[0], parts[1]
        definitions = parts[2].split(",") if parts[2] else ["STAGES=5"]
        stages = int(re.search(r"STAGES=(\d+)", parts[2] or "STAGES=5").group(1))
        local = stages * STAGE_BYTES + 16 * stages + int(parts[3] or 0)
        self.add = build("correlate/gpu/hopper/wgmma_deferred.cuda.kernel", "correlate_deferred", folder, definitions, local)
        self.flush_text = kernel_text("correlate/gpu/hopper/flush_deferred.cuda.kernel", folder)
        self.flush = build("correlate/gpu/hopper/flush_deferred.cuda.kernel", "flush_deferred", folder, [], 0)

    def prepare(self, x, groups):
        channels, inputs, samples, _ = x.shape
        pairs = (2 * samples + 255) // 256
        of_channel, items, whole, parts, turn = schedule(channels, inputs, groups, pairs)
        self.groups = min(items, groups)
        self.deferred = torch.full((items * ITEM_INTS,), 77, dtype=torch.int32, device="cuda")
        self.of_im = torch.zeros(channels * inputs, dtype=torch.int32, device="cuda")
        self.calls = [Arguments(tensor_map(x), self.deferred, self.of_im, inputs, pairs, items, whole,
                                parts, turn, first) for first in (0, 1)]
        sums = torch.full((channels, inputs * (inputs + 1) // 2, 2), 5, dtype=torch.int64, device="cuda")
        for first in (1, 0, 0):
            self.run(first)
        flush = [self.deferred, self.of_im, inputs, of_channel, whole, parts, sums]
        if "replace" in self.flush_text:
            flush.append(0)
        launch(self.flush, channels * of_channel * 8, 256, Arguments(*flush))
        torch.cuda.synchronize()
        return right(sums, x)

    def run(self, first):
        launch(self.add, self.groups, 384, self.calls[first])

    def milliseconds(self, first, count):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(count):
            self.run(first)
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) / count


def right(sums, x):
    """Whether sums are 5 + three times the exact ones, in a few channels."""
    inputs = x.shape[1]
    i, j = torch.tril_indices(inputs, inputs, device="cuda")
    for c in {0, 1, x.shape[0] // 2, x.shape[0] - 1}:
        re, im = x[c].to(torch.float64).unbind(-1)
        for part, product in enumerate((re @ re.T + im @ im.T, im @ re.T - re @ im.T)):
            if not bool((sums[c, :, part] == 5 + 3 * product[i, j].long()).all()):
                return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("variants", nargs="+")
    parser.add_argument("--seconds", type=float, default=0.4, help="of each timing")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--sizes", default="64x480,256x240,576x120,1024x48",
                        help="dual-polarisation antennas x channels")
    options = parser.parse_args()
    torch.zeros(1, device="cuda")
    groups = torch.cuda.get_device_properties(0).multi_processor_count
    variants = [Variant(text) for text in options.variants]
    for size in options.sizes.split(","):
        antennas, channels = map(int, size.split("x"))
        x = torch.randint(-128, 128, (channels, 2 * antennas, SAMPLES, 2), dtype=torch.int8,
                          device="cuda")
        good = [v for v in variants if v.prepare(x, groups)]
        for variant in set(variants) - set(good):
            print(size, variant.name, "WRONG SUMS")
        times = {(v, first): [] for v in good for first in (0, 1)}
        for _ in range(options.turns):
            for variant in random.sample(good, len(good)):
                count = max(20, int(options.seconds * 1e3 / variant.milliseconds(0, 20)))
                times[variant, 0].append(variant.milliseconds(0, count))
                times[variant, 1].append(variant.milliseconds(1, max(20, count // 3)))
        useful = 8 * antennas * (antennas + 1) / 2 * 4 * channels * SAMPLES
        for variant in good:
            row = sorted(times[variant, 0])
            first = sorted(times[variant, 1])
            rate = [useful / t[len(t) // 2] * 1e-9 for t in (row, first)]
            print("%-9s %-12s %.4f ms (%.4f to %.4f) %7.1f TOPS, first call %7.1f" % (
                size, variant.name, row[len(row) // 2], row[0], row[-1], *rate), flush=True)
        del x, good, times
        for variant in variants:
            variant.deferred = variant.calls = None
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
