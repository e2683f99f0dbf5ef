// Layouts from TOML: a file's fields over those of the preset that it is `like`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/nearest_name.h"
#include "tautline/formats/packets/half_years.h"
#include "tautline/formats/packets/packet_layout.h"
#include "tautline/formats/toml/toml_table.h"

namespace tautline::formats::packets {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::array<std::pair<std::string_view, Meaning>, 12> kMeanings{{
    {"counter", Meaning::counter},
    {"seconds", Meaning::seconds},
    {"half_years", Meaning::half_years},
    {"antenna", Meaning::antenna},
    {"channel", Meaning::channel},
    {"polarisation", Meaning::polarisation},
    {"input", Meaning::input},
    {"sub_array", Meaning::sub_array},
    {"heap_offset", Meaning::heap_offset},
    {"heap_bytes", Meaning::heap_bytes},
    {"payload_bytes", Meaning::payload_bytes},
    {"invalid", Meaning::invalid},
}};
constexpr std::array<std::pair<std::string_view, AxisName>, kAxes> kAxisNames{{
    {"time", AxisName::time},
    {"channel", AxisName::channel},
    {"antenna", AxisName::antenna},
    {"polarisation", AxisName::polarisation},
}};
constexpr std::size_t kLargestBits = 64;
constexpr std::size_t kSpeadValueBits = 48;
constexpr std::int64_t kLargestHeader_bytes = 1024;
// The largest payload of a datagram is 65,527 bytes; one that comes in parts, and records of TCP, may be longer.
constexpr std::size_t kLargestPayload_bytes = std::size_t{1} << 28;

std::string names_of(const auto& table) {
  std::string names;
  for (const auto& [name, meaning] : table)
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

std::int64_t whole(const TomlTable& table, std::string_view key, std::int64_t low,
                   std::int64_t high) {
  const std::int64_t value = table.integer(key);
  if (value < low || value > high)
    throw table.error(key, fmt::format("{}", value), fmt::format("{} to {}", low, high));
  return value;
}

ByteOrder order_of(const TomlTable& table, std::string_view key, ByteOrder otherwise) {
  if (!table.has(key)) return otherwise;
  const std::string text = table.text(key);
  if (text != "big" && text != "little") throw table.error(key, text, "big or little");
  return text == "big" ? ByteOrder::big : ByteOrder::little;
}

Meaning meaning_of(const TomlTable& table, const std::string& name, bool is_constant) {
  for (const auto& [known, meaning] : kMeanings)
    if (name == known) return meaning;
  if (!is_constant)
    throw table.error(name, "a field of no known meaning",
                      "one of " + names_of(kMeanings) + ", or a constant with its `value`");
  return Meaning::constant;
}

// Where in the packet.
void read_place(const TomlTable& table, const PacketLayout& layout, ByteOrder order, Field& field) {
  field.from_source = table.boolean_or("source", false);
  if (field.from_source) {
    for (const char* key : {"item", "offset_bits", "bits"})
      if (table.has(key))
        throw table.error(key, "given", "not given: this field is the source's number");
    return;
  }
  field.order = order_of(table, "byte_order", order);
  if (table.has("item")) {
    if (!layout.spead)
      throw table.error("item", "given", "spead = true", "or give offset_bits and bits");
    field.item = static_cast<std::uint32_t>(whole(table, "item", 1, 0x7fff));
    field.bits = table.has("bits")
                     ? static_cast<std::size_t>(whole(table, "bits", 1, kSpeadValueBits))
                     : kSpeadValueBits;
    return;
  }
  if (layout.spead) throw table.error("item", "missing", "an item's number: the layout is SPEAD's");
  field.offset_bits =
      static_cast<std::size_t>(whole(table, "offset_bits", 0, 8 * kLargestHeader_bytes));
  field.bits = static_cast<std::size_t>(whole(table, "bits", 1, kLargestBits));
  if (field.offset_bits % 8 + field.bits > kLargestBits)
    throw table.error("bits", fmt::format("{}", field.bits), "a field inside 8 bytes");
  if (field.offset_bits + field.bits > 8 * layout.header_bytes)
    throw table.error("bits", fmt::format("up to bit {}", field.offset_bits + field.bits),
                      fmt::format("inside the header of {} bits", 8 * layout.header_bytes));
}

Field read_field(const TomlTable& fields, const std::string& name, const PacketLayout& layout,
                 ByteOrder order) {
  if (!fields.is_table(name))
    throw fields.error(name, "no table",
                       "{ offset_bits = 0, bits = 16 }, or { item = 0x1600 } of SPEAD");
  const TomlTable table = fields.table(name);
  table.allow_only(
      {"offset_bits", "bits", "byte_order", "item", "source", "value", "scale", "add"});
  Field field;
  field.name = name;
  field.meaning = meaning_of(fields, name, table.has("value"));
  read_place(table, layout, order, field);
  if (table.has("value")) {
    field.value = static_cast<std::uint64_t>(whole(table, "value", 0, INT64_MAX));
    if (!field.from_source && field.bits < kLargestBits && field.value >> field.bits != 0)
      throw table.error("value", fmt::format("{}", field.value),
                        "at most " + core::counted(field.bits, "bit"));
  }
  if (table.has("scale")) field.scale = whole(table, "scale", 1, 1 << 24);
  if (table.has("add")) field.add = whole(table, "add", -(1 << 24), 1 << 24);
  return field;
}

void read_fields(const TomlTable& file, ByteOrder order, PacketLayout& layout) {
  if (!file.has("fields")) return;
  const TomlTable fields = file.table("fields");
  for (const std::string& name : fields.keys()) {
    Field field = read_field(fields, name, layout, order);
    const auto same = std::find_if(layout.fields.begin(), layout.fields.end(),
                                   [&](const Field& f) { return f.name == name; });
    if (same != layout.fields.end())
      *same = std::move(field);
    else
      layout.fields.push_back(std::move(field));
  }
}

void read_axes(const TomlTable& file, PacketLayout& layout) {
  if (!file.has("axes")) return;
  layout.axes.clear();
  std::set<std::string> seen;
  for (const auto& [extent, name] : file.pairs("axes")) {
    const auto known =
        std::find_if(kAxisNames.begin(), kAxisNames.end(),
                     [&, &wanted = name](const auto& a) { return a.first == wanted; });
    if (known == kAxisNames.end() || !seen.insert(name).second)
      throw file.error("axes", name, "each of " + names_of(kAxisNames) + " once at most");
    if (extent < 1 || extent > std::int64_t{1} << 24)
      throw file.error("axes", fmt::format("{} of {}", extent, name), "1 to 16777216");
    layout.axes.push_back({known->second, static_cast<std::size_t>(extent)});
  }
}

// "ci8", "u2", "i10", "cf32": c for complex; i, u or f; the bits of a component.
WireSample read_sample(const TomlTable& file, ByteOrder order) {
  const std::string text = file.text("sample");
  const std::string expected =
      "i, u (offset binary) or f and bits, after c where complex: ci8, u2, i10, cf32";
  std::string_view rest = text;
  WireSample sample;
  sample.order = order;
  sample.complex = rest.starts_with('c');
  if (sample.complex) rest.remove_prefix(1);
  if (rest.empty() || rest.size() > 3 ||
      rest.find_first_not_of("0123456789", 1) != std::string_view::npos || rest.size() < 2)
    throw file.error("sample", text, expected);
  sample.bits = std::stoi(std::string(rest.substr(1)));
  switch (rest.front()) {
    case 'i':
      sample.encoding = core::Encoding::twos_complement;
      break;
    case 'u':
      sample.encoding = core::Encoding::offset_binary;
      break;
    case 'f':
      sample.encoding = core::Encoding::ieee_float;
      break;
    default:
      throw file.error("sample", text, expected);
  }
  const bool is_float = sample.encoding == core::Encoding::ieee_float;
  if (is_float ? sample.bits != 16 && sample.bits != 32 : sample.bits < 1 || sample.bits > 16)
    throw file.error("sample", text, "1 to 16 bits, floats 16 or 32");
  sample.container_bits = sample.bits;
  if (file.has("container_bits"))
    sample.container_bits =
        static_cast<int>(whole(file, "container_bits", sample.bits, is_float ? sample.bits : 16));
  return sample;
}

// The number of counts after which they begin again.
std::uint64_t period_of(const TomlTable& file, const PacketLayout& layout) {
  const Field* const counter = layout.field(Meaning::counter);
  const Field* const seconds = layout.field(Meaning::seconds);
  if (counter == nullptr) throw file.error("fields", "no counter", "a field named counter");
  if (layout.field(Meaning::half_years) != nullptr && seconds == nullptr)
    throw file.error("fields", "half_years without seconds", "both, or neither");
  if (seconds == nullptr) {
    const Wide period = (Wide{1} << counter->bits) * static_cast<std::uint64_t>(counter->scale);
    return period > UINT64_MAX ? 0 : static_cast<std::uint64_t>(period);
  }
  const core::Rational rate = layout.counts_hz();
  if (rate.numerator == 0)
    throw file.error("rate_hz", "missing", "samples a second: the layout counts seconds");
  const Wide period_s = layout.field(Meaning::half_years) != nullptr
                            ? static_cast<Wide>(kHalfYearsPeriod_s)
                            : Wide{1} << seconds->bits;
  const Wide counts = period_s * static_cast<std::uint64_t>(rate.numerator);
  const auto denominator = static_cast<std::uint64_t>(rate.denominator);
  if (counts % denominator != 0 || counts / denominator > UINT64_MAX)
    throw file.error("rate_hz", fmt::format("{} counts/s", rate.value()),
                     "a whole number of counts in the period of the seconds");
  return static_cast<std::uint64_t>(counts / denominator);
}

void check_rate(const TomlTable& file, const PacketLayout& layout) {
  const auto fits = [](std::int64_t a, std::uint64_t b) {
    return Wide{static_cast<std::uint64_t>(a)} * b <= static_cast<std::uint64_t>(INT64_MAX);
  };
  if (!fits(layout.rate_hz.numerator, layout.step) ||
      !fits(layout.rate_hz.denominator, layout.samples()))
    throw file.error("rate_hz", fmt::format("{}", layout.rate_hz.value()),
                     "a rate of fewer digits, or a smaller step");
}

void check_payload(const TomlTable& file, const PacketLayout& layout) {
  if (layout.axes.empty())
    throw file.error("axes", "missing", R"([[64, "channel"], [32, "time"]])");
  std::size_t bits = layout.sample.bits_per_sample();
  for (const Axis& axis : layout.axes) {
    bits *= axis.extent;
    if (bits > 8 * kLargestPayload_bytes)
      throw file.error("axes", "a larger payload",
                       fmt::format("at most {} bytes", kLargestPayload_bytes));
  }
  if (bits % (8 * layout.parts) != 0)
    throw file.error("packets",
                     core::counted(bits, "bit") + " in " + core::counted(layout.parts, "packet"),
                     "packets of whole bytes, all of one length");
  if (layout.parts > 1 && !layout.spead && layout.field(Meaning::heap_offset) == nullptr)
    throw file.error("packets", fmt::format("{}", layout.parts), "1, or a field named heap_offset");
  if (layout.field(Meaning::input) != nullptr &&
      (layout.field(Meaning::antenna) != nullptr || layout.field(Meaning::polarisation) != nullptr))
    throw file.error("fields", "input beside antenna or polarisation",
                     "one of these ways to number inputs");
}

PacketLayout apply(const TomlTable& file, PacketLayout layout, ByteOrder order);

PacketLayout read(const TomlTable& file) {
  PacketLayout layout;
  if (!file.has("like")) return apply(file, std::move(layout), ByteOrder::big);
  const std::string name = file.text("like");
  const std::string_view preset = preset_text(name);
  if (preset.empty())
    throw file.error("like", name, fmt::format("one of {}", fmt::join(preset_names(), ", ")),
                     core::did_you_mean(name, {preset_names().begin(), preset_names().end()}));
  const TomlTable base = TomlTable::parse(preset, name);
  return apply(file, read(base), order_of(base, "byte_order", ByteOrder::big));
}

PacketLayout apply(const TomlTable& file, PacketLayout layout, ByteOrder order) {
  file.allow_only({"about", "like", "spead", "payload_item", "header_bytes", "byte_order",
                   "sample_order", "container_bits", "sample", "axes", "packets", "step", "rate_hz",
                   "zero", "fields"});
  layout.about = file.text_or("about", layout.about);
  layout.spead = file.boolean_or("spead", layout.spead);
  order = order_of(file, "byte_order", order);
  if (layout.spead && file.has("payload_item"))
    layout.payload_item = static_cast<std::uint32_t>(whole(file, "payload_item", 1, 0x7fff));
  if (layout.spead && layout.payload_item == 0)
    throw file.error("payload_item", "missing", "the number of the item that holds the samples");
  if (file.has("header_bytes"))
    layout.header_bytes =
        static_cast<std::size_t>(whole(file, "header_bytes", 0, kLargestHeader_bytes));
  if (file.has("step"))
    layout.step = static_cast<std::uint64_t>(whole(file, "step", 1, std::int64_t{1} << 40));
  if (file.has("rate_hz")) layout.rate_hz = file.rational("rate_hz");
  if (file.has("zero")) layout.zero = file.instant("zero");
  if (file.has("packets"))
    layout.parts = static_cast<std::size_t>(whole(file, "packets", 1, 1 << 20));
  const bool about_samples = file.has("container_bits") || file.has("sample_order");
  if (file.has("sample") || about_samples || !file.has("like"))
    layout.sample = read_sample(file, order_of(file, "sample_order", order));
  read_axes(file, layout);
  read_fields(file, order, layout);
  check_payload(file, layout);
  check_rate(file, layout);
  layout.period = period_of(file, layout);
  return layout;
}

}  // namespace

PacketLayout parse_layout(std::string_view text, const std::string& name) {
  PacketLayout layout = read(TomlTable::parse(text, name));
  layout.name = name;
  return layout;
}

PacketLayout read_layout(const std::string& preset_or_path) {
  const std::string_view preset = preset_text(preset_or_path);
  if (!preset.empty()) return parse_layout(preset, preset_or_path);
  if (preset_or_path.find_first_of("./") == std::string::npos) {
    const std::string nearest =
        core::did_you_mean(preset_or_path, {preset_names().begin(), preset_names().end()});
    throw core::Error(core::ErrorKind::config, "layout", preset_or_path,
                      fmt::format("one of {}, or the name of a file, as telescope.toml",
                                  fmt::join(preset_names(), ", ")),
                      nearest);
  }
  PacketLayout layout = read(TomlTable::read(preset_or_path));
  layout.name = preset_or_path;
  return layout;
}

}  // namespace tautline::formats::packets
