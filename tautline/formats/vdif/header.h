// The header of one VDIF frame, and how samples are packed behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tautline/core/time.h"

namespace tautline::formats::vdif {

inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::size_t kLegacyHeaderBytes = 16;

struct Header {
  bool invalid = false;       ///< the writer says that the payload is
  bool legacy = false;        ///< 16 bytes of header, not 32
  std::uint32_t seconds = 0;  ///< since the reference epoch
  std::uint32_t epoch = 0;    ///< half-years since 2000-01-01
  std::uint32_t frame = 0;    ///< within the second
  std::uint32_t version = 0;
  std::size_t channels = 1;
  std::size_t frame_bytes = 0;  ///< header included
  bool complex = false;
  int bits = 1;  ///< of one component
  std::uint32_t thread = 0;
  std::uint32_t station = 0;
  std::uint32_t extended_version = 0;  ///< 0: none
  std::int64_t rate_hz = 0;            ///< of samples, from extended versions 1 and 3; 0: unknown

  std::size_t header_bytes() const { return legacy ? kLegacyHeaderBytes : kHeaderBytes; }
  std::size_t payload_bytes() const { return frame_bytes - header_bytes(); }
  /// A thread is identified by its station and number.
  std::uint32_t key() const { return station << 10 | thread; }
  core::Instant second() const;
  /// Seconds since 2000-01-01, leap seconds included: comparable where the epoch changes.
  std::int64_t seconds_since_2000() const;
};

/// The little-endian word of this number.
std::uint32_t word_at(const std::byte* bytes, std::size_t word);

/// Reads the words; a legacy header needs only the first 16 bytes. Checks nothing.
Header decode_header(std::span<const std::byte, kHeaderBytes> bytes);

/// Seconds from 2000-01-01 to a reference epoch, leap seconds included.
std::int64_t epoch_start_s(std::uint32_t epoch);

/// True when both can be frames of one recording: everything that must not change is the same.
bool same_layout(const Header& a, const Header& b);
/// The same, of frames that also count from one epoch: those of one scan, unless a half-year ends in it.
bool same_recording(const Header& a, const Header& b);

/// How complete samples (one of every channel) lie in 32-bit words: whole ones from the low end, or
/// spread over several words where they are wider than one. Components never straddle words.
class Packing {
 public:
  explicit Packing(const Header& header);

  std::size_t components() const { return components_; }  ///< of a complete sample
  std::size_t samples_in(std::size_t payload_bytes) const;
  /// The word, counted from the payload's start, that holds a component of a sample.
  std::size_t word(std::size_t sample, std::size_t component) const {
    return sample / samples_per_group_ * words_per_group_ + component / components_per_word_;
  }
  std::size_t bit(std::size_t sample, std::size_t component) const {
    return (sample % samples_per_group_ * components_ + component % components_per_word_) * bits_;
  }
  /// Words before the group that holds a sample; payloads may be read from there on.
  std::size_t words_before(std::size_t sample) const {
    return sample / samples_per_group_ * words_per_group_;
  }
  std::size_t group_samples() const { return samples_per_group_; }
  std::size_t group_words() const { return words_per_group_; }

 private:
  std::size_t bits_, components_;
  std::size_t components_per_word_ = 1, samples_per_group_ = 1, words_per_group_ = 1;
};

/// Throws Error(format) that names the field when the header cannot be true of a file this large.
void require_plausible(const std::string& path, const Header& header, std::uint64_t file_bytes);

/// The same as a question.
bool plausible(const Header& header);

}  // namespace tautline::formats::vdif
