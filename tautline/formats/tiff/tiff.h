// TIFF stacks of photon counts: one frame a time, pixels are sensors, row by row.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "tautline/formats/count_reader.h"

namespace tautline::formats::tiff {

/// Whether a file that begins with these bytes is TIFF or BigTIFF.
bool recognise(std::span<const std::byte> first_bytes);

/// Frames of one sample a pixel, 8, 16 or 32 bits, unsigned, signed (counts below zero are an
/// error) or 32-bit float, in strips, compressed or not; all of one size and type; of ImageJ also frames that follow one
/// another behind a single directory. Frames that cannot be read end the stream and are damage, and so are those that
/// the file does not have: a chain of directories that breaks off, fewer frames than ImageJ's "images". Throws Error(format) naming the frame,
/// Error(unsupported) in a build without libtiff.
std::unique_ptr<CountReader> open(const std::string& path);

}  // namespace tautline::formats::tiff
