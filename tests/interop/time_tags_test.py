"""Time tags of other programs: Photon-HDF5 as phconvert writes it, and Becker & Hickl's .spc as phconvert reads it.

The counts of `tautline inspect` must be those that went in, and the curves of the same photons the same, whichever file
they come from.
"""
import json
import pathlib
import subprocess

import h5py
import interop_support
import numpy as np

try:
    import phconvert
except ImportError as error:
    interop_support.skip(f"phconvert cannot be imported: {error}; run scripts/interop")

UNIT_S, MICRO_S = 12.5e-9, 12.5e-9 / 4096
# Of an SPC-150: 42 bytes, of which the first two tell the module.
SET_HEADER = (0x28 << 4).to_bytes(2, "little") + bytes(40)
SET_TEXT = (b"*IDENTIFICATION\n  ID : random photons\n  Title : none\n*END\n*SETUP\nSYS_PARA_BEGIN:\n"
            b"  #SP [SP_TAC_R,F,1.25e-008]\n  #SP [SP_TAC_G,I,1]\nSYS_PARA_END:\n*END\n")


def run(options, *arguments):
    done = subprocess.run([options.command, "--json", *map(str, arguments)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def write_spc(path, times, detectors, micro):
    words = [0x90000000 | 125]
    wraps = 0
    for time, detector, nano in zip(times, detectors, micro):
        missing = int(time) // 4096 - wraps
        wraps += missing
        if missing > 1:
            words.append(0xC0000000 | missing)
        overflow = 1 << 30 if missing == 1 else 0
        words.append((4095 - int(nano)) << 16 | int(detector) << 12 | int(time) % 4096 | overflow)
    np.array(words, dtype="<u4").tofile(path)


def main():
    options = interop_support.arguments(__doc__, needs_command=True)
    checks = interop_support.Checks()
    random = np.random.default_rng(options.seed)
    times = np.cumsum(random.geometric(1e-3, 20000)).astype(np.int64)
    detectors = random.integers(0, 2, len(times)).astype(np.uint8)
    micro = np.minimum(random.exponential(400, len(times)), 4095).astype(np.uint16)
    with interop_support.scratch() as name:
        folder = pathlib.Path(name)
        data = dict(description="random photons", photon_data=dict(
            timestamps=times, detectors=detectors, timestamps_specs=dict(timestamps_unit=UNIT_S),
            nanotimes=micro, nanotimes_specs=dict(tcspc_unit=MICRO_S, tcspc_num_bins=4096, tcspc_range=UNIT_S)))
        phconvert.hdf5.save_photon_hdf5(data, h5_fname=str(folder / "x.hdf5"), require_setup=False, warnings=False)
        write_spc(folder / "x.spc", times, detectors, micro)
        (folder / "x.set").write_bytes(SET_HEADER + SET_TEXT)
        curves = {}
        for file in ("x.hdf5", "x.spc"):
            checks.where = file
            found = run(options, "inspect", folder / file, "--tcspc", folder / "h.csv", "--overwrite")
            checks.that(found["photons"] == len(times), f"{found['photons']} photons")
            for one in found["detectors"]:
                count = int((detectors == one["detector"]).sum())
                checks.that(one["photons"] == count, f"detector {one['detector']}: {one['photons']}, expected {count}")
            checks.that(abs(found["time_unit_s"] / UNIT_S - 1) < 1e-12, f"a clock of {found['time_unit_s']} s")
            checks.that(abs(found["last_photon_s"] - times[-1] * UNIT_S) < 1e-9, f"the last at {found['last_photon_s']} s")
            histogram = np.loadtxt(folder / "h.csv", delimiter=",", comments="#", skiprows=3)
            for detector in (0, 1):
                expected = np.bincount(micro[detectors == detector], minlength=len(histogram))
                checks.that(np.array_equal(histogram[:, 1 + detector], expected), f"microtimes of detector {detector}")
            checks.that(np.allclose(histogram[:, 0], np.arange(len(histogram)) * MICRO_S, rtol=1e-8), "times of microtimes")
            run(options, "autocorrelate", folder / file, "-o", folder / "g.h5", "--overwrite", "--bin", "1us", "--pairs", "0x1",
                "--levels", 5)
            with h5py.File(folder / "g.h5") as h5:
                curves[file] = h5["sums"][:]
                a, b = (np.bincount(times[detectors == d] // 80, minlength=times[-1] // 80 + 1) for d in (0, 1))
                whole = (times[-1] + 1) // 80
                a, b = a[:whole], b[:whole]
                checks.that(h5["sums"][0, 3] == np.sum(a[:-3] * b[3:]), "the sum at lag 3")
        checks.where = "both"
        checks.that(np.array_equal(curves["x.hdf5"], curves["x.spc"]), "curves differ")
        checks.where = "phconvert's reader"
        read = phconvert.bhreader.load_spc(str(folder / "x.spc"), SPC_type="SPC-1XX")["photon_data"]
        for key, expected in (("timestamps", times), ("detectors", detectors), ("nanotimes", micro)):
            checks.that(np.array_equal(read[key], expected), f"{key} differ")
    checks.finish()


if __name__ == "__main__":
    main()
