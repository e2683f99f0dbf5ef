#include "tautline/formats/ptu/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

namespace tautline::formats::ptu {

namespace {

constexpr std::size_t kMagicBytes = 16;  // PQTTTR and a version, eight bytes each
constexpr std::size_t kTagBytes = 48;
constexpr std::size_t kNameBytes = 32;
// A header is some ten kilobytes; blobs (images, presets) can make it larger.
constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMaxTags = 100'000;

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::string c_text(const std::byte* bytes, std::size_t most) {
  const auto* text = reinterpret_cast<const char*>(bytes);
  return {text, strnlen(text, most)};
}

bool has_payload(TagType type) {
  return type == TagType::numbers || type == TagType::text || type == TagType::wide_text ||
         type == TagType::blob;
}

bool known(TagType type) {
  using enum TagType;
  constexpr TagType kOthers[] = {empty, boolean, integer, bits, colour, number, date};
  return has_payload(type) ||
         std::find(std::begin(kOthers), std::end(kOthers), type) != std::end(kOthers);
}

// Reads the bytes behind a tag; returns how many there were.
std::uint64_t read_payload(const HeaderSource& file, std::uint64_t offset, HeaderTag& tag) {
  const auto bytes = static_cast<std::uint64_t>(tag.integer);
  if (tag.integer < 0 || bytes > kMaxHeaderBytes || offset + bytes > file.size_bytes)
    throw format_error(
        file.path, "length of the tag " + tag.name + " before byte " + std::to_string(offset),
        std::to_string(tag.integer), "bytes that the file holds", "the header is damaged");
  if (tag.type == TagType::text) {
    std::vector<std::byte> payload(static_cast<std::size_t>(bytes));
    payload.resize(file.read(offset, payload));
    tag.text = c_text(payload.data(), payload.size());
  }
  tag.integer = 0;
  return bytes;
}

}  // namespace

Header Header::read(const HeaderSource& file) {
  Header header;
  const auto magic = file.head(kMagicBytes);
  if (magic.size() < kMagicBytes || c_text(magic.data(), 8) != "PQTTTR")
    throw format_error(file.path, "first bytes", magic.empty() ? "none" : c_text(magic.data(), 8),
                       "PQTTTR, as PTU files begin");
  std::uint64_t offset = kMagicBytes;
  std::byte bytes[kTagBytes];
  while (true) {
    if (offset > kMaxHeaderBytes || header.tags_.size() >= kMaxTags)
      throw format_error(file.path, "header", "no Header_End before byte " + std::to_string(offset),
                         "a header of at most 64 MiB", "the header is damaged");
    if (const std::size_t got = file.read(offset, bytes); got < kTagBytes)
      throw format_error(file.path, "header",
                         "the file ends at byte " + std::to_string(offset + got),
                         "a tag at byte " + std::to_string(offset) + ", the last one Header_End",
                         "the file is cut short");
    HeaderTag tag;
    tag.name = c_text(bytes, kNameBytes);
    tag.index = load<std::int32_t>(bytes + 32);
    tag.type = static_cast<TagType>(load<std::uint32_t>(bytes + 36));
    tag.integer = load<std::int64_t>(bytes + 40);
    if (!known(tag.type))
      throw format_error(file.path, "type of the tag at byte " + std::to_string(offset),
                         fmt::format("0x{:08X}", static_cast<std::uint32_t>(tag.type)),
                         "a type of PTU's header", "the header is damaged");
    if (tag.type == TagType::number || tag.type == TagType::date) {
      tag.number = load<double>(bytes + 40);
      tag.integer = 0;
    }
    offset += kTagBytes;
    if (has_payload(tag.type)) offset += read_payload(file, offset, tag);
    if (tag.name == "Header_End") break;
    header.tags_.push_back(std::move(tag));
  }
  header.size_bytes_ = offset;
  return header;
}

const HeaderTag* Header::find(std::string_view name, std::int32_t index) const {
  for (const HeaderTag& tag : tags_)
    if (tag.name == name && (tag.index == index)) return &tag;
  return nullptr;
}

std::optional<std::int64_t> Header::integer(std::string_view name, std::int32_t index) const {
  const HeaderTag* tag = find(name, index);
  if (tag == nullptr || (tag->type != TagType::integer && tag->type != TagType::bits &&
                         tag->type != TagType::boolean))
    return std::nullopt;
  return tag->integer;
}

std::optional<double> Header::number(std::string_view name) const {
  const HeaderTag* tag = find(name);
  if (tag == nullptr || tag->type != TagType::number) return std::nullopt;
  return tag->number;
}

std::string Header::text(std::string_view name) const {
  const HeaderTag* tag = find(name);
  return tag == nullptr ? "" : tag->text;
}

std::string date_text(double days) {
  if (!(days > 0) || days > 100'000) return {};
  const auto seconds = static_cast<std::int64_t>(std::llround(days * 86'400));
  using namespace std::chrono;
  const sys_days epoch = year{1899} / December / 30;
  const auto whole = epoch + std::chrono::days(seconds / 86'400);
  const year_month_day date(floor<std::chrono::days>(whole));
  const std::int64_t rest = seconds % 86'400;
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     rest / 3600, rest / 60 % 60, rest % 60);
}

}  // namespace tautline::formats::ptu
