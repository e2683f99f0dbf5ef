"""The list that `search -o C.your.csv` writes, read as your_candmaker.py of `your` reads it: each candidate that is a
simulated pulse stands in the middle of the chunk that `your` cuts out for it and dedisperses."""
import json
import subprocess

import interop_support

interop_support.offline()

import numpy as np  # noqa: E402
import pandas  # noqa: E402
from your.candidate import Candidate  # noqa: E402

COLUMNS = ["file", "snr", "stime", "width", "dm", "label", "chan_mask_path", "num_files"]
TSAMP_S, PULSES = 0.0005, 5


def main():
    options = interop_support.arguments(__doc__, needs_command=True)
    checks = interop_support.Checks()
    rng = np.random.default_rng(options.seed)

    def tautline(*words):
        subprocess.run([options.command, "--quiet", *map(str, words)], check=True)

    with interop_support.scratch() as folder:
        data, found = f"{folder}/x.fil", f"{folder}/c.your.csv"
        pulses = [word for k in range(PULSES) for word in (
            "--pulse", f"dm={rng.uniform(10, 100)},time={1 + 1.5 * k + rng.uniform(0, 0.2)},"
                       f"width={rng.uniform(0.001, 0.005)},snr={rng.uniform(30, 60)}")]
        tautline("simulate", "filterbank", "--nchans", 64, "--fch1", 1500, "--foff", -2, "--tsamp", TSAMP_S, "--duration",
                 10, "--seed", options.seed, *pulses, "-o", data)
        tautline("search", data, "-o", found, "--dms", "0:120")
        truth = json.load(open(f"{folder}/x.truth.json"))["pulses"]
        table = pandas.read_csv(found)
        checks.that(list(table.columns) == COLUMNS, f"columns {list(table.columns)}")
        for pulse in truth:
            checks.where = f"pulse at {pulse['time_s']:.4f} s, DM {pulse['dm']:.2f}"
            near = table[np.abs(table["stime"] - pulse["time_s"]) < 0.02]
            checks.that(len(near) > 0, "no candidate")
            if len(near) == 0:
                continue
            row = near.iloc[near["snr"].argmax()]
            # As your_candmaker.py has it.
            width = 2 ** row["width"]
            candidate = Candidate([row["file"]], snr=row["snr"], width=width, dm=row["dm"], label=row["label"],
                                  tcand=row["stime"], device=-1)
            # With preprocessing the chunk is longer, and `your` 0.6.7 does not begin it earlier.
            candidate.get_chunk(for_preprocessing=False)
            candidate.dedisperse()
            profile = candidate.dedispersed.astype(float).sum(axis=1)
            smooth = np.convolve(profile, np.ones(int(width)), mode="same")
            off = int(np.argmax(smooth)) - len(profile) // 2
            checks.that(abs(off) <= width + 3, f"the peak is {off} samples from the chunk's middle, width {width}")
            checks.that(row["num_files"] == 1 and row["label"] == 0 and pandas.isna(row["chan_mask_path"]),
                        "label, mask or number of files")
    checks.finish()


main()
