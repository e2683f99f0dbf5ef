"""What `correlate` averages and leaves out, as pyuvdata reads it from UVH5 and Measurement Sets, against numpy.

Channels of two files with a gap between them, whose integrations end short at both ends, and MWA receivers of which one
loses samples, are correlated as they are and with --channel-range, --average-channels, --average-time and --autos-only.
"""
import pathlib
import subprocess
import sys
import warnings

import interop_support

interop_support.offline()

import numpy as np  # noqa: E402
from pyuvdata import UVData  # noqa: E402

RATE_HZ, CHANNELS, ANTENNAS = 96_000, 12, 3


def write_dada(path, rng, samples, offset_samples):
    sample_bytes = ANTENNAS * 2 * CHANNELS * 2
    header = "\n".join([
        "HDR_VERSION 1.0", "HDR_SIZE 4096", "TELESCOPE test", "INSTRUMENT test", "SOURCE noise",
        "UTC_START 2026-03-20-14:00:00", "PICOSECONDS 0", f"OBS_OFFSET {offset_samples * sample_bytes}",
        "FREQ 154.88", f"BW {RATE_HZ * CHANNELS / 1e6!r}", f"TSAMP {1e6 / RATE_HZ:.15g}", "NBIT 8", "NDIM 2", "NPOL 2",
        f"NANT {ANTENNAS}", f"NCHAN {CHANNELS}", "ORDER TFAP", ""])
    data = rng.integers(-100, 100, samples * sample_bytes, dtype=np.int8)
    path.write_bytes(header.encode().ljust(4096, b"\0") + data.tobytes())


def write_mwa(options, folder):
    scene = folder / "scene.toml"
    scene.write_text("""start = "2026-03-20-14:00:00"
centre_hz = 154.88e6
bandwidth_hz = 1.28e6
[[missing]]
start_s = 0.02
duration_s = 0.025
inputs = [16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]
""")
    subprocess.run([options.command, "--quiet", "simulate", "voltages", "--array",
                    options.source / "examples/demo/array.toml", "--scene", scene, "--duration", "0.075", "--format",
                    "mwa32t", "-o", folder / "mwa"], check=True)
    return [folder / f"mwa.{r}" for r in range(4)]


def correlate(options, inputs, output, status, *more):
    done = subprocess.run([options.command, "--quiet", "correlate", *inputs, "-o", output, *more], capture_output=True,
                          text=True)
    assert done.returncode == status, f"status {done.returncode}\n{done.stderr}"


