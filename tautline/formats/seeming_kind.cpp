#include "tautline/formats/seeming_kind.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>

#include "tautline/formats/curves_hdf5/curves_hdf5.h"
#include "tautline/formats/cutout_hdf5/cutout_hdf5.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/photon_hdf5/photon_hdf5.h"
#include "tautline/formats/text.h"
#include "tautline/formats/uvh5/uvh5.h"

namespace tautline::formats {

namespace {

using std::string_view_literals::operator""sv;

constexpr std::size_t kHeadBytes = 4096;

struct Mark {
  std::string_view bytes, kind;
};

// Kinds that nothing here reads: the bytes that a file of the kind begins with.
constexpr std::array<Mark, 4> kPictures{{{"\x89PNG\r\n\x1a\n"sv, "a PNG picture"},
                                         {"GIF87a"sv, "a GIF picture"},
                                         {"GIF89a"sv, "a GIF picture"},
                                         {"%PDF-"sv, "PDF"}}};
constexpr std::array<Mark, 4> kOthers{{{"\x7f"
                                        "ELF"sv,
                                        "a program"},
                                       {"<!DOCTYPE html"sv, "an HTML page"},
                                       {"<!doctype html"sv, "an HTML page"},
                                       {"{"sv, "JSON"}}};

// Compressed files, which nothing here reads (but curves in a ZIP archive), and the program that decompresses them.
struct Compression {
  std::string_view bytes, kind, ending, program;
};
constexpr std::array<Compression, 5> kCompressions{
    {{"\x1f\x8b\x08"sv, "gzip-compressed"sv, ".gz"sv, "gunzip -k"sv},
     {"BZh"sv, "bzip2-compressed"sv, ".bz2"sv, "bunzip2 -k"sv},
     {"\xfd"
      "7zXZ\0"sv,
      "xz-compressed"sv, ".xz"sv, "unxz -k"sv},
     {"\x28\xb5\x2f\xfd"sv, "zstd-compressed"sv, ".zst"sv, "unzstd"sv},
     {"PK\x03\x04"sv, "a ZIP archive"sv, ".zip"sv, "unzip"sv}}};
// Of bzip2 behind "BZh9", which a text may begin with.
constexpr std::string_view kBzip2Block = "1AY&SY";

const Compression* compression_of(std::string_view bytes) {
  for (const Compression& one : kCompressions) {
    if (!bytes.starts_with(one.bytes)) continue;
    const bool bzip2 = one.ending == ".bz2";
    return bzip2 && bytes.find(kBzip2Block) != one.bytes.size() + 1 ? nullptr : &one;
  }
  return nullptr;
}

// Texts, the command that reads such a text, and the ending that its readers go by.
struct Text {
  std::string_view words, kind, ending;
  TextKind is = TextKind::other;
};
// By the first bytes.
constexpr Text kAlv{"ALV-"sv,
                    "this is a correlation curve (ALV): fit, compare and inspect read it"sv,
                    ".ASC"sv, TextKind::curve};
constexpr std::string_view kCandidates =
    "these are candidates: compare, plot and inspect read them";
// By words within the first bytes.
constexpr std::array<Text, 19> kTexts{
    {{"\"tautline.simulation.truth\""sv,
      "this is the truth of simulated voltages: compare takes it behind their visibilities"sv,
      ".json"sv, TextKind::truth},
     {"\"tautline.simulation.filterbank\""sv,
      "this is the truth of a simulated filterbank: compare takes it behind the candidates of a "
      "search"sv,
      ".json"sv, TextKind::truth},
     {"\"tautline.truth.photons\""sv,
      "this is the truth of simulated photons: hold its n and tau beside those of fit"sv,
      ".json"sv},
     {"\"tautline.search.record\""sv,
      "this is the record of a search: give the candidates that lie beside it"sv, ".json"sv},
     {"\"tautline.dedisperse.record\""sv,
      "this is the record of dedisperse: give the series that lie beside it"sv, ".json"sv},
     {"\"tautline.channelize.record\""sv,
      "this is the record of channelize: give the file that lies beside it"sv, ".json"sv},
     {"\"tautline.tuning\""sv,
      "this is what a tuner found: open the page (.html) that lies beside it"sv, ".json"sv},
     {"\"tautline.record\""sv, "this is a record: give the file that lies beside it"sv, ".json"sv},
     {"snr,time_s,sample,"sv, kCandidates, ".csv"sv, TextKind::candidates},
     {"file,snr,stime,"sv, kCandidates, ".csv"sv, TextKind::candidates},
     {"# DM      Sigma "sv, kCandidates, ".singlepulse"sv, TextKind::candidates},
     {"\"tautline.candidate\""sv, kCandidates, ""sv, TextKind::candidates},
     {"sensor,label,row,column,status"sv,
      "these are results of fit: plot draws them with their curves, G.h5 with `fit` F.csv"sv, ""sv},
     {"time_s,detector_"sv, "this is a histogram of microtimes: plot and inspect read it"sv,
      ".csv"sv},
     {"holds one correlation curve"sv,
      "this is a correlation curve: fit, compare and inspect read it"sv, ".csv"sv, TextKind::curve},
     {"[CorrelationFunction]"sv,
      "this is a correlation curve (Correlator.com): fit, compare and inspect read it"sv, ".SIN"sv,
      TextKind::curve},
     {"[[antenna]]"sv,
      "this is an array of antennas: correlate, delays and simulate voltages take it beside their "
      "input"sv,
      ".toml"sv},
     {"[[source]]"sv, "this is a scene: simulate voltages reads it"sv, ".toml"sv},
     {"<html"sv, "this is a page: open it in a browser"sv, ""sv}}};

// Heimdall's lists have no heading: nine numbers or more in a line.
bool is_heimdall_list(std::string_view head) {
  constexpr std::ptrdiff_t kLeastTabs = 8;
  const std::string_view line = head.substr(0, head.find('\n'));
  return line.find_first_not_of("0123456789.+-e\t\r") == std::string_view::npos &&
         std::count(line.begin(), line.end(), '\t') >= kLeastTabs;
}

bool is_text(std::string_view head) {
  return std::none_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == 127 || (byte < 32 && c != '\n' && c != '\r' && c != '\t' && c != '\f');
  });
}

