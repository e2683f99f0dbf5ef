#include <limits>

#include "tautline/formats/input_file.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/formats/pt3/pt3.h"
#include "tautline/formats/ptu/ptu.h"

namespace tautline::formats {

std::vector<DetectorCount> count_detectors(PhotonReader& reader) {
  constexpr std::size_t kBlock = 1 << 14;
  std::vector<std::uint64_t> found(std::size_t{std::numeric_limits<std::uint16_t>::max()} + 1);
  std::vector<Photon> photons(kBlock);
  reader.rewind();
  while (const std::size_t count = reader.read(photons))
    for (std::size_t n = 0; n < count; ++n) ++found[photons[n].channel];
  reader.rewind();
  std::vector<DetectorCount> detectors;
  for (std::size_t c = 0; c < found.size(); ++c)
    if (found[c] > 0) detectors.push_back({static_cast<std::uint16_t>(c), found[c]});
  return detectors;
}

bool recognise_photons(std::span<const std::byte> first_bytes, const std::string& name) {
  return ptu::recognise(first_bytes) || pt3::recognise(first_bytes) || name.ends_with(".ptu") ||
         name.ends_with(".pt3");
}

std::unique_ptr<PhotonReader> open_photons(const std::string& path) {
  constexpr std::size_t kFirstBytes = 64;
  const auto first = InputFile(path).head(kFirstBytes);
  if (ptu::recognise(first)) return ptu::open(path);
  if (pt3::recognise(first)) return pt3::open(path);
  throw format_error(path, "first bytes", first.empty() ? "an empty file" : "of no known format",
                     "photon time tags: PTU (PQTTTR) or PT3 (PicoHarp 300)",
                     "convert the file to PTU");
}

}  // namespace tautline::formats
