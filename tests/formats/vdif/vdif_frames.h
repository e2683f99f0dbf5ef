// VDIF frames written out plainly, streams of them, and the fixture of the tests that read these.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tautline/formats/vdif/vdif.h"
#include "tests/formats/voltage_check.h"
#include "tests/support/seed.h"

namespace tautline::formats::vdif {

using tests::Folder;
using tests::read_all;
using tests::Stream;

// A frame as the standard describes it, written out plainly.
struct FrameSpec {
  bool invalid = false, legacy = false, complex = false;
  std::uint32_t seconds = 1'000, epoch = 28, frame = 0, thread = 0, station = 7;
  std::uint32_t log2_channels = 0;
  int bits = 2;
  std::uint32_t extended = 0, word4 = 0;
};

inline void put_word(std::vector<char>& out, std::uint32_t word) {
  for (int k = 0; k < 4; ++k) out.push_back(static_cast<char>(word >> (8 * k) & 255));
}

inline std::vector<char> make_frame(const FrameSpec& f, const std::vector<std::uint32_t>& payload) {
  std::vector<char> out;
  const auto length = static_cast<std::uint32_t>((f.legacy ? 16 : 32) + 4 * payload.size()) / 8;
  put_word(out, std::uint32_t{f.invalid} << 31 | std::uint32_t{f.legacy} << 30 | f.seconds);
  put_word(out, f.epoch << 24 | f.frame);
  put_word(out, 1u << 29 | f.log2_channels << 24 | length);
  put_word(out, std::uint32_t{f.complex} << 31 | static_cast<std::uint32_t>(f.bits - 1) << 26 |
                    f.thread << 16 | f.station);
  if (!f.legacy) {
    put_word(out, f.extended << 24 | f.word4);
    put_word(out, f.extended != 0 ? 0xACABFEEDu : 0);
    put_word(out, 0);
    put_word(out, 0);
  }
  for (const std::uint32_t word : payload) put_word(out, word);
  return out;
}

// The value of a code of the standard's offset binary.
inline double level(std::uint32_t code, int bits) {
  if (bits == 1) return code == 0 ? -1 : 1;
  if (bits == 2) return 2.0 * code - 3;
  return static_cast<double>(static_cast<float>(code - std::ldexp(1.0, bits - 1)));
}

// The codes of a frame's complete samples, unpacked by the words of the standard: a word holds
// whole samples from its low end, or a complete sample takes several words of equally many
// components.
inline std::vector<std::vector<std::uint32_t>> codes_of(const std::vector<std::uint32_t>& payload,
                                                        const FrameSpec& f) {
  const auto bits = static_cast<std::size_t>(f.bits);
  const std::size_t components = (std::size_t{1} << f.log2_channels) * (f.complex ? 2 : 1);
  const auto code = [&](std::size_t word, std::size_t bit) {
    return static_cast<std::uint32_t>(std::uint64_t{payload[word]} >> bit &
                                      ((std::uint64_t{1} << bits) - 1));
  };
  std::vector<std::vector<std::uint32_t>> samples;
  if (bits * components <= 32) {
    for (std::size_t word = 0; word < payload.size(); ++word)
      for (std::size_t bit = 0; bit + bits * components <= 32; bit += bits * components) {
        samples.emplace_back();
        for (std::size_t c = 0; c < components; ++c)
          samples.back().push_back(code(word, bit + c * bits));
      }
    return samples;
  }
  std::size_t per_word = 1;
  while (per_word * 2 * bits <= 32) per_word *= 2;
  const std::size_t words = components / per_word;
  for (std::size_t word = 0; word + words <= payload.size(); word += words) {
    samples.emplace_back();
    for (std::size_t c = 0; c < components; ++c)
      samples.back().push_back(code(word + c / per_word, c % per_word * bits));
  }
  return samples;
}

// A recording of several threads, kept frame by frame so that tests can lose or move some.
class Recording {
 public:
  Recording(FrameSpec spec, std::size_t threads, std::size_t frames, std::size_t frames_per_second,
            std::size_t payload_words, std::mt19937_64& random)
      : spec_(spec), threads_(threads) {
    for (std::size_t n = 0; n < frames; ++n)
      for (std::size_t t = 0; t < threads; ++t) {
        FrameSpec f = spec;
        f.seconds += static_cast<std::uint32_t>((spec.frame + n) / frames_per_second);
        f.frame = static_cast<std::uint32_t>((spec.frame + n) % frames_per_second);
        f.thread = static_cast<std::uint32_t>(3 * t);
        std::vector<std::uint32_t> payload(payload_words);
        for (auto& word : payload) word = static_cast<std::uint32_t>(random());
        frames_.push_back(make_frame(f, payload));
        payloads_.push_back(payload);
      }
    order_.resize(frames_.size());
    for (std::size_t k = 0; k < order_.size(); ++k) order_[k] = k;
    samples_per_frame_ = codes_of(payloads_[0], spec).size();
  }

