#include "tautline/formats/seeming_kind.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>

#include "tautline/formats/file_formats.h"
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
constexpr std::array<Mark, 6> kOthers{{{"\x89PNG"sv, "a PNG picture"},
                                       {"%PDF"sv, "PDF"},
                                       {"\x7f"
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
};
// By the first bytes.
constexpr Text kAlv{
    "ALV-"sv, "this is a correlation curve (ALV): fit, compare and inspect read it"sv, ".ASC"sv};
constexpr std::string_view kCandidates =
    "these are candidates: compare, plot and inspect read them";
// By words within the first bytes.
constexpr std::array<Text, 11> kTexts{
    {{"snr,time_s,sample,"sv, kCandidates, ".csv"sv},
     {"file,snr,stime,"sv, kCandidates, ".csv"sv},
     {"# DM      Sigma "sv, kCandidates, ".singlepulse"sv},
     {"\"tautline.candidate\""sv, kCandidates, ""sv},
     {"sensor,label,row,column,status"sv,
      "these are results of fit, a table for programs that read CSV"sv, ""sv},
     {"time_s,detector_"sv, "this is a histogram of microtimes: plot and inspect read it"sv,
      ".csv"sv},
     {"holds one correlation curve"sv,
      "this is a correlation curve: fit, compare and inspect read it"sv, ".csv"sv},
     {"[CorrelationFunction]"sv,
      "this is a correlation curve (Correlator.com): fit, compare and inspect read it"sv, ".SIN"sv},
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
const FileFormat* format_of(const std::string& path) {
  const std::string bytes = first_bytes_of(path);
  if (bytes.empty()) return nullptr;
  const FileFormat *by_bytes = nullptr, *by_name = nullptr;
  for (const FileFormat& format : file_formats()) {
    if (by_bytes == nullptr && !format.kind.empty() &&
        format.is(std::as_bytes(std::span(bytes)), ""))
      by_bytes = &format;
    if (by_name == nullptr && tells_by_name(format) && has_ending(format, path) &&
        format.is(std::as_bytes(std::span(bytes)), path))
      by_name = &format;
  }
  if (by_bytes == nullptr) return by_name;
  return by_bytes->kind == "HDF5" && by_name != nullptr ? by_name : by_bytes;
}

const Text* known_text(std::string_view bytes) {
  if (!is_text(bytes)) return nullptr;
  if (bytes.starts_with(kAlv.words)) return &kAlv;
  const auto* known = std::ranges::find_if(
      kTexts, [&](const Text& text) { return bytes.find(text.words) != std::string_view::npos; });
  return known == kTexts.end() ? nullptr : known;
}

std::string commands_for_text(const std::string& path) {
  const Text* known = known_text(first_bytes_of(path));
  return known == nullptr ? std::string() : std::string(known->kind);
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

std::optional<bool> may_be_read(std::span<const std::byte> first_bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(first_bytes.data()),
                              std::min(first_bytes.size(), kHeadBytes));
  if (name.ends_with(".mask") || std::ranges::any_of(file_formats(), [&](const FileFormat& format) {
        return format.is(first_bytes, name) || has_ending(format, name);
      }))
    return true;
  if (!is_text(text)) return false;
  if (is_heimdall_list(text) || known_text(text) != nullptr) return true;
  return std::nullopt;
}

std::string seeming_kind_of(std::span<const std::byte> first_bytes) {
  const std::string_view bytes(reinterpret_cast<const char*>(first_bytes.data()),
                               std::min(first_bytes.size(), kHeadBytes));
  for (const FileFormat& format : file_formats())
    if (!format.kind.empty() && format.is(first_bytes, "")) return format.kind;
  if (const Compression* found = compression_of(bytes)) return std::string(found->kind);
  for (const Mark& mark : kOthers)
    if (bytes.starts_with(mark.bytes)) return std::string(mark.kind);
  return is_text(bytes) ? "text" : "";
}

bool is_known_text(const std::string& path) {
  return !commands_for_text(path).empty();
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
  const std::string name = " (" + format->name + ")";
  if (format->voltages != nullptr && format->counts != nullptr)
    return "this is an array" + name +
           ": correlate and channelize read voltages, autocorrelate reads counts";
  if (format->voltages != nullptr)
    return "this is voltage data" + name + ": correlate and channelize read it";
  if (format->filterbank != nullptr)
    return "this is a filterbank" + name + ": search and dedisperse read it";
  if (format->series != nullptr) return "this is a dedispersed series" + name + ": search reads it";
  if (format->photons != nullptr) return "this is photon data" + name + ": autocorrelate reads it";
  if (format->counts != nullptr)
    return "this may be photon counts" + name + ": autocorrelate reads it";
  if (format->read_curves != nullptr)
    return "these are correlation curves" + name + ": fit, compare and inspect read them";
  if (format->visibilities != nullptr)
    return "these are visibilities" + name + ": report, compare and inspect read them";
  return {};
}

core::Error other_kind(const std::string& path, const std::string& expected,
                       const std::string& advice) {
  const std::string commands = commands_for(path);
  const std::string kind = seeming_kind(path);
  // Its .inf alone makes a series of PRESTO one.
  if (kind.empty() && commands.empty() && path.ends_with(".dat")) {
    const std::string inf = path.substr(0, path.size() - 3) + "inf";
    return {core::ErrorKind::format, path + ": kind of file",
            "unknown: of a series of PRESTO " + inf + " is missing", expected,
            "put " + inf + " there, which says what the samples are" +
                (advice.empty() ? "" : "; of another file: " + advice)};
  }
  return {core::ErrorKind::format, path + ": kind of file", kind.empty() ? "unknown" : kind,
          expected, commands.empty() ? advice : commands};
}

void require_text(const std::string& path, const std::string& expected) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  // A pipe can be read only once.
  if (!folder && !std::filesystem::is_regular_file(path, ignored)) return;
  const std::string kind = seeming_kind(path);
  if (folder || (kind != "text" && kind != "an empty file"))
    throw other_kind(path, expected, "check the name");
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