def read(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Fields without tracking state no W, which pyuvdata finds odd where antennas differ in height.
        warnings.filterwarnings("ignore", "The uvw_array does not match the expected values")
        data = UVData()
        data.read(str(path), fix_autos=False, **({"ignore_single_chan": False} if path.suffix == ".ms" else {}))
    return data


def cube(uv, values):
    return values.reshape(-1, uv.Nbls, uv.Nfreqs, uv.Npols)


def groups_of(uv, times):
    """Slices of integrations that fall together: none runs across a gap."""
    middle, length = uv.time_array[::uv.Nbls], uv.integration_time[::uv.Nbls]
    gap = (middle[1:] - middle[:-1]) * 86400 - (length[1:] + length[:-1]) / 2 > 1e-3
    edges = [0, *(np.flatnonzero(gap) + 1), len(middle)]
    return [slice(k, min(k + times, end)) for begin, end in zip(edges, edges[1:]) for k in range(begin, end, times)]


def check(checks, plain, got, first, last, group, times, autos):
    rows = plain.ant_1_array[:plain.Nbls] == plain.ant_2_array[:plain.Nbls]
    rows = rows if autos else np.ones(plain.Nbls, bool)
    data, weights = (cube(plain, v)[:, rows, first:last + 1] for v in (plain.data_array, plain.nsample_array))
    middle, length = plain.time_array[::plain.Nbls], plain.integration_time[::plain.Nbls]
    wanted, fractions, middles, lengths = [], [], [], []
    for part in groups_of(plain, times):
        w = weights[part].reshape(-1, rows.sum(), (last + 1 - first) // group, group, plain.Npols)
        d = data[part].astype(complex).reshape(w.shape)
        sums, total = (w * d).sum(axis=(0, 3)), w.sum(axis=(0, 3))
        wanted.append(np.where(total > 0, sums / np.where(total > 0, total, 1), 0))
        fractions.append(total / (group * times))
        begin, end = middle[part][0] - length[part][0] / 172800, middle[part][-1] + length[part][-1] / 172800
        middles.append((begin + end) / 2)
        lengths.append(length[part].sum())
    fractions = np.array(fractions)
    checks.that(got.Ntimes == len(middles), f"{got.Ntimes} integrations, not {len(middles)}")
    if got.Ntimes != len(middles):
        return
    checks.same(got.ant_1_array[:got.Nbls], plain.ant_1_array[:plain.Nbls][rows], "first antennas")
    checks.same(got.ant_2_array[:got.Nbls], plain.ant_2_array[:plain.Nbls][rows], "second antennas")
    scale = np.abs(plain.data_array).max()
    checks.near(cube(got, got.data_array), wanted, 1e-6 * scale, "visibilities")
    if group == times == 1:
        checks.same(cube(got, got.data_array), data, "the bits of visibilities")
    checks.near(cube(got, got.nsample_array), fractions, 1e-6, "nsamples")
    checks.same(cube(got, got.flag_array), fractions == 0, "flags")
    checks.near(got.time_array[::got.Nbls], middles, 1e-9, "times")
    checks.near(got.integration_time[::got.Nbls], lengths, 1e-9, "integration times")
    centres = plain.freq_array[first:last + 1].reshape(-1, group).mean(axis=1)
    checks.near(got.freq_array, centres, 1e-6, "frequencies")
    checks.near(got.channel_width, np.full(len(centres), group * plain.channel_width[0]), 1e-6, "channel widths")


def check_pipeline(options, folder, checks, files, array):
    """The same fields in a pipeline's file give the same visibilities."""
    checks.where = "pipeline"
    integration_s = 500 / RATE_HZ
    correlate(options, files, folder / "command.uvh5", 0, "--array", array, "--integration", repr(integration_s),
              "--channel-range", "2:9", "--average-channels", "4", "--average-time", "3", "--autos-only")
    names = ", ".join(f'"{file}"' for file in files)
    (folder / "pipeline.toml").write_text(f"""[voltages]
type = "voltage_files"
files = [{names}]
[f]
type = "filter_bank"
inputs = "voltages"
[x]
type = "correlator"
inputs = "f"
integration_s = {integration_s!r}
array_path = "{array}"
channel_range = "2:9"
average_channels = 4
average_time = 3
autos_only = true
[visibilities]
type = "visibility_file"
inputs = "x"
path = "{folder / "pipeline.uvh5"}"
""")
    subprocess.run([options.command, "--quiet", "run", folder / "pipeline.toml"], check=True)
    wanted, got = read(folder / "command.uvh5"), read(folder / "pipeline.uvh5")
    for name in ("data_array", "nsample_array", "flag_array", "time_array", "integration_time", "freq_array",
                 "channel_width", "ant_1_array", "ant_2_array"):
        checks.same(getattr(got, name), getattr(wanted, name), name)


def main():
    options = interop_support.arguments(__doc__, needs_command=True)
    rng = np.random.default_rng(options.seed)
    checks = interop_support.Checks()
    with interop_support.scratch() as folder:
        folder = pathlib.Path(folder)
        array = folder / "array.toml"
        array.write_text("latitude_deg = -45.8\nlongitude_deg = 170.5\naltitude_m = 63.0\n" + "".join(
            f"[[antenna]]\nenu_m = [{10.0 * a * a}, {3.0 * a}, 0.0]\n" for a in range(ANTENNAS)))
        write_dada(folder / "a.dada", rng, 7043, 0)
        write_dada(folder / "b.dada", rng, 3011, 9000)
        inputs = {
            "channelized": ([folder / "a.dada", folder / "b.dada"], 0, CHANNELS,
                            ["--array", array, "--integration", repr(500 / RATE_HZ)]),
            "mwa": (write_mwa(options, folder), 3, 16,
                    ["--receivers", "--utc-start", "2026-03-20-14:00:00", "--array",
                     options.source / "examples/demo/array.toml", "--channels", "16", "--taps", "4", "--integration",
                     "0.01", "--keep-edge"])}
        for name, (files, status, channels, more) in inputs.items():
            correlate(options, files, folder / "plain.uvh5", status, "--overwrite", *more)
            plain = read(folder / "plain.uvh5")
            if name == "mwa":
                checks.that(plain.flag_array.any() and not plain.flag_array.all(), "some are flagged")
            for first, last, group, times, autos in [(0, channels - 1, 1, 1, True), (0, 0, 1, 1, False),
                                                     (channels - 1, channels - 1, 1, 2, False), (2, 8, 1, 1, False),
                                                     (3, 8, 3, 4, False), (0, channels - 1, channels, 3, True)]:
                checks.where = f"{name} {first}:{last} / {group}, {times} integrations, autos {autos}"
                chosen = ["--channel-range", f"{first}:{last}", "--average-channels", str(group), "--average-time",
                          str(times), *(["--autos-only"] if autos else [])]
                for ending in ("uvh5", "ms"):
                    output = folder / f"out.{ending}"
                    correlate(options, files, output, status, "--overwrite", *more, *chosen)
                    check(checks, plain, read(output), first, last, group, times, autos)
            for refused in (["--channel-range", f"3:{channels}"], ["--channel-range", "5:4"],
                            ["--channel-range", "0:5", "--average-channels", "4"], ["--average-channels", "5"],
                            ["--average-time", "0"]):
                output = folder / "refused.uvh5"
                done = subprocess.run([options.command, "--quiet", "correlate", *files, "-o", output, *more, *refused],
                                      capture_output=True, text=True)
                checks.that(done.returncode == 2 and refused[-2] in done.stderr and not output.exists(),
                            f"{refused}: status {done.returncode}, {done.stderr}")
        check_pipeline(options, folder, checks, inputs["channelized"][0], array)
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
