// PTU: PicoQuant's photon time tags behind a header of named tags. docs/guide/formats.md says what
// is read.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "tautline/formats/photon_reader.h"
#include "tautline/formats/ptu/tag_header.h"

namespace tautline::formats::ptu {

/// Whether a file that begins with these bytes is PTU.
bool recognise(std::span<const std::byte> first_bytes);

/// Throws as `open`.
TagHeader read_header(const HeaderSource& file);

/// Throws Error(format): a damaged header, a record type that nobody knows (its code is named), a
/// clock without a resolution.
std::unique_ptr<PhotonReader> open(const std::string& path);

}  // namespace tautline::formats::ptu
