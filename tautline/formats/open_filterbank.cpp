// Chooses the reader of a filterbank or a time series by its first bytes and its name.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/distinct_ifs.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/filterbank_sequence.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/npy/npy.h"
#include "tautline/formats/npy/series.h"
#include "tautline/formats/psrfits/psrfits.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/series_set.h"

namespace tautline::formats {

#ifndef TAUTLINE_CFITSIO
std::unique_ptr<FilterbankReader> psrfits::open(const std::string& path, const FilterbankOptions&) {
  throw core::Error(core::ErrorKind::unsupported, path, "a PSRFITS file",
                    "a build that reads PSRFITS",
                    "install libcfitsio-dev and build with -DTAUTLINE_CFITSIO=ON");
}
#endif

void require_distinct_ifs(const FilterbankOptions& options) {
  std::vector<std::size_t> sorted = options.ifs;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw core::Error(core::ErrorKind::config, "IF", std::to_string(*twice) + " twice",
                      "each once (`ifs` 0,1)");
}

namespace {

constexpr std::size_t kFirstBytes = 2880;  // a block of FITS

// A .dat is recognised by the .inf beside it: its own bytes are only floats.
void require_inf(const std::string& path) {
  constexpr std::string_view kData = ".dat";
  if (!path.ends_with(kData)) return;
  const std::string text = path.substr(0, path.size() - kData.size()) + ".inf";
  throw core::Error(core::ErrorKind::io, path, "PRESTO's " + text + " is missing",
                    "it beside the .dat: it says what the samples are",
                    "put it there, or make both again");
}

[[noreturn]] void refuse_array(const std::string& path) {
  throw core::Error(core::ErrorKind::unsupported, path, "an array (.npy) without its .json",
                    "a filterbank, or dedispersed series",
                    "put the record that dedisperse wrote beside it");
}

const FileFormat* find(std::span<const std::byte> first_bytes, const std::string& name) {
  const FileFormat* format = find_format(&FileFormat::filterbank, first_bytes, name);
  return format != nullptr ? format : find_format(&FileFormat::series, first_bytes, name);
}

std::string readable() {
  std::vector<FileFormat> formats;
  for (const FileFormat& format : file_formats())
    if (format.filterbank != nullptr || format.series != nullptr) formats.push_back(format);
  return names_and_endings_of(formats);
}

std::unique_ptr<FilterbankReader> open_one(const std::string& path,
                                           const FilterbankOptions& options) {
  const std::vector<std::byte> head = InputFile(path).head(kFirstBytes);
  if (const FileFormat* format = find(head, path))
    return (format->filterbank != nullptr ? format->filterbank : format->series)(path, options);
  if (npy::recognise(head, "")) {
    if (npy::trials_of_series(path) == 0) refuse_array(path);
    return npy::open_series(path, options);
  }
  require_inf(path);
  throw other_kind(path, readable(), "check that the file was written completely");
}

}  // namespace

bool recognise_filterbank(std::span<const std::byte> first_bytes, const std::string& name) {
  return find(first_bytes, name) != nullptr;
}

bool is_folder_of_series(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return false;
  try {
    return !series_in_folder(path).paths.empty();
  } catch (const std::exception&) {
    return false;
  }
}

std::unique_ptr<FilterbankReader> open_filterbank(const std::vector<std::string>& paths,
                                                  const FilterbankOptions& options) {
  if (options.source) return options.source();
  require_distinct_ifs(options);
  const auto open = [options](const std::string& path) { return open_one(path, options); };
  std::error_code ignored;
  if (paths.size() == 1 && std::filesystem::is_directory(paths.front(), ignored)) {
    const FolderSeries series = series_in_folder(paths.front());
    auto reader =
        series.paths.size() == 1 ? open(series.paths.front()) : open_series_set(series.paths, open);
    if (!series.left_out.empty()) reader->add_remark(series.left_out);
    return reader;
  }
  if (paths.size() == 1) return open(paths.front());
  if (paths.size() > 1 && are_trials(open(paths[0])->description(), open(paths[1])->description()))
    return open_series_set(paths, open);
  std::vector<FilterbankSequence::Part> parts;
  for (const std::string& path : paths) parts.push_back({path, open_one(path, options)});
  return std::make_unique<FilterbankSequence>(std::move(parts));
}

std::size_t FilterbankReader::limit_to(std::size_t count, std::uint64_t left,
                                       std::span<const std::byte> destination) const {
  count = static_cast<std::size_t>(std::min<std::uint64_t>(count, left));
  const std::size_t sample_bytes = description_.sample_bytes();
  if (destination.size() / sample_bytes < count)
    throw core::Error(core::ErrorKind::config, "destination of a read",
                      std::to_string(destination.size()) + " bytes",
                      "at least " + std::to_string(count) + " x " + std::to_string(sample_bytes));
  return count;
}

std::size_t FilterbankReader::read_across(std::uint64_t first_sample, std::size_t count,
                                          std::span<std::byte> destination) {
  std::size_t done = 0;
  while (done < count) {
    const std::size_t got = read(first_sample + done, count - done,
                                 destination.subspan(done * description_.sample_bytes()));
    if (got == 0) break;
    done += got;
  }
  return done;
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