  std::size_t index(std::size_t frame, std::size_t thread) const {
    return frame * threads_ + thread;
  }
  std::vector<std::size_t>& order() { return order_; }
  std::vector<char>& bytes_of(std::size_t index) { return frames_[index]; }
  std::size_t samples_per_frame() const { return samples_per_frame_; }
  std::size_t total() const { return frames_.size() / threads_ * samples_per_frame_; }

  std::vector<char> bytes() const {
    std::vector<char> all;
    for (const std::size_t k : order_) all.insert(all.end(), frames_[k].begin(), frames_[k].end());
    return all;
  }

  // Everything that the stream has must be right, and just the frames in `lost` missing.
  void expect(const Stream& stream, const std::vector<std::size_t>& lost = {},
              std::size_t first_sample = 0) const {
    ASSERT_EQ(stream.samples(), total() - first_sample);
    expect_values(stream, lost, first_sample);
  }

  // The same of a recording that begins at a sample of the stream, which goes on behind it.
  void expect_values(const Stream& stream, const std::vector<std::size_t>& lost,
                     std::size_t first_sample, std::size_t begin = 0) const {
    const std::size_t channels = std::size_t{1} << spec_.log2_channels;
    for (std::size_t k = 0; k < frames_.size(); ++k) {
      const bool missing = std::find(lost.begin(), lost.end(), k) != lost.end();
      const auto codes = codes_of(payloads_[k], spec_);
      for (std::size_t s = 0; s < samples_per_frame_; ++s) {
        const std::size_t t = k / threads_ * samples_per_frame_ + s;
        if (t < first_sample) continue;
        const std::size_t at = begin + t - first_sample;
        ASSERT_EQ(stream.valid(k % threads_, at), !missing) << "frame " << k;
        if (missing) continue;
        for (std::size_t c = 0; c < channels; ++c) {
          const std::complex<double> want =
              spec_.complex ? std::complex<double>(level(codes[s][2 * c], spec_.bits),
                                                   level(codes[s][2 * c + 1], spec_.bits))
                            : std::complex<double>(level(codes[s][c], spec_.bits), 0);
          ASSERT_EQ(stream.at(c, k % threads_, at), want)
              << "frame " << k << " sample " << s << " channel " << c;
        }
      }
    }
  }

 private:
  FrameSpec spec_;
  std::size_t threads_, samples_per_frame_ = 0;
  std::vector<std::vector<char>> frames_;
  std::vector<std::vector<std::uint32_t>> payloads_;
  std::vector<std::size_t> order_;
};

class Vdif : public testing::Test {
 protected:
  std::unique_ptr<VoltageReader> open_bytes(const std::vector<char>& bytes,
                                            ReaderOptions options = {}) {
    tests::write_bytes(path_, bytes);
    options.decoding_pieces = 1 + random_() % 4;  // whatever the length
    return open(path_, options);
  }
  // Ten frames in a second unless a test says otherwise.
  Recording record(std::size_t threads, std::size_t frames, FrameSpec spec = {}) {
    return {spec, threads, frames, 10, 8, random_};
  }
  Folder folder_;
  std::string path_ = folder_ / "test.vdif";
  std::mt19937_64 random_ = tests::generator();
};

}  // namespace tautline::formats::vdif
