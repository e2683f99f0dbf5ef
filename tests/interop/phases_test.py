"""A point source simulated at a known place comes back to that place.

For real and complex sampling and both sidebands: simulate, correlate without delays, with delays applied to the
voltages and with the fringes of visibilities rotated after correlation; write UVH5 (and Measurement Sets where this
build has them). pyuvdata phases each file to the source, and every baseline's phase, averaged over time and frequency,
must then be within 0.5 degree of zero. Closure phases of a strong source are within noise of zero whatever the delays.
"""
import itertools
import json
import pathlib
import subprocess
import sys

import interop_support

interop_support.offline()

import casacore.tables  # noqa: E402
import h5py  # noqa: E402
import numpy as np  # noqa: E402
from pyuvdata import UVData  # noqa: E402

MAX_PHASE_DEG = 0.5


def run(*arguments):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, arguments))}\nstatus {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def writes_measurement_sets(command, voltages, folder):
    """Whether this build has casacore; says so when it does not."""
    done = subprocess.run([command, "correlate", voltages, "--duration", "0.1", "--integration", "0.05", "-o",
                           folder / "probe.ms", "--overwrite"], capture_output=True, text=True)
    if done.returncode == 0:
        return True
    assert "casacore" in done.stderr, done.stderr
    print("skipped: Measurement Sets (this build is without casacore)")
    return False


def write_array(path, seed):
    rng = np.random.default_rng(seed)
    lines = ['name = "test array"', "latitude_deg = -26.7", "longitude_deg = 116.67", "altitude_m = 377.0"]
    for number, name in enumerate(["a", "b", "c", "d", "e"]):
        east, north, up = rng.uniform(-120, 120, 3) * [1, 1, 0.1]
        lines += ["[[antenna]]", f"number = {3 * number + 2}", f'name = "{name}"',
                  f"enu_m = [{east:.4f}, {north:.4f}, {up:.4f}]"]
    path.write_text("\n".join(lines) + "\n")


def write_scene(path, sideband, seed):
    rng = np.random.default_rng(seed + 1)
    path.write_text(f'''name = "one source"
start = "2026-03-20-14:00:{rng.integers(10, 59)}"
centre_hz = 154.88e6
bandwidth_hz = 1.28e6
sideband = "{sideband}"
noise_rms = 0.3
[[source]]
name = "beacon"
azimuth_deg = {rng.uniform(0, 360):.3f}
elevation_deg = {rng.uniform(35, 80):.3f}
flux = 1.0
''')


def check_phases(path, source, label, phase):
    uv = UVData()
    uv.read(str(path))
    lon, lat = np.radians(source["ra_deg"]), np.radians(source["dec_deg"])
    centre = next(iter(uv.phase_center_catalog.values()))
    if phase:
        # A Measurement Set knows no unprojected data: its fields are the zenith of each integration.
        assert centre["cat_type"] == "unprojected" or path.suffix == ".ms", centre
        uv.phase(lon=lon, lat=lat, cat_name="beacon", cat_type="sidereal", phase_frame="icrs")
    else:
        assert centre["cat_type"] == "sidereal" and centre["cat_name"] == "beacon", centre
        # To the same place: recomputes apparent coordinates and turns what they differ by.
        uv.phase(lon=lon, lat=lat, cat_name="beacon again", cat_type="sidereal", phase_frame="icrs")
    edge = uv.Nfreqs // 16 + 1
    worst = 0.0
    mean = {}
    for baseline in np.unique(uv.baseline_array[uv.ant_1_array != uv.ant_2_array]):
        chosen = uv.baseline_array == baseline
        for product in (0, 1):
            value = uv.data_array[chosen][:, edge:-edge, product].mean()
            angle = np.degrees(np.angle(value))
            worst = max(worst, abs(angle))
            mean[(tuple(uv.baseline_to_antnums(baseline)), product)] = value
    print(f"{label}: worst phase {worst:.3f} degrees")
    assert worst < MAX_PHASE_DEG, label
    return mean


def check_gains(path, channels, inputs):
    """The gains that were divided out are in the file, [channel][input], and bring a component's rms to 20 steps."""
    if path.suffix == ".ms":
        with casacore.tables.table(str(path), ack=False) as table:
            gains = table.getkeyword("tautline")["requantisation_gains"]
    else:
        with h5py.File(path) as file:
            gains = file["tautline/requantisation_gains"][:]
            power = file["Data/visdata"][:]
            auto = np.asarray(file["Header/ant_1_array"]) == np.asarray(file["Header/ant_2_array"])
            power = power["r"] if power.dtype.fields else power.real
            rms = np.sqrt(power[auto][:, :, 0].mean(axis=0) / 2)
            assert np.allclose(gains.mean(axis=1) * rms, 20, rtol=0.1), gains.mean(axis=1) * rms
    assert gains.shape == (channels, inputs), gains.shape


def check_closures(mean):
    antennas = sorted({a for (pair, _) in mean for a in pair})
    for a, b, c in itertools.combinations(antennas, 3):
        closure = mean[((a, b), 0)] * mean[((b, c), 0)] * np.conj(mean[((a, c), 0)])
        # Three independent phases; each is good to noise / (signal sqrt(samples)), far under this.
        assert abs(np.degrees(np.angle(closure))) < 0.5, (a, b, c, np.degrees(np.angle(closure)))


def main():
    options = interop_support.arguments(__doc__, needs_command=True)
    command = options.command
    with interop_support.scratch() as folder:
        folder = pathlib.Path(folder)
        array = folder / "array.toml"
        write_array(array, options.seed)
        for sampling, sideband in itertools.product(("complex", "real"), ("upper", "lower")):
            name = f"{sampling}-{sideband}"
            scene = folder / f"{name}.toml"
            write_scene(scene, sideband, options.seed)
            voltages = folder / f"{name}.dada"
            extra = ["--real"] if sampling == "real" else []
            run(command, "simulate", "voltages", "--array", array, "--scene", scene, "--duration", "2",
                "--seed", options.seed, "-o", voltages, *extra)
            truth = json.loads((folder / f"{name}.truth.json").read_text())
            source = truth["sources"][0]
            place = f"beacon={source['ra_deg']!r},{source['dec_deg']!r}"
            delays = folder / f"{name}.delays.toml"
            start = scene.read_text().split('start = "')[1].split('"')[0]
            run(command, "delays", "--array", array, "--name", "beacon", "--ra-deg", repr(source["ra_deg"]),
                "--dec-deg", repr(source["dec_deg"]), "--utc-start", start, "--duration", "10", "-o", delays)
            ways = {"no delays": [], "delayed voltages": ["--delays", delays],
                    "rotated fringes": ["--phase-center", place],
                    "rotated by the table": ["--delays", delays, "--phase-center", "beacon"]}
            endings = [".uvh5", ".ms"] if writes_measurement_sets(command, voltages, folder) else [".uvh5"]
            for (way, arguments), ending in itertools.product(ways.items(), endings):
                output = folder / (f"{name}-{way.replace(' ', '-')}" + ending)
                run(command, "correlate", voltages, "--array", array, "--channels", "64", "--integration", "0.5",
                    "-o", output, *arguments)
                check_gains(output, channels=64, inputs=10)
                mean = check_phases(output, source, f"{name}, {way}, {ending}", way == "no delays")
                check_closures(mean)
    return 0


if __name__ == "__main__":
    sys.exit(main())
