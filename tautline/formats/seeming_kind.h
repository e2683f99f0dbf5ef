// Guesses from its first bytes the kind of a file that was given to the wrong reader, for error messages.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tautline/core/error.h"

namespace tautline::formats {

/// "DADA voltages", "text", "a Measurement Set (a folder)" ...: told by the first bytes (by what a
/// folder holds), and by nothing else, so that it may be wrong. Empty when nothing is recognised or
/// the file cannot be read. Throws nothing.
std::string seeming_kind(const std::string& path);

/// "a PNG picture", "PDF" ... of the first kPictureBytes of a file; empty: none. By marks so long that data do not begin
/// so by chance.
std::string picture_kind_of(std::span<const std::byte> first_bytes);
inline constexpr std::size_t kPictureBytes = 12;

/// Whether these are the first bytes of a file that gzip, bzip2, xz, zstd or zip made.
bool is_compressed(std::span<const std::byte> first_bytes);
/// The same of a file, where its name says so, too.
bool is_named_compressed(const std::string& path);
/// "decompress it first: gunzip -k night.fil.gz"; empty: the file is not compressed. Throws nothing.
std::string how_to_decompress(const std::string& path);
/// Throws other_kind() for a compressed file.
void refuse_compressed(const std::string& path, const std::string& expected);

/// What the file holds and which commands read it, told by the table of formats: "this is photon data
/// (PT3): autocorrelate reads it"; of a compressed file, how to decompress it. Empty when nothing is recognised. Throws
/// nothing.
std::string commands_for(const std::string& path);
/// The same of a stream with these first bytes, but for compressed ones.
std::string commands_for(std::span<const std::byte> first_bytes, const std::string& name);

/// The ending that a file of such contents has, where its readers need one and its first bytes (in HDF5: its datasets)
/// tell: correlation curves, visibilities, candidates, arrays of antennas ... Empty for any other file.
std::string ending_by_contents(const std::string& path);

/// Texts, told by their words; `other`: one that commands_for() knows.
enum class TextKind { none, unknown, candidates, curve, truth, other };
/// `none`: these are the first bytes of no text.
TextKind text_kind_of(std::span<const std::byte> first_bytes);

/// What the stream seems to be, as seeming_kind(); empty where it is not known.
std::string seeming_kind_of(std::span<const std::byte> first_bytes);

/// Whether the file is text, told by its first bytes, of a kind that commands_for() knows. Throws nothing.
bool is_known_text(const std::string& path);
/// Whether the file is of a format of the table, whose bytes prove it or whose name says it and whose bytes do not
/// contradict it. Throws nothing.
bool is_known_format(const std::string& path);

/// Whether the first bytes are lines of text. Throws nothing.
bool is_lines_of_text(const std::string& path);

/// Throws other_kind() for a folder and for a file whose first bytes are no text.
void require_text(const std::string& path, const std::string& expected);

/// An Error(format) about a file that is not of the formats `expected`: what it seems to be, and
/// which commands read it, or else `advice`.
core::Error other_kind(const std::string& path, const std::string& expected,
                       const std::string& advice);

}  // namespace tautline::formats
