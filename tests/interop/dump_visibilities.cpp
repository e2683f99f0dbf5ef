// Writes what a reader of visibilities delivers as plain numbers, for interoperability tests.
//
//   dump_visibilities FILE OUT
//
// OUT gets, for each integration, complex64 [channel][baseline] and then int64 counts of the same shape; the
// description goes to standard output as JSON.
#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "tautline/formats/visibility_reader.h"

namespace {

template <class T>
void write_rows(std::ofstream& file, const tautline::core::View<const T, 2>& values) {
  for (std::size_t c = 0; c < values.extent(0); ++c)
    for (std::size_t b = 0; b < values.extent(1); ++b) {
      const T value = values(c, b);
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
    }
}

void dump(const char* input, const char* output) {
  const auto reader = tautline::formats::open_visibilities(input);
  const auto& d = reader->description();
  std::ofstream file(output, std::ios::binary | std::ios::trunc);
  nlohmann::json times = nlohmann::json::array(), inputs = nlohmann::json::array();
  for (std::size_t k = 0; k < reader->integrations(); ++k) {
    const auto integration = reader->read(k);
    write_rows(file, integration.visibilities);
    write_rows(file, integration.counts);
    times.push_back(
        {tautline::core::to_iso(reader->middles()[k]), reader->integration_lengths_s()[k]});
  }
  for (const auto& label : d.array.inputs)
    inputs.push_back({d.array.antennas[label.antenna].name, std::string(1, label.feed)});
  if (!file.flush()) throw std::runtime_error(std::string("cannot write ") + output);
  const nlohmann::json facts = {{"inputs", inputs},
                                {"channel_hz", d.channel_hz},
                                {"channel_width_hz", d.channel_width_hz},
                                {"times", times},
                                {"nominal_count", d.nominal_count},
                                {"telescope", d.telescope},
                                {"tracked", d.phase_centre.tracked},
                                {"centre", d.phase_centre.name},
                                {"ra_deg", d.phase_centre.ra_deg},
                                {"dec_deg", d.phase_centre.dec_deg}};
  std::cout << facts.dump() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw std::runtime_error("two arguments: FILE OUT");
    dump(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
