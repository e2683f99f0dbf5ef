// Writes a filterbank's sum over channels as a series of sigproc's and of PRESTO's, for other programs to
// read.
//
//   write_series FILE DM STEM      writes STEM.tim, STEM.dat and STEM.inf
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "tautline/formats/presto/dat.h"
#include "tautline/formats/sigproc/sigproc.h"
#include "tautline/formats/sigproc/writers.h"

namespace {

namespace formats = tautline::formats;

void write(const char* input, double dm, const std::string& stem) {
  const auto reader = formats::open_filterbank({input});
  const auto& d = reader->description();
  if (d.delivered != formats::Delivered::u8) throw std::runtime_error("give a file of bytes");
  std::vector<std::byte> bytes(d.samples * d.sample_bytes());
  reader->read(0, d.samples, bytes);
  std::vector<float> sums(d.samples, 0);
  for (std::size_t t = 0; t < d.samples; ++t)
    for (std::size_t c = 0; c < d.channels; ++c)
      sums[t] += std::to_integer<std::uint8_t>(bytes[t * d.channels + c]);
  formats::sigproc::Header header = formats::sigproc::header_of(d);
  header.refdm = dm;
  header.fch1_mhz = d.highest_mhz();
  formats::sigproc::TimeSeriesWriter tim(stem + ".tim", header, true);
  tim.write(sums);
  tim.finish();
  formats::presto::DatWriter dat(
      stem + ".dat", formats::presto::inf_of(d, dm, formats::presto::kDispersionConstant), true);
  dat.write(sums);
  dat.finish();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::cerr << "usage: write_series FILE DM STEM\n";
    return 2;
  }
  try {
    write(arguments[1], std::strtod(arguments[2], nullptr), arguments[3]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
