// What a file seems to be, for the errors of readers that were given another kind.
#pragma once

#include <string>

namespace tautline::formats {

/// "DADA voltages", "text", "a Measurement Set (a folder)" ...: told by the first bytes (by what a
/// folder holds), and by nothing else, so that it may be wrong. Empty when nothing is recognised or
/// the file cannot be read. Throws nothing.
std::string seeming_kind(const std::string& path);

}  // namespace tautline::formats
