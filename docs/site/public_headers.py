"""The directive `public-headers LAYER`: each public header (cmake/public_headers.txt) of a layer. Of stages the comment that it
begins with, its contract, and its declarations by Doxygen and Breathe; of other layers its text, whose comments say all: Breathe
would take minutes for them."""

import pathlib

from sphinx.util.docutils import SphinxDirective

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = ROOT / "cmake" / "public_headers.txt"


def headers(layer):
    names = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    return [name for name in names if name.startswith(layer + "/")]


def contract(text):
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
            if "breathe" in self.config.extensions and name.startswith("stages/"):
                text += [".. code-block:: none", ""]
                text += ["   " + line for line in contract(path.read_text(encoding="utf-8"))]
                # Doxygen knows files by their last names, which differ.
                text += ["", f".. doxygenfile:: {path.name}", ""]
            else:
                text += [f".. literalinclude:: /../tautline/{name}", "   :language: cpp", ""]
        return self.parse_text_to_nodes("\n".join(text), allow_section_headings=True)


def setup(app):
    app.add_directive("public-headers", PublicHeaders)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
