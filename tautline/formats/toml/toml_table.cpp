#include "tautline/formats/toml/toml_table.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <sstream>
#include <utility>

#include "tautline/core/nearest_name.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/seeming_kind.h"

namespace tautline::formats {

struct TomlTable::Document {
  std::string name;
  toml::table root;
};

namespace {

const toml::table& as_table(const void* table) {
  return *static_cast<const toml::table*>(table);
}

// The value as a user would recognise it, for messages.
std::string show(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& value) { text << value; });
  std::string shown = text.str();
  constexpr std::size_t kLongest = 60;
  if (shown.size() > kLongest) shown = shown.substr(0, kLongest) + "...";
  return shown;
}

const toml::node& needed(const TomlTable& errors, const void* table, std::string_view key,
                         const std::string& expected) {
  const toml::node* node = as_table(table).get(key);
  if (node == nullptr) throw errors.error(key, "missing", expected);
  return *node;
}

// The value of a field that must be there; `is` says whether it has the type.
template <class T, class Is>
T needed_value(const TomlTable& errors, const void* table, std::string_view key, Is is,
               const char* expected) {
  const toml::node& node = needed(errors, table, key, expected);
  if (!is(node)) throw errors.error(key, show(node), expected);
  return *node.value<T>();
}

const toml::array& list_in(const TomlTable& errors, const void* table, std::string_view key,
                           const std::string& expected) {
  const toml::node& node = needed(errors, table, key, expected);
  if (!node.is_array()) throw errors.error(key, show(node), expected);
  return *node.as_array();
}

core::Instant instant_of(const toml::date_time& t) {
  const std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}", t.date.year, t.date.month,
                  t.date.day, t.time.hour, t.time.minute, t.time.second, t.time.nanosecond);
  core::Instant instant = core::parse_utc(text);
  if (t.offset) instant.seconds -= std::int64_t{60} * t.offset->minutes;
  return instant;
}

}  // namespace

TomlTable::TomlTable(std::shared_ptr<const Document> document, const void* table, std::string place)
    : document_(std::move(document)), table_(table), place_(std::move(place)) {}

TomlTable TomlTable::read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file) throw system_error(path, "cannot be opened", errno, "check the name");
  require_text(path, "TOML, which is text");  // before all of it is read: it may be an observation
  if (!(text << file.rdbuf() || file.peek() == EOF) || file.bad())
    throw core::Error(core::ErrorKind::io, path, "cannot be read", "a TOML file");
  return parse(text.str(), path);
}

TomlTable TomlTable::parse(std::string_view text, const std::string& name) {
  auto document = std::make_shared<Document>();
  document->name = name;
  try {
    document->root = toml::parse(text, name);
  } catch (const toml::parse_error& e) {
    throw core::Error(core::ErrorKind::format,
                      fmt::format("{}: line {}", name, e.source().begin.line),
                      std::string(e.description()), "TOML");
  }
  const void* root = &document->root;
  return {std::move(document), root, name};
}

core::Error TomlTable::error(std::string_view key, const std::string& value,
                             const std::string& expected, const std::string& advice) const {
  const toml::node* node = as_table(table_).get(key);
  const auto line = node != nullptr ? node->source().begin.line : 0;
  const std::string where = line != 0 ? fmt::format(" (line {})", line) : std::string();
  return {core::ErrorKind::format, fmt::format("{}: {}{}", place_, key, where), value, expected,
          advice};
}

bool TomlTable::has(std::string_view key) const {
  return as_table(table_).contains(key);
}

std::vector<std::string> TomlTable::keys() const {
  std::vector<std::pair<toml::source_position, std::string>> found;
  for (const auto& [key, value] : as_table(table_))
    found.emplace_back(key.source().begin, std::string(key.str()));
  std::sort(found.begin(), found.end());
  std::vector<std::string> keys;
  for (auto& [place, key] : found) keys.push_back(std::move(key));
  return keys;
}

void TomlTable::allow_only(const std::vector<std::string_view>& known) const {
  for (const auto& [key, value] : as_table(table_)) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    throw error(key.str(), "unknown field",
                fmt::format("one of {}", fmt::join(known.begin(), known.end(), ", ")),
                core::did_you_mean(key.str(), {known.begin(), known.end()}));
  }
}

double TomlTable::number(std::string_view key) const {
  const auto is = [](const toml::node& node) { return node.is_number(); };
  const auto value = needed_value<double>(*this, table_, key, is, "a number");
  if (!std::isfinite(value)) throw error(key, show(*as_table(table_).get(key)), "a finite number");
  return value;
}

double TomlTable::angle_deg(std::string_view key, core::AngleUnit unit) const {
  const toml::node* node = as_table(table_).get(key);
  if (node == nullptr || !node->is_string()) return number(key);
  const std::string angle = text(key);
  try {
    return core::read_angle_deg(angle, unit);
  } catch (const core::Error& wrong) {
    throw error(key, angle, wrong.limit());
  }
}

double TomlTable::number_or(std::string_view key, double fallback) const {
  return has(key) ? number(key) : fallback;
}

