// Bytes that come in order, as by a pipe, against a file of the same bytes: what one gives, the other gives.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tautline/core/error.h"
#include "tautline/formats/forward_bytes.h"
#include "tests/formats/voltage_check.h"

namespace tautline::tests {

struct FileAndStream {
  std::unique_ptr<formats::VoltageReader> file, stream;

  void seek(std::uint64_t first) {
    file->seek(first);
    stream->seek(first);
  }
};

/// Opens both by functions; nothing where both are refused, which has to be with the same words but for empty ones.
template <class OpenFile, class OpenStream>
std::optional<FileAndStream> open_both(const OpenFile& open_file, const OpenStream& open_stream) {
  FileAndStream both;
  std::optional<std::string> refusal;
  try {
    both.file = open_file();
  } catch (const core::Error& error) {
    refusal = error.what();
  }
  try {
    both.stream = open_stream();
    EXPECT_FALSE(refusal) << *refusal;
  } catch (const core::Error& error) {
    // Whether a stream is empty is not known when it is opened.
    if (!refusal || refusal->find("an empty file") == std::string::npos) {
      EXPECT_EQ(refusal, error.what());
    }
  }
  if (!both.file || !both.stream) return std::nullopt;
  return both;
}

/// What both say of the samples, and all blocks of `block` times; adds the times to `times`. `kept`: the stream's bytes,
/// of which `most` may be kept.
inline void expect_equal_samples(formats::VoltageReader& file, formats::VoltageReader& stream,
                                 std::size_t block, std::uint64_t& times,
                                 const formats::ForwardBytes* kept = nullptr,
                                 std::size_t most = 0) {
  const auto& d = file.description();
  EXPECT_EQ(stream.description().rate_hz, d.rate_hz);
  EXPECT_EQ(stream.description().start, d.start);
  EXPECT_EQ(stream.description().assumed, d.assumed);
  EXPECT_EQ(stream.description().antenna_names, d.antenna_names);
  ASSERT_EQ(stream.description().inputs(), d.inputs());
  ASSERT_EQ(stream.description().channels, d.channels);
  core::RawBlock a, b;
  for (;;) {
    const std::size_t got = file.read(block, a);
    ASSERT_EQ(stream.read(block, b), got);
    if (got == 0) break;
    times += got;
    if (kept != nullptr) {
      EXPECT_LE(kept->kept_bytes(), most + (1u << 20));  // a piece that is begun
    }
    EXPECT_EQ(a.first_sample, b.first_sample);
    Stream of_file(d.channels, d.inputs()), of_stream(d.channels, d.inputs());
    of_file.append(a);
    of_stream.append(b);
    for (std::size_t c = 0; c < d.channels; ++c)
      for (std::size_t i = 0; i < d.inputs(); ++i)
        for (std::size_t t = 0; t < got; ++t) {
          ASSERT_EQ(of_file.valid(i, t), of_stream.valid(i, t)) << a.first_sample + t;
          if (of_file.valid(i, t)) {
            ASSERT_EQ(of_file.at(c, i, t), of_stream.at(c, i, t));
          }
        }
  }
}

inline void expect_equal_damage(const formats::Damage& file, const formats::Damage& stream) {
  EXPECT_EQ(stream.lost_samples, file.lost_samples);
  EXPECT_EQ(stream.dropped_samples, file.dropped_samples);
  EXPECT_EQ(stream.trailing_bytes, file.trailing_bytes);
  EXPECT_EQ(stream.messages, file.messages);
}

}  // namespace tautline::tests
