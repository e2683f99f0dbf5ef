"""The guide from a filterbank to a figure: its commands, then its Python as it stands, which draws the figure."""
import os
import re
import shlex
import subprocess

import interop_support

os.environ["MPLBACKEND"] = "Agg"

import matplotlib.image  # noqa: E402
import numpy as np  # noqa: E402


def main():
    options = interop_support.arguments(__doc__, needs_command=True)
    checks = interop_support.Checks()
    page = (options.source / "docs/guide/pulses.md").read_text(encoding="utf-8")
    command = options.command.resolve()
    with interop_support.scratch() as folder:
        os.chdir(folder)
        for line in re.findall(r"^    tautline (.*)$", page, re.MULTILINE):
            done = subprocess.run([command, "--quiet", *shlex.split(line)], capture_output=True, text=True)
            checks.that(done.returncode == 0, f"{line}: {done.stderr}")
        code = re.search(r"```python\n(.*?)```", page, re.DOTALL).group(1)
        names = {}
        exec(compile(code, "pulses.md", "exec"), names)
        checks.near(names["dms"][names["at"]], 180, 1.5, "DM of the burst")
        checks.near(names["snr"][names["at"]], 0.943 * 40, 6, "S/N of the burst")
        picture = matplotlib.image.imread("burst.png")
        checks.that(picture.shape[0] > 500 and np.ptp(picture[..., :3]) > 0.9, f"a picture of {picture.shape}")
    checks.finish()


main()
