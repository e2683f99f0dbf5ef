// Writes what a filterbank reader delivers as plain numbers, for interoperability tests.
//
//   dump_filterbank FILE SAMPLES
//
// SAMPLES gets float32 [time][channel], less the zero level; the description and the damage go to
// standard output as JSON.
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "tautline/formats/filterbank_reader.h"

namespace {

using tautline::formats::Delivered;

template <class T>
void convert(const std::vector<std::byte>& bytes, double zero, std::vector<float>& values) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    T value;
    std::memcpy(&value, bytes.data() + k * sizeof value, sizeof value);
    values[k] = static_cast<float>(static_cast<double>(value) - zero);
  }
}

void dump(const char* input, const char* samples_path) {
  const auto reader = tautline::formats::open_filterbank({input});
  const auto& d = reader->description();
  std::ofstream file(samples_path, std::ios::binary | std::ios::trunc);
  constexpr std::size_t kBlockSamples = 1'000;
  std::vector<std::byte> bytes(kBlockSamples * d.sample_bytes());
  for (std::uint64_t at = 0;;) {
    const std::size_t got = reader->read(at, kBlockSamples, bytes);
    if (got == 0) break;
    std::vector<float> values(got * d.channels);
    if (d.delivered == Delivered::u8) convert<std::uint8_t>(bytes, d.zero_level, values);
    if (d.delivered == Delivered::u16) convert<std::uint16_t>(bytes, d.zero_level, values);
    if (d.delivered == Delivered::f32) convert<float>(bytes, 0, values);
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
    at += got;
  }
  if (!file.flush()) throw std::runtime_error(std::string("cannot write ") + samples_path);
  const nlohmann::json facts = {{"format", d.format},
                                {"channels", d.channels},
                                {"fch1_mhz", d.fch1_mhz},
                                {"foff_mhz", d.foff_mhz},
                                {"tsamp_s", d.tsamp_s},
                                {"tstart_mjd", d.tstart_mjd},
                                {"bits", d.bits},
                                {"samples", d.samples},
                                {"source", d.source},
                                {"refdm", d.refdm.value_or(-1)},
                                {"delivered", tautline::formats::to_string(d.delivered)},
                                {"damage", reader->damage().messages}};
  std::cout << facts.dump() << '\n';
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::cerr << "usage: dump_filterbank FILE SAMPLES\n";
    return 2;
  }
  try {
    dump(arguments[1], arguments[2]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