std::int64_t TomlTable::integer(std::string_view key) const {
  const auto is = [](const toml::node& node) { return node.is_integer(); };
  return needed_value<std::int64_t>(*this, table_, key, is, "a whole number");
}

bool TomlTable::boolean_or(std::string_view key, bool fallback) const {
  if (!has(key)) return fallback;
  const auto is = [](const toml::node& node) { return node.is_boolean(); };
  return needed_value<bool>(*this, table_, key, is, "true or false");
}

std::string TomlTable::text(std::string_view key) const {
  const auto is = [](const toml::node& node) { return node.is_string(); };
  return needed_value<std::string>(*this, table_, key, is, "a text in quotes");
}

std::string TomlTable::text_or(std::string_view key, const std::string& fallback) const {
  return has(key) ? text(key) : fallback;
}

std::vector<double> TomlTable::numbers(std::string_view key) const {
  const toml::node& node = needed(*this, table_, key, "a number or a list of numbers");
  if (!node.is_array()) return {number(key)};
  std::vector<double> values;
  for (const toml::node& item : *node.as_array()) {
    const auto value = item.is_number() ? item.value<double>() : std::nullopt;
    if (!value || !std::isfinite(*value)) throw error(key, show(item), "a list of finite numbers");
    values.push_back(*value);
  }
  return values;
}

std::vector<std::string> TomlTable::texts(std::string_view key) const {
  const std::string expected = "a list of texts in quotes";
  std::vector<std::string> values;
  for (const toml::node& item : list_in(*this, table_, key, expected)) {
    if (!item.is_string()) throw error(key, show(item), expected);
    values.push_back(*item.value<std::string>());
  }
  return values;
}

std::vector<std::pair<std::int64_t, std::string>> TomlTable::pairs(std::string_view key) const {
  const std::string expected = R"([[number, "text"], ...])";
  std::vector<std::pair<std::int64_t, std::string>> values;
  for (const toml::node& item : list_in(*this, table_, key, expected)) {
    const toml::array* pair = item.as_array();
    if (pair == nullptr || pair->size() != 2 || !pair->get(0)->is_integer() ||
        !pair->get(1)->is_string())
      throw error(key, show(item), expected);
    values.emplace_back(*pair->get(0)->value<std::int64_t>(), *pair->get(1)->value<std::string>());
  }
  return values;
}

core::Instant TomlTable::instant(std::string_view key) const {
  const std::string expected = "a UTC time as yyyy-mm-ddThh:mm:ss";
  const toml::node& node = needed(*this, table_, key, expected);
  try {
    if (const auto moment = node.value_exact<toml::date_time>()) return instant_of(*moment);
    if (node.is_string()) return core::parse_utc(*node.value<std::string>());
  } catch (const core::Error&) {
    // Reported below with the file and the line.
  }
  throw error(key, show(node), expected);
}

core::Rational TomlTable::rational(std::string_view key) const {
  const toml::node& node = needed(*this, table_, key, "a positive number");
  try {
    if (node.is_string()) return core::parse_decimal(*node.value<std::string>());
    if (node.is_number()) return core::parse_decimal(fmt::format("{}", *node.value<double>()));
  } catch (const core::Error&) {
    // Reported below with the file and the line.
  }
  throw error(key, show(node), "a positive number");
}

std::vector<std::string> TomlTable::any_texts(std::string_view key) const {
  const std::string expected = "a text in quotes, a number, true or false, or a list of these";
  const toml::node& node = needed(*this, table_, key, expected);
  std::vector<std::string> texts;
  const auto add = [&](const toml::node& item) {
    if (item.is_string()) {
      texts.push_back(*item.value<std::string>());
    } else if (item.is_number() || item.is_boolean()) {
      texts.push_back(show(item));
    } else {
      throw error(key, show(item), expected);
    }
  };
  if (const toml::array* list = node.as_array()) {
    for (const toml::node& item : *list) add(item);
  } else {
    add(node);
  }
  return texts;
}

bool TomlTable::is_table(std::string_view key) const {
  const toml::node* node = as_table(table_).get(key);
  return node != nullptr && node->is_table();
}

TomlTable TomlTable::table(std::string_view key) const {
  const std::string expected = fmt::format("a table headed [{}]", key);
  const toml::node& node = needed(*this, table_, key, expected);
  if (!node.is_table()) throw error(key, show(node), expected);
  return {document_, node.as_table(), fmt::format("{}: [{}]", place_, key)};
}

std::vector<TomlTable> TomlTable::tables(std::string_view key) const {
  const toml::node* node = as_table(table_).get(key);
  if (node == nullptr) return {};
  const toml::array* list = node->as_array();
  if (list == nullptr) throw error(key, show(*node), fmt::format("tables headed [[{}]]", key));
  std::vector<TomlTable> tables;
  for (const toml::node& item : *list) {
    if (!item.is_table()) throw error(key, show(item), fmt::format("tables headed [[{}]]", key));
    tables.push_back(
        {document_, item.as_table(), fmt::format("{}: [[{}]] {}", place_, key, tables.size() + 1)});
  }
  return tables;
}

}  // namespace tautline::formats
