// Visibilities as UVH5 1.2, the HDF5 file that pyuvdata defines.
//
//   Header/   the array, axes and phase centre; per-row arrays of Nblts rows
//   Data/visdata   [row][channel][polarisation] complex64 {r, i}, mean of conj(x_ant1) x_ant2
//   Data/flags     [row][channel][polarisation] bool, true where nsamples is 0
//   Data/nsamples  [row][channel][polarisation] float32, valid over nominal samples
//
// Rows are pairs of antennas, ant_1 slow, within integrations. docs/maths/visibilities.md.
#pragma once

#include <memory>
#include <string>

#include "tautline/formats/visibility_reader.h"
#include "tautline/formats/visibility_writer.h"

namespace tautline::formats::uvh5 {

/// Buffers at most about 16 MiB, whatever the array's size. Lives on one thread at a time, as all
/// of HDF5 does.
std::unique_ptr<VisibilityWriter> create(const std::string& path,
                                         const VisibilityDescription& description, bool overwrite);

/// Reads files whose rows come integration by integration: our own, and others of that kind. Every
/// integration must list the same pairs of antennas in the same order, with linear
/// polarisations; pyuvdata's reorder_blts("time") makes such a file of any other.
std::unique_ptr<VisibilityReader> open(const std::string& path);

/// Whether an HDF5 file has visibilities; false for any other file.
bool holds_visibilities(const std::string& path);

}  // namespace tautline::formats::uvh5
