"""The directive `public-headers LAYER`: each public header (cmake/public_headers.txt) of a layer with the comment that it begins
with and its declarations by Doxygen and Breathe; where there is no Doxygen, its text."""

import os
import pathlib
import re

from sphinx.util.docutils import SphinxDirective

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = ROOT / "cmake" / "public_headers.txt"


def headers(layer):
    names = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    return [name for name in names if name.startswith(layer + "/")]


def name_files_whole(xml):
    """Doxygen's index names files by their last names, which Breathe finds them by and which differ in folders alone."""
    index = xml / "index.xml"

    def whole(match):
        place = re.findall(r'<location file="([^"]*)"', (xml / f"{match[2]}.xml").read_text(encoding="utf-8"))[-1]
        return f"{match[1]}{place}</name>"

    text = index.read_text(encoding="utf-8")
    index.write_text(re.sub(r'(<compound refid="([^"]*)" kind="file"><name>)[^<]*</name>', whole, text), encoding="utf-8")


def opening_comment(text):
    """The comment at the beginning of a header."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].removeprefix(" "))
    return lines


class PublicHeaders(SphinxDirective):
    required_arguments = 1

    def run(self):
        text = []
        for name in headers(self.arguments[0]):
            path = ROOT / "tautline" / name
            self.env.note_dependency(str(path))
            text += [name, "-" * len(name), ""]
            if "breathe" in self.config.extensions:
                text += [".. code-block:: none", ""]
                text += ["   " + line for line in opening_comment(path.read_text(encoding="utf-8"))]
                text += ["", f".. doxygenfile:: tautline/{name}", ""]
            else:
                text += [f".. literalinclude:: /../tautline/{name}", "   :language: cpp", ""]
        return self.parse_text_to_nodes("\n".join(text), allow_section_headings=True)


def setup(app):
    if os.environ.get("TAUTLINE_DOXYGEN"):
        name_files_whole(pathlib.Path(os.environ["TAUTLINE_DOXYGEN"]))
    app.add_directive("public-headers", PublicHeaders)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
