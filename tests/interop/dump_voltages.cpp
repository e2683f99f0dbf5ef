// Writes what a voltage reader delivers as plain numbers, for interoperability tests.
//
//   dump_voltages FILE SAMPLES VALID [RATE_HZ]
//
// SAMPLES gets complex float32 [channel][input][time], VALID one byte a sample [input][time]; the
// description and the damage go to standard output as JSON. RATE_HZ is ReaderOptions' assumed rate.
#include <complex>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "tautline/formats/voltage_reader.h"
#include "tests/formats/voltage_check.h"

namespace {

template <class T>
void write_file(const char* path, const std::vector<T>& values) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
  if (!file.flush()) throw std::runtime_error(std::string("cannot write ") + path);
}

void dump(const char* input, const char* samples_path, const char* valid_path,
          const tautline::formats::ReaderOptions& options) {
  const auto reader = tautline::formats::open_voltages(input, options);
  const auto& d = reader->description();
  const std::uint64_t total = reader->total_samples();
  constexpr std::size_t kBlockSamples = 1'000;
  const tautline::tests::Stream stream = tautline::tests::read_all(*reader, kBlockSamples);
  std::vector<std::complex<float>> samples;
  std::vector<char> valid;
  for (std::size_t c = 0; c < d.channels; ++c)
    for (std::size_t i = 0; i < d.inputs(); ++i)
      for (std::size_t t = 0; t < stream.samples(); ++t) samples.emplace_back(stream.at(c, i, t));
  for (std::size_t i = 0; i < d.inputs(); ++i)
    for (std::size_t t = 0; t < stream.samples(); ++t) valid.push_back(stream.valid(i, t) ? 1 : 0);
  write_file(samples_path, samples);
  write_file(valid_path, valid);
  const auto& damage = reader->damage();
  const nlohmann::json facts = {
      {"format", to_string(d.format)},
      {"antennas", d.antennas},
      {"polarisations", d.polarisations},
      {"channels", d.channels},
      {"rate_hz", {d.rate_hz.numerator, d.rate_hz.denominator}},
      {"start_seconds", d.start.seconds},
      {"start_fraction", {d.start.fraction_numerator, d.start.fraction_denominator}},
      {"centre_hz", d.centre_hz},
      {"bandwidth_hz", d.bandwidth_hz},
      {"samples", stream.samples()},
      {"total_samples", total},
      {"lost_samples", damage.lost_samples},
      {"dropped_samples", damage.dropped_samples},
      {"trailing_bytes", damage.trailing_bytes},
      {"messages", damage.messages}};
  std::cout << facts.dump() << '\n';
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4 && count != 5) {
    std::cerr << "usage: dump_voltages FILE SAMPLES VALID [RATE_HZ]\n";
    return 2;
  }
  try {
    tautline::formats::ReaderOptions options;
    if (count == 5) options.assumed.rate_hz = tautline::core::parse_decimal(arguments[4]);
    dump(arguments[1], arguments[2], arguments[3], options);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
