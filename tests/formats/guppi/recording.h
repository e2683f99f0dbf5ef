// Random GUPPI RAW files, and what a reader should give of them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/formats/voltage_check.h"

namespace tautline::formats::guppi {

using CardList = std::vector<std::pair<std::string, std::string>>;

struct Shape {
  std::size_t antennas = 1, channels = 4, polarisations = 2, times = 64, overlap = 0;
  int bits = 8;
  std::size_t rows() const { return antennas * channels; }
  std::size_t new_times() const { return times - overlap; }
};

inline CardList cards_of(const Shape& s) {
  return {{"BACKEND", "'GUPPI   '"},
          {"TELESCOP", "'GBT     '"},
          {"SRC_NAME", "'B0329+54' / a pulsar"},
          {"OBSFREQ", "1378.125"},
          {"OBSBW", "-12.5"},
          {"OBSNCHAN", std::to_string(s.rows())},
          {"NPOL", s.polarisations == 2 ? "4" : "1"},
          {"NBITS", std::to_string(s.bits)},
          {"NANTS", std::to_string(s.antennas)},
          {"TBIN", fmt::format("{}", static_cast<double>(s.channels) / 12.5e6)},
          {"OVERLAP", std::to_string(s.overlap)},
          {"PKTFMT", "'1SFA    '"},
          {"PKTSIZE", std::to_string(s.rows() * s.polarisations * 2 *
                                     static_cast<std::size_t>(s.bits))},  // 8 times
          {"PKTIDX", "0"},
          {"STT_IMJD", "56000"},
          {"STT_SMJD", "3600"},
          {"STT_OFFS", "0.25"},
          {"BLOCSIZE", std::to_string(s.rows() * s.times * s.polarisations * 2 *
                                      static_cast<std::size_t>(s.bits) / 8)}};
}

inline void put_card(CardList& cards, const std::string& keyword, const std::string& value) {
  for (auto& [k, v] : cards)
    if (k == keyword) v = value;
}

inline void remove_card(CardList& cards, const std::string& keyword) {
  cards.erase(std::remove_if(cards.begin(), cards.end(),
                             [&](const auto& card) { return card.first == keyword; }),
              cards.end());
}

inline std::vector<char> header_bytes(const CardList& cards) {
  std::string text;
  for (const auto& [keyword, value] : cards) {
    std::string card = keyword;
    card.resize(8, ' ');
    card += "= " + value;
    card.resize(80, ' ');
    text += card;
  }
  text += "END";
  text.resize((text.size() + 79) / 80 * 80, ' ');
  for (const auto& [keyword, value] : cards)
    if (keyword == "DIRECTIO" && value == "1") text.resize((text.size() + 511) / 512 * 512, '\0');
  return {text.begin(), text.end()};
}

// A sky of codes by absolute time, so that blocks can be cut out of it anywhere.
class Recording {
 public:
  Recording(const Shape& shape, std::size_t blocks, std::mt19937_64& random)
      : shape_(shape), blocks_(blocks) {
    const std::size_t values = total_with_overlap() * shape.rows() * shape.polarisations * 2;
    codes_.resize(values);
    for (auto& code : codes_)
      code = static_cast<std::uint32_t>(random()) & ((1u << shape.bits) - 1u);
    cards_ = cards_of(shape);
  }

  CardList& cards() { return cards_; }
  std::size_t total() const { return blocks_ * shape_.new_times(); }

  std::uint32_t code(std::size_t row, std::size_t time, std::size_t pol, std::size_t part) const {
    return codes_[((row * total_with_overlap() + time) * shape_.polarisations + pol) * 2 + part];
  }

  double level(std::uint32_t code) const {
    if (shape_.bits == 2) return 2.0 * code - 3;
    const std::uint32_t half = 1u << (shape_.bits - 1);
    return code < half ? static_cast<double>(code) : static_cast<double>(code) - 2.0 * half;
  }

  std::vector<char> data(std::size_t block) const {
    std::vector<char> out;
    for (std::size_t row = 0; row < shape_.rows(); ++row) {
      std::uint32_t filled = 0, byte = 0;
      for (std::size_t t = 0; t < shape_.times; ++t)
        for (std::size_t p = 0; p < shape_.polarisations; ++p)
          for (std::size_t part = 0; part < 2; ++part) {
            const std::uint32_t c = code(row, block * shape_.new_times() + t, p, part);
            if (shape_.bits == 16) {
              out.push_back(static_cast<char>(c & 255));
              out.push_back(static_cast<char>(c >> 8));
            } else if (shape_.bits == 8) {
              out.push_back(static_cast<char>(c));
            } else {
              // 4 bits: re in the high half; 2 bits: from the low end.
              byte |= shape_.bits == 4 ? c << (part == 0 ? 4 : 0) : c << filled;
              filled += static_cast<std::uint32_t>(shape_.bits);
              if (filled == 8) {
                out.push_back(static_cast<char>(byte));
                filled = byte = 0;
              }
            }
          }
    }
    return out;
  }

  std::vector<char> header(std::size_t block) const {
    CardList cards = cards_;
    put_card(cards, "PKTIDX", std::to_string(first_packet + block * shape_.new_times() / 8));
    return header_bytes(cards);
  }

  std::vector<char> block_bytes(std::size_t block) const {
    std::vector<char> out = header(block);
    const auto payload = data(block);
    out.insert(out.end(), payload.begin(), payload.end());
    return out;
  }

  std::vector<char> bytes(const std::vector<std::size_t>& blocks) const {
    std::vector<char> out;
    for (const std::size_t b : blocks) {
      const auto block = block_bytes(b);
      out.insert(out.end(), block.begin(), block.end());
    }
    return out;
  }
  std::vector<char> bytes() const { return bytes(all()); }
  std::vector<std::size_t> all() const {
    std::vector<std::size_t> blocks(blocks_);
    for (std::size_t b = 0; b < blocks_; ++b) blocks[b] = b;
    return blocks;
  }

  void expect(const tests::Stream& stream, const std::vector<std::size_t>& lost = {},
              std::size_t first = 0) const {
    ASSERT_EQ(stream.samples(), total() - first);
    expect_values(stream, lost, first);
  }

  void expect_values(const tests::Stream& stream, const std::vector<std::size_t>& lost,
                     std::size_t first) const {
    for (std::size_t k = 0; k < stream.samples(); ++k) {
      const std::size_t t = first + k;
      const bool missing =
          std::find(lost.begin(), lost.end(), t / shape_.new_times()) != lost.end();
      for (std::size_t a = 0; a < shape_.antennas; ++a)
        for (std::size_t p = 0; p < shape_.polarisations; ++p) {
          const std::size_t input = a * shape_.polarisations + p;
          ASSERT_EQ(stream.valid(input, k), !missing) << "time " << t;
          if (missing) continue;
          for (std::size_t c = 0; c < shape_.channels; ++c) {
            const std::size_t row = a * shape_.channels + c;
            ASSERT_EQ(stream.at(c, input, k),
                      std::complex<double>(level(code(row, t, p, 0)), level(code(row, t, p, 1))))
                << "time " << t << " channel " << c << " input " << input;
          }
        }
    }
  }

  std::size_t first_packet = 0;

 private:
  std::size_t total_with_overlap() const { return blocks_ * shape_.new_times() + shape_.overlap; }
  Shape shape_;
  std::size_t blocks_;
  std::vector<std::uint32_t> codes_;
  CardList cards_;
};

}  // namespace tautline::formats::guppi
