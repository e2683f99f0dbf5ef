// Dumps of a buffer, as they lie in files, against the stream that they are of.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tautline/core/sample_decode.h"
#include "tautline/formats/voltage_reader.h"
#include "tests/pipeline/voltages/buffer_source.h"

namespace tautline::tests {

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::size_t files_ending(const std::filesystem::path& folder, const std::string& ending) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    count += entry.path().string().ends_with(ending) ? 1 : 0;
  return count;
}

/// A dump as it lies in files.
struct DumpFiles {
  std::string path;
  nlohmann::json record;
  std::string header, samples;
};

inline DumpFiles read_dump(const std::string& path) {
  DumpFiles dump;
  dump.path = path;
  dump.record = nlohmann::json::parse(text_of(path + ".json"));
  const std::string text = text_of(path);
  const std::size_t at = text.find("HDR_SIZE");
  const auto header_bytes = static_cast<std::size_t>(std::stoul(text.substr(at + 8)));
  dump.header = text.substr(0, header_bytes);
  dump.samples = text.substr(header_bytes);
  return dump;
}

inline void check_invalid(const DumpFiles& dump, const BufferStream& stream, std::int64_t first,
                          std::size_t samples, const std::vector<bool>& missing) {
  const std::size_t inputs = stream.description.inputs();
  std::vector<bool> is(inputs * samples, false), expected(inputs * samples, false);
  const auto mark = [&](std::vector<bool>& mask, const nlohmann::json& input, std::int64_t from,
                        std::int64_t count) {
    for (std::size_t i = 0; i < inputs; ++i) {
      if (!input.is_null() && input.get<std::size_t>() != i) continue;
      for (std::int64_t t = std::max<std::int64_t>(from, 0);
           t < std::min<std::int64_t>(from + count, static_cast<std::int64_t>(samples)); ++t)
        mask[i * samples + static_cast<std::size_t>(t)] = true;
    }
  };
  for (const nlohmann::json& one : dump.record.at("invalid"))
    mark(is, one.at("input"), one.at("first_sample").get<std::int64_t>(),
         one.at("samples").get<std::int64_t>());
  for (const core::InvalidSpan& span : stream.invalid)
    mark(
        expected,
        span.input == core::InvalidSpan::kAllInputs ? nlohmann::json() : nlohmann::json(span.input),
        static_cast<std::int64_t>(span.first_sample) - first,
        static_cast<std::int64_t>(span.samples));
  for (std::size_t k = 0; k < is.size(); ++k)
    if (missing[k % samples]) expected[k] = is[k];
  EXPECT_TRUE(is == expected);
}

/// For each sample of a dump, whether its record marks it as missing.
inline std::vector<bool> missing_in(const DumpFiles& dump) {
  const auto samples = dump.record.at("samples").get<std::int64_t>();
  std::vector<bool> missing(static_cast<std::size_t>(samples), false);
  for (const nlohmann::json& one : dump.record.at("missed")) {
    const auto first = one.at("first_sample").get<std::int64_t>();
    for (std::int64_t t = std::max<std::int64_t>(first, 0);
         t < std::min(first + one.at("samples").get<std::int64_t>(), samples); ++t)
      missing[static_cast<std::size_t>(t)] = true;
  }
  return missing;
}

/// Readers of the dump take samples for lost that are invalid in the stream or missing.
inline void check_read_back(const DumpFiles& dump, const BufferStream& stream) {
  const auto first = dump.record.at("start_sample").get<std::uint64_t>();
  const std::vector<bool> missing = missing_in(dump);
  const std::size_t samples = missing.size(), inputs = stream.description.inputs();
  const auto reader = formats::open_voltages(dump.path);
  core::RawBlock block;
  ASSERT_EQ(reader->read(samples, block), samples);
  core::ValidityMask is(inputs, samples), expected(inputs, samples);
  const auto mark = [&](core::ValidityMask& mask, std::size_t input, std::uint64_t from,
                        std::uint64_t end) {
    for (std::size_t i = 0; i < inputs; ++i)
      if ((input == i || input == core::InvalidSpan::kAllInputs) && from < end)
        mask.set(i, static_cast<std::size_t>(from), static_cast<std::size_t>(end - from), false);
  };
  for (const core::InvalidSpan& span : block.invalid)
    mark(is, span.input, span.first_sample, span.first_sample + span.samples);
  const auto in_dump = [&](std::uint64_t sample) {
    return std::clamp(sample, first, first + samples) - first;
  };
  for (const core::InvalidSpan& span : stream.invalid)
    mark(expected, span.input, in_dump(span.first_sample),
         in_dump(span.first_sample + span.samples));
  for (std::size_t t = 0; t < samples; ++t)
    if (missing[t]) mark(expected, core::InvalidSpan::kAllInputs, t, t + 1);
  for (std::size_t i = 0; i < inputs; ++i)
    EXPECT_TRUE(std::equal(is.row(i), is.row(i) + core::validity_words(samples), expected.row(i)));
  EXPECT_EQ(reader->damage().lost_samples, inputs * samples - expected.count());
}

