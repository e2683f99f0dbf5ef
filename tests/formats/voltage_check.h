// What tests of voltage readers share: a folder of their own, whole streams decoded by the plain
// rule of core::RawLayout, and files damaged at random.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tautline/core/sample_decode.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::tests {

/// A new folder that is removed with everything in it.
class Folder {
 public:
  Folder() {
    std::random_device random;
    do {
      path_ =
          std::filesystem::temp_directory_path() / ("tautline_test_" + std::to_string(random()));
    } while (!std::filesystem::create_directory(path_));
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::vector<char> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void write_bytes(const std::string& path, const std::vector<char>& bytes) {
  std::filesystem::remove(path);  // overwriting in place makes some file systems flush each time
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error("cannot write " + path);
}

/// Everything a reader delivered: [channel][input][time], decoded, with its validity.
class Stream {
 public:
  Stream(std::size_t channels, std::size_t inputs)
      : channels_(channels), inputs_(inputs), values_(channels * inputs), valid_(inputs) {}

  std::size_t samples() const { return valid_.empty() ? 0 : valid_[0].size(); }
  std::uint64_t first_sample() const { return first_sample_; }
  bool valid(std::size_t input, std::size_t t) const { return valid_[input][t]; }
  std::complex<double> at(std::size_t channel, std::size_t input, std::size_t t) const {
    return values_[channel * inputs_ + input][t];
  }

  void append(const core::RawBlock& block) {
    if (samples() == 0) first_sample_ = block.first_sample;
    if (block.first_sample != first_sample_ + samples())
      throw std::runtime_error("blocks do not follow each other");
    const std::size_t before = samples();
    for (std::size_t i = 0; i < inputs_; ++i) {
      valid_[i].resize(before + block.samples, true);
      for (std::size_t c = 0; c < channels_; ++c)
        for (std::size_t t = 0; t < block.samples; ++t)
          values_[c * inputs_ + i].push_back(sample(block, t, c, i));
    }
    for (const core::InvalidSpan& span : block.invalid) {
      if (span.samples == 0 || span.first_sample + span.samples > block.samples)
        throw std::runtime_error("an invalid span is empty or leaves its block");
      for (std::size_t i = 0; i < inputs_; ++i)
        if (span.input == core::InvalidSpan::kAllInputs || span.input == i)
          for (std::size_t t = 0; t < span.samples; ++t)
            valid_[i][before + span.first_sample + t] = false;
    }
  }

  std::uint64_t invalid_samples() const {
    std::uint64_t count = 0;
    for (const auto& row : valid_)
      for (const bool valid : row) count += valid ? 0 : 1;
    return count;
  }

 private:
  static double component(const core::RawBlock& block, std::size_t bit) {
    const core::SampleFormat& format = block.layout.format;
    const auto bits = static_cast<std::size_t>(format.bits);
    if ((bit + bits + 7) / 8 > block.bytes.size())
      throw std::runtime_error("a sample lies outside its block");
    return format.is_float() ? core::decode_float(block.bytes.data(), bit)
                             : core::decode_integer(block.bytes.data(), bit, format);
  }

  static std::complex<double> sample(const core::RawBlock& block, std::size_t t,
                                     std::size_t channel, std::size_t input) {
    const core::RawLayout& l = block.layout;
    const std::size_t bit = l.offset_bits + t * l.time_stride_bits +
                            channel * l.channel_stride_bits +
                            input / l.polarisations * l.antenna_stride_bits +
                            input % l.polarisations * l.polarisation_stride_bits;
    if (!l.format.complex) return component(block, bit);
    return {component(block, bit), component(block, bit + static_cast<std::size_t>(l.format.bits))};
  }

  std::size_t channels_, inputs_;
  std::uint64_t first_sample_ = 0;
  std::vector<std::vector<std::complex<double>>> values_;
  std::vector<std::vector<bool>> valid_;
};

/// Reads to the end in blocks of `block` samples, into a block poisoned before each read.
inline Stream read_all(formats::VoltageReader& reader, std::size_t block) {
  Stream stream(reader.description().channels, reader.description().inputs());
  core::RawBlock raw;
  for (;;) {
    std::fill(raw.bytes.begin(), raw.bytes.end(), std::byte{0xA5});
    raw.invalid.push_back({0, 12345, 6});
    const std::size_t got = reader.read(block, raw);
    if (got != raw.samples || got > block) throw std::runtime_error("read returned a wrong count");
    if (got == 0) return stream;
    stream.append(raw);
  }
}

/// A copy with a few random changes: bits, bytes, cuts, repeats, insertions, the end missing.
inline std::vector<char> mutate(std::vector<char> bytes, std::mt19937_64& random) {
  const std::size_t changes = 1 + random() % 4;
  for (std::size_t change = 0; change < changes && !bytes.empty(); ++change) {
    // Half of the changes hit the first bytes, where headers are.
    const std::size_t reach =
        random() % 2 ? bytes.size() : std::min<std::size_t>(bytes.size(), 512);
    const auto at = static_cast<std::ptrdiff_t>(random() % reach);
    const auto length = static_cast<std::ptrdiff_t>(
        std::min<std::size_t>(1 + random() % 100, bytes.size() - static_cast<std::size_t>(at)));
    const auto place = bytes.begin() + at;
    switch (random() % 6) {
      case 0:
        *place = static_cast<char>(*place ^ (1 << random() % 8));
        break;
      case 1:
        *place = static_cast<char>(random());
        break;
      case 2:
        bytes.erase(place, place + length);
        break;
      case 3: {
        const std::vector<char> copy(place, place + length);
        bytes.insert(place, copy.begin(), copy.end());
        break;
      }
      case 4:
        bytes.insert(place, static_cast<std::size_t>(length), static_cast<char>(random()));
        break;
      default:
        bytes.resize(static_cast<std::size_t>(at));
        break;
    }
  }
  return bytes;
}

}  // namespace tautline::tests
