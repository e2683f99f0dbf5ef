#include "tautline/formats/delays/delays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tautline/core/error.h"
#include "tautline/formats/toml/toml_kind.h"

namespace tautline::formats::delays {

namespace {

// Longer than light takes to cross the solar system: a delay beyond this is a mistake of units.
constexpr double kLargestDelay_s = 1e5;
// An antenna would have to move at light's speed.
constexpr double kLargestRate = 1.0;

DelayPiece read_piece(const TomlTable& table) {
  table.allow_only({"start", "delay_s", "delay_rate"});
  DelayPiece piece;
  piece.start = table.instant("start");
  piece.delay_s = table.number("delay_s");
  if (std::abs(piece.delay_s) > kLargestDelay_s)
    throw table.error("delay_s", fmt::format("{}", piece.delay_s),
                      fmt::format("-{0} to {0} seconds", kLargestDelay_s));
  piece.delay_rate = table.number_or("delay_rate", 0);
  if (std::abs(piece.delay_rate) >= kLargestRate)
    throw table.error("delay_rate", fmt::format("{}", piece.delay_rate),
                      "less than 1 second per second");
  return piece;
}

Model read_model(const TomlTable& table) {
  Model model;
  for (const TomlTable& entry : table.tables("piece")) {
    const DelayPiece piece = read_piece(entry);
    if (!model.empty() && !core::before(model.back().start, piece.start))
      throw entry.error("start", core::to_iso(piece.start),
                        "later than the piece before, " + core::to_iso(model.back().start));
    model.push_back(piece);
  }
  if (model.empty()) throw table.error("piece", "missing", "one piece at least");
  return model;
}

// The inputs that a [[delay]] table is for.
std::vector<std::size_t> inputs_of(const TomlTable& table, const ArrayLayout& array) {
  const std::int64_t number = table.integer("antenna");
  const std::string feed = table.text_or("feed", "");
  const auto same = [&](const Antenna& antenna) { return antenna.number == number; };
  if (std::none_of(array.antennas.begin(), array.antennas.end(), same))
    throw table.error("antenna", fmt::format("{}", number), "an antenna number of the array");
  std::vector<std::size_t> inputs;
  std::vector<std::string> feeds;
  for (std::size_t i = 0; i < array.inputs.size(); ++i) {
    const InputLabel& label = array.inputs[i];
    if (array.antennas[label.antenna].number != number) continue;
    feeds.emplace_back(1, label.feed);
    if (feed.empty() || feed == feeds.back()) inputs.push_back(i);
  }
  if (inputs.empty())
    throw table.error(
        "feed", feed,
        fmt::format("a feed that antenna {} has ({})", number,
                    feeds.empty() ? "none" : fmt::format("{}", fmt::join(feeds, ", "))),
        "leave it out to mean all of them, or give the [[antenna]] of the array file "
        "its feeds = [\"x\", \"y\"]");
  return inputs;
}

std::string label_of(const ArrayLayout& array, std::size_t input) {
  const InputLabel& label = array.inputs[input];
  return fmt::format("antenna {} feed {}", array.antennas[label.antenna].number, label.feed);
}

// Numbers of antennas are often 0, 1, 2 ... in every array: names tell them apart.
void require_same(const TomlTable& table, const std::string& field, const std::string& of_array) {
  if (!table.has(field) || table.text(field) == of_array) return;
  throw table.error(field, table.text(field), of_array + ", as in the array file",
                    "these delays were made for another array: make them for this one, or give "
                    "theirs as the array");
}

void require_same_antenna(const TomlTable& table, std::size_t input, const ArrayLayout& array) {
  require_same(table, "name", array.antennas[array.inputs[input].antenna].name);
}

Table table_from(const TomlTable& file, const ArrayLayout& array) {
  file.allow_only({"phase_centre", "array", "ra_deg", "dec_deg", "valid_until", "delay"});
  if (array.positions_known) require_same(file, "array", array.name);
  Table table;
  table.phase_centre = file.text("phase_centre");
  if (table.phase_centre.empty())
    throw file.error("phase_centre", "an empty text", "the name of the direction tracked");
  if (file.has("ra_deg") || file.has("dec_deg")) {
    table.position = Position{file.angle_deg("ra_deg", core::AngleUnit::hours),
                              file.angle_deg("dec_deg", core::AngleUnit::degrees)};
    if (std::abs(table.position->dec_deg) > 90)
      throw file.error("dec_deg", fmt::format("{}", table.position->dec_deg), "-90 to 90");
  }
  if (file.has("valid_until")) table.valid_until = file.instant("valid_until");
  table.inputs.resize(array.inputs.size());
  for (const TomlTable& entry : file.tables("delay")) {
    entry.allow_only({"antenna", "name", "feed", "piece"});
    const Model model = read_model(entry);
    for (const std::size_t input : inputs_of(entry, array)) {
      if (array.positions_known) require_same_antenna(entry, input, array);
      if (!table.inputs[input].empty())
        throw entry.error("antenna", label_of(array, input) + " again", "each input once");
      table.inputs[input] = model;
    }
  }
  for (std::size_t i = 0; i < table.inputs.size(); ++i)
    if (table.inputs[i].empty())
      throw file.error("delay", label_of(array, i) + " has none",
                       "a [[delay]] table for every input of the array",
                       "these delays may be of another array: make them for this one");
  return table;
}

// A start that parse_utc reads back exactly where the fraction is a decimal of 12 digits.
std::string exact_utc(const core::Instant& t) {
  const core::Instant whole{t.seconds, 0, 1};
  const auto picoseconds = static_cast<std::int64_t>(
      std::llroundl(static_cast<long double>(t.fraction_numerator) /
                    static_cast<long double>(t.fraction_denominator) * 1e12L));
  std::string text = core::to_iso(whole).substr(0, 19);
  if (picoseconds != 0) text += fmt::format(".{:012}", picoseconds);
  return text;
}

// As text between quotes.
std::string escaped(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' ? fmt::format("\\u{:04x}", c) : std::string(1, c);
  }
  return quoted;
}

}  // namespace

