// Recognises the kinds of tautline's TOML files, for messages: users confuse them.
#pragma once

#include <string>

#include "tautline/formats/toml/toml_table.h"

namespace tautline::formats {

enum class TomlKind { array, scene, filterbank_scene, delays, pipeline, unknown };

/// By the tables and fields that no other kind has.
TomlKind toml_kind(const TomlTable& file);

/// Throws Error(format) about `path` when the file is clearly of another kind than `expected`; the message names that
/// kind and the command that reads it.
void require_kind(const TomlTable& file, const std::string& path, TomlKind expected);

}  // namespace tautline::formats