/// Every sample of a dump is the stream's, or zero where the record says that it is missing; all that was wanted is
/// there or missing.
inline void check_dump(const DumpFiles& dump, const BufferStream& stream) {
  const auto first = dump.record.at("start_sample").get<std::int64_t>();
  const auto samples = dump.record.at("samples").get<std::size_t>();
  ASSERT_EQ(dump.samples.size(), samples * stream.time_bytes());
  const std::vector<bool> missing = missing_in(dump);
  std::uint64_t missed = 0;
  for (const nlohmann::json& one : dump.record.at("missed"))
    missed += one.at("samples").get<std::uint64_t>();
  const auto inside = static_cast<std::uint64_t>(std::count(missing.begin(), missing.end(), true));
  EXPECT_EQ(dump.record.at("wanted_samples").get<std::uint64_t>(), samples - inside + missed);
  const auto* all = reinterpret_cast<const char*>(stream.bytes.data());
  const std::string none(stream.time_bytes(), '\0');
  std::size_t wrong = 0;
  for (std::size_t t = 0; t < samples; ++t) {
    const std::string_view is(dump.samples.data() + t * stream.time_bytes(), stream.time_bytes());
    const std::string_view expected =
        missing[t]
            ? std::string_view(none)
            : std::string_view(all + (static_cast<std::size_t>(first) + t) * stream.time_bytes(),
                               stream.time_bytes());
    wrong += is != expected ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0U) << dump.record.dump(1);
  const core::Instant start =
      core::advance(stream.description.start, first, stream.description.rate_hz);
  EXPECT_EQ(dump.record.at("start_utc"), core::to_iso(start));
  EXPECT_NE(dump.header.find("EXACT_START_S    " + std::to_string(start.fraction_numerator) + "/"),
            std::string::npos)
      << dump.header;
  check_invalid(dump, stream, first, samples, missing);
}

/// Which samples the stream has, of a file whose first sample behind `padding` is `first`; `more` invalid ones at the
/// end.
inline core::ValidityMask valid_in_file(const BufferStream& stream, std::uint64_t first,
                                        std::size_t padding, std::size_t samples,
                                        std::size_t more) {
  const std::size_t inputs = stream.description.inputs();
  core::ValidityMask mask(inputs, padding + samples + more);
  for (std::size_t t = 0; t < padding + samples + more; ++t) {
    const std::uint64_t at = first + t - padding;
    bool there = t >= padding && t < padding + samples;
    for (const auto& [gap, length] : stream.gaps) there = there && (at < gap || at >= gap + length);
    for (std::size_t i = 0; i < inputs; ++i) {
      bool valid = there;
      for (const core::InvalidSpan& span : stream.invalid)
        if (span.input == i || span.input == core::InvalidSpan::kAllInputs)
          valid = valid && (at < span.first_sample || at >= span.first_sample + span.samples);
      if (!valid) mask.set(i, t, 1, false);
    }
  }
  return mask;
}

/// As the reader has it: values where a frame is valid, and frames that are invalid for a reason.
inline void check_vdif(const std::string& path, const nlohmann::json& record,
                       const BufferStream& stream, std::size_t frame) {
  const core::VoltageDescription& d = stream.description;
  formats::ReaderOptions options;
  options.assumed.rate_hz = d.rate_hz;
  const auto reader = formats::open_voltages(path, options);
  ASSERT_EQ(reader->description().channels, d.channels);
  ASSERT_EQ(reader->description().inputs(), d.inputs());
  EXPECT_EQ(reader->description().centre_hz, d.centre_hz);  // by the record
  EXPECT_EQ(reader->description().bandwidth_hz < 0, d.bandwidth_hz < 0);
  const auto padding = record.at("padding_samples").get<std::size_t>(),
             samples = record.at("samples").get<std::size_t>();
  const auto first = record.at("start_sample").get<std::size_t>();
  EXPECT_EQ(reader->description().start,
            core::advance(d.start, static_cast<std::int64_t>(first - padding), d.rate_hz));
  core::RawBlock block;
  ASSERT_EQ(reader->read(padding + samples, block), padding + samples);
  core::ValidityMask is(d.inputs(), padding + samples);
  const core::ValidityMask data = valid_in_file(stream, first, padding, samples, frame);
  for (const core::InvalidSpan& span : block.invalid)
    for (std::size_t i = 0; i < d.inputs(); ++i)
      if (span.input == i || span.input == core::InvalidSpan::kAllInputs)
        is.set(i, span.first_sample, std::min(span.samples, padding + samples - span.first_sample),
               false);
  std::size_t wrong = 0, valid_samples = 0;
  const std::size_t parts = d.format.complex ? 2 : 1;
  const auto bits = static_cast<std::size_t>(d.format.bits),
             read_bits = static_cast<std::size_t>(block.layout.format.bits);
  for (std::size_t t = 0; t < padding + samples; ++t)
    for (std::size_t i = 0; i < d.inputs(); ++i) {
      const bool valid = core::count_valid(data.row(i), t / frame * frame, frame) == frame;
      wrong += is.valid(i, t) != valid ? 1 : 0;
      if (!valid) continue;
      ++valid_samples;
      for (std::size_t c = 0; c < d.channels; ++c)
        for (std::size_t part = 0; part < parts; ++part) {
          const std::size_t from = (first + t - padding) * stream.time_bytes() * 8 +
                                   ((c * d.inputs() + i) * parts + part) * bits;
          const core::RawLayout& l = block.layout;
          const std::size_t to =
              l.offset_bits + t * l.time_stride_bits + c * l.channel_stride_bits +
              i / d.polarisations * l.antenna_stride_bits +
              i % d.polarisations * l.polarisation_stride_bits + part * read_bits;
          wrong += core::decode_integer(stream.bytes.data(), from, d.format) !=
                           core::decode_integer(block.bytes.data(), to, l.format)
                       ? 1
                       : 0;
        }
    }
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(valid_samples, 0U);
}

}  // namespace tautline::tests
