// sigproc files built byte by byte, apart from the code under test.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/formats/voltage_check.h"

namespace tautline::tests {

class SigprocBytes {
 public:
  SigprocBytes& word(const std::string& text) {
    put(static_cast<std::int32_t>(text.size()));
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return *this;
  }
  SigprocBytes& integer(const std::string& key, std::int32_t value) { return word(key).put(value); }
  SigprocBytes& real(const std::string& key, double value) { return word(key).put(value); }
  SigprocBytes& byte(const std::string& key, std::int8_t value) { return word(key).put(value); }
  SigprocBytes& text(const std::string& key, const std::string& value) {
    return word(key).word(value);
  }
  SigprocBytes& data(const std::vector<char>& data) {
    bytes_.insert(bytes_.end(), data.begin(), data.end());
    return *this;
  }
  template <class T>
  SigprocBytes& put(T value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.insert(bytes_.end(), raw, raw + sizeof value);
    return *this;
  }
  const std::vector<char>& bytes() const { return bytes_; }

 private:
  std::vector<char> bytes_;
};

struct SigprocShape {
  std::int32_t nchans = 3, nbits = 8, nifs = 1;
  double fch1 = 1500, foff = -0.5, tsamp = 0.000512, tstart = 58000.25;
  bool is_signed = false;
};

inline SigprocBytes sigproc_header(const SigprocShape& s) {
  SigprocBytes header;
  header.word("HEADER_START").text("source_name", "B0329+54").integer("telescope_id", 4);
  header.integer("data_type", 1).real("fch1", s.fch1).real("foff", s.foff);
  header.integer("nchans", s.nchans).integer("nbits", s.nbits).integer("nifs", s.nifs);
  if (s.is_signed) header.byte("signed", 1);
  header.real("tstart", s.tstart).real("tsamp", s.tsamp).word("HEADER_END");
  return header;
}

/// Values in the order of the file as its bytes: the first one in the low bits.
inline std::vector<char> sigproc_data(const std::vector<double>& values, int nbits) {
  std::vector<char> data;
  if (nbits == 32) {
    for (const double value : values) {
      const auto single = static_cast<float>(value);
      char raw[4];
      std::memcpy(raw, &single, 4);
      data.insert(data.end(), raw, raw + 4);
    }
    return data;
  }
  data.resize((values.size() * static_cast<std::size_t>(nbits) + 7) / 8, 0);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const auto code = static_cast<unsigned>(static_cast<int>(values[k]));
    for (int bit = 0; bit < nbits; ++bit) {
      const std::size_t at = k * static_cast<std::size_t>(nbits) + static_cast<std::size_t>(bit);
      if ((code >> bit & 1) != 0)
        data[at / 8] = static_cast<char>(static_cast<unsigned char>(data[at / 8]) | 1U << at % 8);
    }
  }
  return data;
}

}  // namespace tautline::tests
