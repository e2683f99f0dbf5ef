// Names of the files of an output that is written as several: "night.uvh5" as "night-0001.uvh5", "night-0002.uvh5".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tautline::formats {

/// Four digits, more where they are needed, before the last ending.
std::string numbered_name(const std::string& path, std::size_t number);

/// The existing files, and the files beside them: with partial names, and with further endings.
std::vector<std::string> numbered_files(const std::string& path);

/// Before the work: throws Error(config) of `field` where any such file exists, unless `overwrite`, and for a folder
/// that is not there or may not be written.
void require_numbered_can_be_written(const std::string& field, const std::string& path,
                                     bool overwrite);

}  // namespace tautline::formats
