// Files of one record a line, to which several processes may add.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tautline::jit {

/// Adds a line with one write under a lock, and makes the file and its folder where there are none.
/// A line that a killed process left unfinished is ended first. Throws Error(io).
void append_line(const std::filesystem::path& path, const std::string& line);

/// The lines of a file, without empty ones; none when there is no such file. Throws Error(io) when
/// the file cannot be read.
std::vector<std::string> read_lines(const std::filesystem::path& path);

}  // namespace tautline::jit
