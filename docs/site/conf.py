"""The site of the documentation; scripts/docs builds it from the pages of docs/ as they are."""

import os
import pathlib
import re
import sys

SITE = pathlib.Path(__file__).resolve().parent
ROOT = SITE.parents[1]
BUILD = pathlib.Path(os.environ["TAUTLINE_BUILD"])
DOXYGEN = os.environ.get("TAUTLINE_DOXYGEN", "")

sys.path[:0] = [str(SITE), str(BUILD / "python")]

project = "tautline"
author = "the tautline authors"
project_copyright = author
version = release = re.search(r"project\(tautline VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "navigation", "docstrings", "public_headers"]
root_doc = "index"
exclude_patterns = ["site"]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}
highlight_language = "none"
smartquotes = False

# Anchors of headings as code hosts make them.
myst_heading_anchors = 5

nb_execution_mode = os.environ.get("TAUTLINE_NOTEBOOKS", "force")
nb_execution_in_temp = True
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_custom_sections = [("Fields", "params_style")]

if DOXYGEN:
    extensions.append("breathe")
    breathe_projects = {"tautline": DOXYGEN}
    breathe_default_project = "tautline"
    breathe_show_include = False
    # Namespaces, which every header declares again.
    suppress_warnings = ["duplicate_declaration.cpp"]

html_theme = "furo"
pygments_dark_style = "monokai"
html_title = f"tautline {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