std::string kind_of_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path + "/table.dat", ignored) ? "a Measurement Set (a folder)"
                                                               : "a folder";
}

std::string first_bytes_of(const std::string& path) {
  std::error_code ignored;
  std::string bytes;
  if (!std::filesystem::is_regular_file(path, ignored)) return bytes;
  std::ifstream file(path, std::ios::binary);
  bytes.resize(kHeadBytes);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

bool has_ending(const FileFormat& format, const std::string& path) {
  const std::string lower_case = lower(path);
  return std::any_of(format.endings.begin(), format.endings.end(), [&](const std::string& ending) {
    return lower_case.ends_with(lower(ending));
  });
}

// Text of any kind may be called .csv or .asc.
bool tells_by_name(const FileFormat& format) {
  return format.recognise != nullptr || format.name == "HDF5";
}

// By the bytes where they prove a format; by the name where they prove nothing and do not contradict
// it (a .fil without its header), or several formats have them (HDF5).
const FileFormat* format_of(std::span<const std::byte> bytes, const std::string& path) {
  if (bytes.empty()) return nullptr;
  const FileFormat *by_bytes = nullptr, *by_name = nullptr;
  for (const FileFormat& format : file_formats()) {
    if (by_bytes == nullptr && !format.kind.empty() && format.is(bytes, "")) by_bytes = &format;
    if (by_name == nullptr && tells_by_name(format) && has_ending(format, path) &&
        format.is(bytes, path))
      by_name = &format;
  }
  if (by_bytes == nullptr) return by_name;
  return by_bytes->kind == "HDF5" && by_name != nullptr ? by_name : by_bytes;
}

const FileFormat* format_of(const std::string& path) {
  const std::string bytes = first_bytes_of(path);
  return format_of(std::as_bytes(std::span(bytes)), path);
}

const Text* known_text(std::string_view bytes) {
  if (!is_text(bytes)) return nullptr;
  if (bytes.starts_with(kAlv.words)) return &kAlv;
  const auto* known = std::ranges::find_if(
      kTexts, [&](const Text& text) { return bytes.find(text.words) != std::string_view::npos; });
  return known == kTexts.end() ? nullptr : known;
}

// What HDF5 holds, told by its datasets. Empty: not known, as of a file that is cut short.
struct Hdf5Kind {
  std::string name, commands;
};

Hdf5Kind kind_of_hdf5([[maybe_unused]] const std::string& path) {
#ifdef TAUTLINE_HDF5
  try {
    if (uvh5::holds_visibilities(path))
      return {"visibilities (UVH5)", "report, compare and inspect read them"};
    if (cutout_hdf5::holds_cutout(path))
      return {"a cut-out of a candidate (HDF5)", "plot and inspect read it"};
    if (photon_hdf5::holds_photons(path))
      return {"photons (Photon-HDF5)", "autocorrelate and inspect read them"};
    if (curves_hdf5::holds_curves(path))
      return {"correlation curves (HDF5)", "fit, compare and inspect read them"};
  } catch (const core::Error&) {  // without the module that reads HDF5
  }
#endif
  return {};
}

std::string commands_for_text(const std::string& path) {
  const Text* known = known_text(first_bytes_of(path));
  return known == nullptr ? std::string() : std::string(known->kind);
}

std::string commands_that_read(const FileFormat& format) {
  const std::string name = " (" + format.name + ")";
  if (format.voltages != nullptr && format.counts != nullptr)
    return "this is an array" + name +
           ": correlate and channelize read voltages, autocorrelate reads counts";
  if (format.voltages != nullptr)
    return "this is voltage data" + name + ": correlate and channelize read it";
  if (format.filterbank != nullptr)
    return "this is a filterbank" + name + ": search and dedisperse read it";
  if (format.series != nullptr) return "this is a dedispersed series" + name + ": search reads it";
  if (format.photons != nullptr) return "this is photon data" + name + ": autocorrelate reads it";
  if (format.counts != nullptr)
    return "this may be photon counts" + name + ": autocorrelate reads it";
  if (format.read_curves != nullptr)
    return "these are correlation curves" + name + ": fit, compare and inspect read them";
  if (format.visibilities != nullptr)
    return "these are visibilities" + name + ": report, compare and inspect read them";
  return {};
}

}  // namespace