Delay evaluate(const Model& model, const core::Instant& t) {
  if (model.empty())
    throw core::Error(core::ErrorKind::config, "delay model", "empty", "one piece at least");
  const auto later = std::upper_bound(model.begin(), model.end(), t,
                                      [](const core::Instant& at, const DelayPiece& piece) {
                                        return core::before(at, piece.start);
                                      });
  if (later == model.begin())
    throw core::Error(
        core::ErrorKind::config, "delay model", "asked for " + core::to_iso(t),
        "an instant from its first piece's start on, " + core::to_iso(model.front().start),
        "give an earlier piece");
  const DelayPiece& piece = *std::prev(later);
  return {piece.delay_s + piece.delay_rate * core::seconds_between(piece.start, t),
          piece.delay_rate};
}

double phase_turns(double frequency_hz, double delay_s) {
  // The product of two doubles needs 106 bits; x86's long double keeps 64, which leaves 1e-9 turns
  // at 1e10 turns.
  const long double turns =
      static_cast<long double>(frequency_hz) * static_cast<long double>(delay_s);
  return static_cast<double>(std::remainder(turns, 1.0L));
}

namespace {

// Of models that do not have the data's start.
core::Error begins_late(const Model& model, const core::Instant& from) {
  const auto error = [&](const std::string& value, const std::string& advice) {
    return core::Error(core::ErrorKind::config, "delays: first piece", value,
                       "no later than the data's start, " + core::to_iso(from), advice);
  };
  if (model.empty()) return error("missing", "give one");
  const core::Instant& first = model.front().start;
  const std::string late = fmt::format("{:.6g} s", core::seconds_between(from, first));
  if (!core::is_known_start(from))
    return error(core::to_iso(first), "the input does not say when it begins: give `utc_start`");
  return error(fmt::format("{}, {} late", core::to_iso(first), late),
               "give an earlier piece, or leave " + late + " of the data out with `start_s`");
}

}  // namespace

void require_cover(const Table& table, std::size_t inputs, const core::Instant& from,
                   const core::Instant& to) {
  if (table.inputs.size() != inputs)
    throw core::Error(core::ErrorKind::config, "delay models",
                      fmt::format("{}", table.inputs.size()),
                      fmt::format("one for each of the data's {} inputs", inputs));
  for (const Model& model : table.inputs)
    if (model.empty() || core::before(from, model.front().start)) throw begins_late(model, from);
  if (table.valid_until && core::before(*table.valid_until, to))
    throw core::Error(core::ErrorKind::config, "delays: valid_until",
                      core::to_iso(*table.valid_until),
                      "no earlier than the data's end, " + core::to_iso(to),
                      "make a longer table or take less data with `duration_s`");
}

Table read_delays(const std::string& path, const ArrayLayout& array) {
  const TomlTable file = TomlTable::read(path);
  require_kind(file, path, TomlKind::delays);
  return table_from(file, array);
}

Table parse_delays(std::string_view text, const std::string& name, const ArrayLayout& array) {
  return table_from(TomlTable::parse(text, name), array);
}

std::string to_toml(const Table& table, const ArrayLayout& array) {
  std::string text = fmt::format("phase_centre = \"{}\"\n", escaped(table.phase_centre));
  if (array.positions_known) text += fmt::format("array = \"{}\"\n", escaped(array.name));
  if (table.position)
    text +=
        fmt::format("ra_deg = {}\ndec_deg = {}\n", table.position->ra_deg, table.position->dec_deg);
  if (table.valid_until)
    text += fmt::format("valid_until = \"{}\"\n", exact_utc(*table.valid_until));
  for (std::size_t i = 0; i < table.inputs.size(); ++i) {
    const InputLabel& label = array.inputs[i];
    const Antenna& antenna = array.antennas[label.antenna];
    text += fmt::format("\n[[delay]]\nantenna = {}\n", antenna.number);
    if (array.positions_known) text += fmt::format("name = \"{}\"\n", escaped(antenna.name));
    text += fmt::format("feed = \"{}\"\npiece = [\n", label.feed);
    for (const DelayPiece& piece : table.inputs[i])
      text += fmt::format("  {{ start = \"{}\", delay_s = {}, delay_rate = {} }},\n",
                          exact_utc(piece.start), piece.delay_s, piece.delay_rate);
    text += "]\n";
  }
  return text;
}

}  // namespace tautline::formats::delays
