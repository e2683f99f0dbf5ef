// PT3: the T3 files of PicoHarp 300's older software, behind a header of fixed places
// (version 2.0).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "tautline/formats/photon_reader.h"
#include "tautline/formats/ptu/tag_header.h"

namespace tautline::formats::pt3 {

/// Whether a file that begins with these bytes is one of PicoHarp 300's (PT3, PT2, PHD).
bool recognise(std::span<const std::byte> first_bytes);

/// Throws as `open`.
ptu::TagHeader read_header(const ptu::HeaderSource& file);

/// Throws Error(format): another version, another measurement mode than T3, a header cut short.
std::unique_ptr<PhotonReader> open(const std::string& path);

}  // namespace tautline::formats::pt3
