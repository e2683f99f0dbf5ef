#!/usr/bin/env python3
"""Every file reads, itself or by the tree's headers, the standard header of each name that it uses, and a header of each
layer.

Where files are compiled as one, and common headers once (cmake/common_headers.h), the compiler does not notice one that
is missing.
"""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Headers of cmake/common_headers.h, and the names of namespace std that only they have.
NAMES = {
    "algorithm": "sort stable_sort min max clamp minmax min_element max_element minmax_element any_of all_of none_of "
    "find_if count_if copy_n fill_n transform remove_if lower_bound upper_bound equal_range reverse nth_element unique "
    "generate lexicographical_compare partition_point binary_search set_difference mismatch adjacent_find is_sorted",
    "array": "array to_array",
    "atomic": "atomic atomic_flag",
    "bit": "bit_cast bit_width bit_ceil bit_floor has_single_bit popcount countr_zero countl_zero endian",
    "charconv": "from_chars to_chars from_chars_result",
    "chrono": "chrono chrono_literals",
    "cmath": "sqrt floor ceil round lround llround lrint nearbyint exp log log2 log10 cos sin tan pow isfinite isnan "
    "hypot atan2 fmod ldexp trunc rint fabs remainder exp2 copysign nextafter",
    "complex": "complex polar conj",
    "condition_variable": "condition_variable condition_variable_any",
    "cstring": "memcpy memset memcmp memmove strlen strerror strcmp memchr",
    "deque": "deque",
    "filesystem": "filesystem",
    "fstream": "ifstream ofstream fstream",
    "functional": "function reference_wrapper bind_front",
    "future": "future async promise packaged_task",
    "limits": "numeric_limits",
    "map": "map multimap",
    "memory": "unique_ptr shared_ptr make_unique make_shared weak_ptr enable_shared_from_this",
    "mutex": "mutex lock_guard unique_lock scoped_lock once_flag call_once",
    "numeric": "accumulate iota gcd lcm reduce partial_sum inner_product midpoint exclusive_scan",
    "optional": "optional nullopt make_optional",
    "random": "mt19937 mt19937_64 uniform_int_distribution uniform_real_distribution normal_distribution random_device",
    "set": "set multiset",
    "span": "span as_bytes as_writable_bytes dynamic_extent",
    "sstream": "stringstream istringstream ostringstream",
    "stop_token": "stop_token stop_source stop_callback",
    "string": "string to_string stoi stod stoul",
    "string_view": "string_view",
    "system_error": "error_code system_category system_error generic_category errc",
    "thread": "thread jthread this_thread",
    "utility": "pair move exchange as_const make_pair forward cmp_less cmp_equal declval index_sequence",
    "variant": "variant visit monostate holds_alternative get_if",
    "vector": "vector",
}
HEADER = {name: header for header, names in NAMES.items() for name in names.split()}
# These headers' own interfaces have names of others.
GIVES = {
    "charconv": {"system_error"}, "filesystem": {"system_error", "string"}, "fstream": {"string"},
    "functional": {"utility"}, "future": {"thread"}, "map": {"utility"}, "sstream": {"string"},
    "string": {"string_view"},
}
PREFIXES = {"fmt::": "fmt/", "nlohmann::": "nlohmann/"} | {
    f"{layer}::": f"tautline/{layer}/" for layer in ("core", "device", "jit", "engine", "stages", "formats", "stream")
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
NOT_CODE = re.compile(r'R"\w*\(.*?\)\w*"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\bnamespace [\w:]+', re.S)


def missing(texts):
    """Of the files by name: "file: header (name)" for each that is missing. Parts of files (-inl.h) read none."""
    read = {}

    def headers(file):
        if file not in read:
            read[file] = set()
            found = set()
            for name in INCLUDE.findall(texts[file]):
                near = str(pathlib.PurePosixPath(file).parent / name)
                own = next((path for path in (name, near) if path in texts), None)
                found |= headers(own) | {own} if own else {name} | GIVES.get(name, set())
            read[file] = found
        return read[file]

    lines = []
    for file in sorted(texts):
        if "-inl." in file:
            continue
        code, have = NOT_CODE.sub("", texts[file]), headers(file)
        have = have | {f"tautline/{layer}/" for layer in re.findall(r"\bnamespace tautline::(\w+)", texts[file])}
        used = {HEADER[name]: name for name in re.findall(r"\bstd::(\w+)", code) if name in HEADER}
        lines += [f"{file}: <{header}> (std::{used[header]})" for header in sorted(set(used) - have)]
        lines += [f"{file}: {prefix} ({name})" for name, prefix in PREFIXES.items()
                  if re.search(rf"\b{name}", code) and not any(header.startswith(prefix) for header in have)]
    return lines


class Includes(unittest.TestCase):
    def test_of_the_tree(self):
        paths = [path for folder in ("tautline", "cli", "python/src", "tests", "bench", "examples")
                 for path in (ROOT / folder).rglob("*") if path.suffix in (".h", ".cpp")]
        self.assertEqual(missing({str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths}), [])

    def test_names_common_headers_alone(self):
        common = INCLUDE.findall((ROOT / "cmake/common_headers.h").read_text("utf-8"))
        self.assertEqual(sorted(NAMES), sorted(name for name in common if "/" not in name))

    def test_finds_what_is_missing(self):
        own = {"a/own.h": '#include <vector>\n', "a/b.cpp": '#include "own.h"\nstd::vector<int> v; // std::map\n'}
        self.assertEqual(missing(own), [])
        self.assertEqual(missing({**own, "a/own.h": ""}), ["a/b.cpp: <vector> (std::vector)"])
        self.assertEqual(missing({"c.cpp": "auto s = fmt::format(\"std::map\");"}), ["c.cpp: fmt/ (fmt::)"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
