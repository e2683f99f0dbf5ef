#include <limits>

#include "tautline/formats/file_formats.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/photon_reader.h"

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
  return find_format(&FileFormat::photons, first_bytes, name) != nullptr;
}

std::unique_ptr<PhotonReader> open_photons(const std::string& path) {
  constexpr std::size_t kFirstBytes = 64;
  const auto first = InputFile(path).head(kFirstBytes);
  if (const FileFormat* format = find_format(&FileFormat::photons, first, ""))
    return format->photons(path);
  throw format_error(
      path, "first bytes", first.empty() ? "an empty file" : "of no known format",
      "photon time tags: " + names_and_endings_of(formats_with(&FileFormat::photons)),
      "convert the file to PTU");
}

}  // namespace tautline::formats
