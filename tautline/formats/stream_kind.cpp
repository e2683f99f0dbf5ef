#include "tautline/formats/stream_kind.h"

#include <algorithm>
#include <string_view>

#include "tautline/formats/file_formats.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/text.h"

namespace tautline::formats {

namespace {

// A text is told by so many bytes, in which a header of DADA has its keys.
constexpr std::size_t kTextBytes = 4096;

bool reads(Contents contents, const FileFormat& format) {
  // Which of its kinds HDF5 holds is known at its end only.
  const bool hdf5 = format.kind == "HDF5";
  switch (contents) {
    case Contents::any:
      return true;
    case Contents::voltages:
      return format.voltages != nullptr;
    case Contents::filterbanks:  // a series needs its record beside it
      return format.filterbank != nullptr;
    case Contents::curves:
      return format.read_curves != nullptr || hdf5;
    case Contents::visibilities:
      return format.visibilities != nullptr;
    case Contents::compared:
      return format.read_curves != nullptr || format.visibilities != nullptr || hdf5;
  }
  return true;
}

std::string expected(Contents contents) {
  switch (contents) {
    case Contents::voltages:
      return names_and_endings_of(formats_with(&FileFormat::voltages)) + " voltages";
    case Contents::filterbanks:
      return names_and_endings_of(formats_with(&FileFormat::filterbank)) + " filterbanks";
    case Contents::curves:
      return "correlation curves (" + endings_of(formats_with(&FileFormat::read_curves)) + ")";
    case Contents::visibilities:
      return "UVH5 visibilities (.uvh5)";
    case Contents::compared:
      return "visibilities, the list of candidates that search wrote, or correlation curves";
    case Contents::any:
      break;
  }
  return "a file of a kind that `inspect` reads";
}

// Whether a line begins as those of tables, comments, TOML and JSON do, or gives a key its value.
bool may_be_data(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) continue;
    if (std::string_view("0123456789+-.#[{\"").find(line[first]) != std::string_view::npos ||
        line.find_first_of("=,\t") != std::string_view::npos)
      return true;
  }
  return false;
}

bool reads_text(Contents contents, TextKind kind, std::string_view text) {
  if (contents == Contents::voltages || contents == Contents::filterbanks ||
      contents == Contents::visibilities)
    return false;
  if (kind == TextKind::unknown) return may_be_data(text);
  return contents == Contents::any || kind == TextKind::curve ||
         (contents == Contents::compared &&
          (kind == TextKind::candidates || kind == TextKind::truth));
}

bool has_ending_of_files(const std::string& path) {
  const std::string name = lower(path);
  if (name.ends_with(".mask")) return true;
  return std::ranges::any_of(file_formats(), [&](const FileFormat& format) {
    return std::ranges::any_of(
        format.endings, [&](const std::string& ending) { return name.ends_with(lower(ending)); });
  });
}

bool may_be_read(const StreamHead& head, Contents contents) {
  if (contents == Contents::any && has_ending_of_files(head.path)) return true;
  return std::ranges::any_of(file_formats(), [&](const FileFormat& format) {
    return reads(contents, format) && format.is(head.bytes, head.path);
  });
}

bool is_proved(const StreamHead& head) {
  return std::ranges::any_of(file_formats(), [&](const FileFormat& format) {
    return !format.kind.empty() && format.is(head.bytes, "");
  });
}

core::Error refusal(const StreamHead& head, Contents contents) {
  const std::string is = seeming_kind_of(head.bytes),
                    commands = commands_for(head.bytes, head.path);
  const bool compressed = is_compressed(head.bytes);
  const std::string advice =
      compressed
          ? "decompress it before the pipe, as gunzip -c FILE | does; a ZIP file of curves is read "
            "by its name"
      : is == "HDF5"     ? "inspect says what it holds, and which command reads that"
      : commands.empty() ? "check what writes the pipe, or give a file whose name says what it is"
                         : commands;
  return {core::ErrorKind::format,
          head.name + (is.empty() || compressed ? ": first bytes" : ": kind of file"),
          is.empty() ? "unknown" : is, expected(contents), advice};
}

}  // namespace

std::optional<core::Error> refusal_of_stream(const StreamHead& head, Contents contents) {
  if (head.bytes.empty() || may_be_read(head, contents)) return std::nullopt;
  const std::string_view bytes(reinterpret_cast<const char*>(head.bytes.data()),
                               std::min(head.bytes.size(), kTextBytes));
  // Headers of some formats are texts, too.
  if (is_proved(head)) return refusal(head, contents);
  const TextKind text = text_kind_of(head.bytes);
  // Cards of GUPPI RAW, of which one tells the format, are a text without lines.
  const bool lines = text != TextKind::none && bytes.size() >= kTextBytes &&
                     bytes.find('\n') != std::string_view::npos;
  if (!head.complete && !lines) return std::nullopt;
  if (text != TextKind::none && reads_text(contents, text, bytes)) return std::nullopt;
  return refusal(head, contents);
}

}  // namespace tautline::formats
