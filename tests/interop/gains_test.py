"""Gains that change on the way are in the files, with the integrations from which they hold, and pyuvdata reads these files
as it does others: visibilities are of the same voltages, whatever the gains."""
import pathlib
import subprocess
import sys

import interop_support

interop_support.offline()

import casacore.tables  # noqa: E402
import h5py  # noqa: E402
import numpy as np  # noqa: E402
from pyuvdata import UVData  # noqa: E402

INTEGRATIONS, CHANNELS = 10, 32


def run(*arguments):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, arguments))}\nstatus {done.returncode}\n{done.stdout}{done.stderr}")


def write_array(path):
    lines = ['name = "test array"', "latitude_deg = -26.7", "longitude_deg = 116.67", "altitude_m = 377.0"]
    for number in range(3):
        lines += ["[[antenna]]", f"number = {number}", f'name = "a{number}"', f"enu_m = [{40.0 * number}, {number ** 2}, 0.0]"]
    path.write_text("\n".join(lines) + "\n")


def write_scene(path):
    path.write_text('name = "noise"\nstart = "2026-03-20-14:00:00"\ncentre_hz = 154.88e6\nbandwidth_hz = 1.28e6\n'
                    '[[source]]\nname = "one"\nra_deg = 100.0\ndec_deg = -26.0\nflux = 0.5\n')


def changes_of(path):
    """[change][channel][input] gains and the integrations from which they hold."""
    if path.suffix == ".ms":
        with casacore.tables.table(str(path / "REQUANTISATION_GAINS"), ack=False) as table, \
                casacore.tables.table(str(path), ack=False) as main:
            times = np.unique(main.getcol("TIME"))
            integrations = table.getcol("INTEGRATION")
            assert np.allclose(table.getcol("TIME"), times[integrations])
            return table.getcol("GAINS"), integrations, main.getkeyword("tautline")["requantisation_gains"]
    with h5py.File(path) as file:
        own = file["tautline"]
        return (own["requantisation_gain_changes"][:], own["requantisation_gain_integrations"][:],
                own["requantisation_gains"][:])


def main():
    options = interop_support.arguments(__doc__, needs_command=True)
    with interop_support.scratch() as folder:
        folder = pathlib.Path(folder)
        array, scene, voltages = folder / "array.toml", folder / "scene.toml", folder / "in.dada"
        write_array(array)
        write_scene(scene)
        run(options.command, "simulate", "voltages", "--array", array, "--scene", scene, "--duration", "1",
            "--seed", options.seed, "-o", voltages)
        given = {}
        for name, arguments in {"stay.uvh5": [], "follow.uvh5": ["--follow-gains"], "follow.ms": ["--follow-gains"],
                                "settle.uvh5": ["--settle", "0.25"]}.items():
            output = folder / name
            run(options.command, "correlate", voltages, "--array", array, "--channels", CHANNELS,
                "--integration", 1 / INTEGRATIONS, "-o", output, *arguments)
            uv = UVData()
            uv.read(str(output))
            assert uv.Ntimes == INTEGRATIONS, uv.Ntimes
            given[name] = uv.data_array
            if name == "stay.uvh5":
                with h5py.File(output) as file:
                    assert "requantisation_gain_changes" not in file["tautline"]
                continue
            gains, integrations, first = changes_of(output)
            assert gains.shape[1:] == (CHANNELS, 6), gains.shape
            assert np.array_equal(gains[0], first)
            # The first integration's are measured over the spectra that the first gains were.
            expected = [0, 3] if name.startswith("settle") else [0, *range(2, INTEGRATIONS)]
            assert list(integrations) == expected, integrations
            # Of steady noise each is the first but for the scatter of 1,024 samples' power.
            assert np.allclose(gains / first, 1, atol=0.2)
            assert not np.array_equal(gains[1], first)
        for name in ("follow.uvh5", "settle.uvh5"):
            power = np.abs(given["stay.uvh5"]).max()
            assert np.allclose(given[name], given["stay.uvh5"], atol=0.01 * power), name
            assert not np.array_equal(given[name], given["stay.uvh5"]), name
        assert np.isclose(np.abs(given["follow.ms"]).max(), np.abs(given["follow.uvh5"]).max(), rtol=1e-6)
    return 0


if __name__ == "__main__":
    sys.exit(main())
