// Which reader a filterbank or a time series needs, told by its first bytes and its name.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/filterbank_sequence.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/presto/dat.h"
#include "tautline/formats/sigproc/sigproc.h"
#ifdef TAUTLINE_CFITSIO
#include "tautline/formats/psrfits/psrfits.h"
#endif

namespace tautline::formats {

namespace {

constexpr std::size_t kFirstBytes = 2880;  // a block of FITS

bool is_fits(std::span<const std::byte> first_bytes) {
  constexpr std::string_view kMark = "SIMPLE  =";
  return first_bytes.size() >= kMark.size() &&
         std::memcmp(first_bytes.data(), kMark.data(), kMark.size()) == 0;
}

std::unique_ptr<FilterbankReader> open_fits(const std::string& path,
                                            const FilterbankOptions& options) {
#ifdef TAUTLINE_CFITSIO
  return psrfits::open(path, options);
#else
  (void)options;
  throw core::Error(core::ErrorKind::unsupported, path, "a PSRFITS file",
                    "a build that reads PSRFITS",
                    "install libcfitsio-dev and build with -DTAUTLINE_CFITSIO=ON");
#endif
}

void require_distinct_ifs(const FilterbankOptions& options) {
  std::vector<std::size_t> sorted = options.ifs;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw core::Error(core::ErrorKind::config, "IF", std::to_string(*twice) + " twice",
                      "each once (`ifs` 0,1)");
}

// A .dat is told by the .inf beside it, as its own bytes are floats and no more.
void require_inf(const std::string& path) {
  constexpr std::string_view kData = ".dat";
  if (!path.ends_with(kData)) return;
  const std::string text = path.substr(0, path.size() - kData.size()) + ".inf";
  throw core::Error(core::ErrorKind::io, path, "PRESTO's " + text + " is missing",
                    "it beside the .dat: it says what the samples are",
                    "put it there, or make both again");
}

std::unique_ptr<FilterbankReader> open_one(const std::string& path,
                                           const FilterbankOptions& options) {
  const std::vector<std::byte> head = InputFile(path).head(kFirstBytes);
  if (sigproc::recognise(head)) return sigproc::open(path, options);
  if (is_fits(head)) return open_fits(path, options);
  if (presto::recognise(path)) return presto::open(path, options);
  constexpr std::string_view kNumpy = "\x93NUMPY";
  if (head.size() >= kNumpy.size() && std::memcmp(head.data(), kNumpy.data(), kNumpy.size()) == 0)
    throw core::Error(core::ErrorKind::unsupported, path, "an array (.npy)",
                      "a filterbank or a series; arrays of trials are written, not read",
                      "write .dat or .tim (-o FOLDER of dedisperse), or search the filterbank");
  require_inf(path);
  throw format_error(
      path, "kind of file, told by its first bytes and its name",
      head.empty() ? "an empty file" : "unknown",
      "sigproc (.fil, .tim), PSRFITS search mode (.sf, .fits) or PRESTO (.dat, .inf)",
      "check that the file was written completely");
}

}  // namespace

bool recognise_filterbank(std::span<const std::byte> first_bytes, const std::string& name) {
  return sigproc::recognise(first_bytes) || is_fits(first_bytes) || presto::recognise(name);
}

std::unique_ptr<FilterbankReader> open_filterbank(const std::vector<std::string>& paths,
                                                  const FilterbankOptions& options) {
  require_distinct_ifs(options);
  if (paths.size() == 1) return open_one(paths.front(), options);
  std::vector<FilterbankSequence::Part> parts;
  for (const std::string& path : paths) parts.push_back({path, open_one(path, options)});
  return std::make_unique<FilterbankSequence>(std::move(parts));
}

std::string to_string(Delivered type) {
  return type == Delivered::u8 ? "u8" : type == Delivered::u16 ? "u16" : "f32";
}

double FilterbankDescription::highest_mhz() const {
  return channel_mhz.empty() ? fch1_mhz : *std::max_element(channel_mhz.begin(), channel_mhz.end());
}

double FilterbankDescription::lowest_mhz() const {
  return channel_mhz.empty() ? fch1_mhz : *std::min_element(channel_mhz.begin(), channel_mhz.end());
}

}  // namespace tautline::formats