std::string ending_by_contents(const std::string& path) {
  const std::string bytes = first_bytes_of(path);
#ifdef TAUTLINE_HDF5
  if (bytes.starts_with("\x89HDF\r\n\x1a\n"sv))
    return uvh5::holds_visibilities(path) ? ".uvh5" : ".h5";
#endif
  if (is_heimdall_list(bytes)) return ".cand";
  const Text* known = known_text(bytes);
  return known == nullptr ? std::string() : std::string(known->ending);
}

TextKind text_kind_of(std::span<const std::byte> first_bytes) {
  const std::string_view text(reinterpret_cast<const char*>(first_bytes.data()),
                              std::min(first_bytes.size(), kHeadBytes));
  if (!is_text(text)) return TextKind::none;
  if (is_heimdall_list(text)) return TextKind::candidates;
  const Text* known = known_text(text);
  return known == nullptr ? TextKind::unknown : known->is;
}

std::string picture_kind_of(std::span<const std::byte> first_bytes) {
  const std::string_view bytes(reinterpret_cast<const char*>(first_bytes.data()),
                               first_bytes.size());
  for (const Mark& mark : kPictures)
    if (bytes.starts_with(mark.bytes)) return std::string(mark.kind);
  const bool jpeg = bytes.starts_with("\xff\xd8\xff"sv) && bytes.size() >= 10 &&
                    (bytes.substr(6, 4) == "JFIF" || bytes.substr(6, 4) == "Exif");
  return jpeg ? "a JPEG picture" : "";
}

std::string seeming_kind_of(std::span<const std::byte> first_bytes) {
  const std::string_view bytes(reinterpret_cast<const char*>(first_bytes.data()),
                               std::min(first_bytes.size(), kHeadBytes));
  for (const FileFormat& format : file_formats())
    if (!format.kind.empty() && format.is(first_bytes, "")) return format.kind;
  if (const Compression* found = compression_of(bytes)) return std::string(found->kind);
  if (std::string picture = picture_kind_of(first_bytes); !picture.empty()) return picture;
  for (const Mark& mark : kOthers)
    if (bytes.starts_with(mark.bytes)) return std::string(mark.kind);
  return is_text(bytes) ? "text" : "";
}

bool is_known_text(const std::string& path) {
  return !commands_for_text(path).empty();
}

bool is_lines_of_text(const std::string& path) {
  const std::string bytes = first_bytes_of(path);
  return is_text(bytes) && bytes.find('\n') != std::string::npos;
}

bool is_known_format(const std::string& path) {
  return format_of(path) != nullptr;
}

bool is_compressed(std::span<const std::byte> first_bytes) {
  return compression_of({reinterpret_cast<const char*>(first_bytes.data()), first_bytes.size()}) !=
         nullptr;
}

bool is_named_compressed(const std::string& path) {
  const Compression* found = compression_of(first_bytes_of(path));
  return found != nullptr && lower(path).ends_with(found->ending);
}

std::string how_to_decompress(const std::string& path) {
  const Compression* found = compression_of(first_bytes_of(path));
  if (found == nullptr) return {};
  // The programs go by the ending, and data that came by a pipe are in no file of the user's.
  if (!is_named_compressed(path))
    return "decompress it first, as " + std::string(found->program) + " does";
  const std::string advice = "decompress it first: " + std::string(found->program) + " " + path;
  return found->ending == ".zip"
             ? "fit, compare and inspect read it where it holds curves; else " + advice
             : advice;
}

void refuse_compressed(const std::string& path, const std::string& expected) {
  if (!how_to_decompress(path).empty()) throw other_kind(path, expected, "");
}

std::string commands_for(const std::string& path) {
  const FileFormat* format = format_of(path);
  if (format == nullptr || format->read_curves == nullptr)
    if (std::string advice = how_to_decompress(path); !advice.empty()) return advice;
  if (format == nullptr) return commands_for_text(path);
  if (seeming_kind(path) == "HDF5") {
    const Hdf5Kind held = kind_of_hdf5(path);
    if (!held.name.empty())
      return (held.commands.ends_with("them") ? "these are " : "this is ") + held.name + ": " +
             held.commands;
  }
  return commands_that_read(*format);
}

std::string commands_for(std::span<const std::byte> first_bytes, const std::string& name) {
  if (const FileFormat* format = format_of(first_bytes, name)) return commands_that_read(*format);
  // Of formats without a kind, in whose first bytes several records agree.
  for (const FileFormat& format : file_formats())
    if (format.recognise != nullptr && format.is(first_bytes, ""))
      return commands_that_read(format);
  const Text* known = known_text({reinterpret_cast<const char*>(first_bytes.data()),
                                  std::min(first_bytes.size(), kHeadBytes)});
  return known == nullptr ? std::string() : std::string(known->kind);
}

core::Error other_kind(const std::string& path, const std::string& expected,
                       const std::string& advice) {
  const std::string commands = commands_for(path);
  const std::string kind = seeming_kind(path);
  if (kind == "an empty file")
    return {core::ErrorKind::format, path, kind, expected,
            "check that the file was written completely"};
  if (kind == "HDF5") {
    const Hdf5Kind held = kind_of_hdf5(path);
    if (!held.name.empty())
      return {core::ErrorKind::format, path + ": kind of file", held.name, expected, held.commands};
  }
  // Its .inf alone makes a series of PRESTO one.
  if (kind.empty() && commands.empty() && path.ends_with(".dat")) {
    const std::string inf = path.substr(0, path.size() - 3) + "inf";
    return {core::ErrorKind::format, path + ": kind of file",
            "unknown: of a series of PRESTO " + inf + " is missing", expected,
            "put " + inf + " there, which says what the samples are" +
                (advice.empty() ? "" : "; of another file: " + advice)};
  }
  return {core::ErrorKind::format, path + ": kind of file",
          !kind.empty()      ? kind
          : commands.empty() ? "unknown"
                             : "another",
          expected, commands.empty() ? advice : commands};
}

void require_text(const std::string& path, const std::string& expected) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  // A pipe can be read only once.
  if (!folder && !std::filesystem::is_regular_file(path, ignored)) return;
  const std::string kind = seeming_kind(path);
  if (folder || kind != "text") throw other_kind(path, expected, "check the name");
}

std::string seeming_kind(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return kind_of_folder(path);
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kHeadBytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  if (bytes.empty()) return file.eof() ? "an empty file" : "";
  return seeming_kind_of(std::as_bytes(std::span(bytes)));
}

}  // namespace tautline::formats
