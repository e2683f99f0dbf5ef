// How a field of a Config is written as text, and which values it may have.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tautline/core/error.h"

namespace tautline::core {

/// What a field is, for those who offer it: an option without a value, a choice among names, ...
enum class FieldKind { flag, integer, number, text, choice, list };

/// Reads, writes and checks values of T.
template <class T>
struct FieldText {
  FieldKind kind = FieldKind::text;
  std::string allowed;             ///< in words, as "2 to 65536"; empty: whatever T holds
  std::vector<std::string> names;  ///< of a choice
  /// Throws Error(config), of which limit and advice are used. The value need not be allowed.
  std::function<T(const std::string&)> read;
  std::function<std::string(const T&)> write;
  std::function<bool(const T&)> allows = [](const T&) { return true; };
};

/// The numbers that a field may have; of a list, each of its numbers.
struct Limit {
  std::string words;
  std::function<bool(double)> holds;
};
Limit between(double low, double high);  ///< both included
Limit at_least(double low);              ///< and finite
Limit above(double low);                 ///< and finite
Limit one_of(std::vector<double> values);

namespace text {

[[noreturn]] void refuse(const std::string& value, const std::string& limit);
/// The same of a value that is none of these names, with the one that it may be meant for.
[[noreturn]] void refuse_name(const std::string& value, const std::string& limit,
                              const std::vector<std::string>& names);
bool read_flag(const std::string& text);
/// Whole numbers in [low, high].
std::int64_t read_integer(const std::string& text, std::int64_t low, std::int64_t high);
std::uint64_t read_unsigned(const std::string& text, std::uint64_t high);
/// The nearest double, or an infinity; never NaN.
double read_number(const std::string& text);
/// The text of a field in seconds, as "20ms", "1us:5us" or "inf": numbers with a unit (ps, ns, us, ms, s, min, h)
/// become plain numbers of seconds, decimal digits as they were; everything else stays.
std::string in_seconds(const std::string& text);
/// With as few digits as read the same number again.
std::string write_number(double value);
std::vector<std::string> split(const std::string& text, char at);
/// "NAME=VALUE".
std::pair<std::string, std::string> split_pair(const std::string& text);

template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
concept number = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

template <class T>
std::string write(const T& value) {
  if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::integral<T>) {
    return std::to_string(value);
  } else if constexpr (std::floating_point<T>) {
    return write_number(value);
  } else if constexpr (is_vector<T>::value) {
    std::string list;
    for (const auto& one : value) list += (list.empty() ? "" : ",") + write(one);
    return list;
  } else if constexpr (is_optional<T>::value) {
    return value ? write(*value) : "";
  } else {
    return value;
  }
}

template <class T>
T read(const std::string& text) {
  if constexpr (std::same_as<T, bool>) {
    return read_flag(text);
  } else if constexpr (std::unsigned_integral<T>) {
    return static_cast<T>(read_unsigned(text, std::numeric_limits<T>::max()));
  } else if constexpr (std::integral<T>) {
    return static_cast<T>(
        read_integer(text, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else if constexpr (std::floating_point<T>) {
    return static_cast<T>(read_number(text));
  } else if constexpr (is_vector<T>::value) {
    T list;
    if (text.empty()) return list;
    for (const std::string& one : split(text, ','))
      list.push_back(read<typename T::value_type>(one));
    return list;
  } else if constexpr (is_optional<T>::value) {
    if (text.empty()) return std::nullopt;
    return read<typename T::value_type>(text);
  } else {
    return text;
  }
}

template <class T>
bool holds(const Limit& limit, const T& value) {
  if constexpr (number<T>) {
    return limit.holds(static_cast<double>(value));
  } else if constexpr (is_vector<T>::value) {
    return std::all_of(value.begin(), value.end(),
                       [&](const auto& one) { return holds(limit, one); });
  } else {
    return !value || holds(limit, *value);
  }
}

template <class T>
constexpr FieldKind kind_of() {
  if constexpr (std::same_as<T, bool>) return FieldKind::flag;
  if constexpr (number<T> && std::integral<T>) return FieldKind::integer;
  if constexpr (number<T> && std::floating_point<T>) return FieldKind::number;
  if constexpr (is_vector<T>::value) return FieldKind::list;
  if constexpr (is_optional<T>::value) return kind_of<typename T::value_type>();
  return FieldKind::text;
}

}  // namespace text

/// bool, numbers, strings, and lists ("1,2,3") and optionals ("": none) of these.
template <class T>
FieldText<T> plain_text() {
  return {text::kind_of<T>(), "", {}, text::read<T>, text::write<T>};
}
template <class T>
FieldText<T> plain_text(const Limit& limit) {
  return {
      text::kind_of<T>(), limit.words,    {},
      text::read<T>,      text::write<T>, [limit](const T& v) { return text::holds(limit, v); }};
}

/// Values that have names.
template <class T>
FieldText<T> choice(std::vector<std::pair<std::string, T>> values) {
  FieldText<T> form{FieldKind::choice, "", {}, {}, {}};
  for (const auto& [name, value] : values) {
    form.names.push_back(name);
    const bool last = form.names.size() == values.size();
    form.allowed += (form.names.size() == 1 ? "" : last ? " or " : ", ") + name;
  }
  form.read = [values, allowed = form.allowed, names = form.names](const std::string& text) -> T {
    for (const auto& [name, value] : values)
      if (name == text) return value;
    text::refuse_name(text, allowed, names);
  };
  form.write = [values](const T& value) -> std::string {
    for (const auto& [name, one] : values)
      if (one == value) return name;
    return {};
  };
  form.allows = [write = form.write](const T& value) { return !write(value).empty(); };
  return form;
}

/// Some of the values that to_string() has names for.
template <class T>
FieldText<T> choice_of(const std::vector<T>& values) {
  std::vector<std::pair<std::string, T>> named;
  for (const T& value : values) named.emplace_back(to_string(value), value);
  auto form = choice(std::move(named));
  form.write = [](const T& value) { return std::string(to_string(value)); };
  return form;
}

/// A value that may be missing: "".
template <class T>
FieldText<std::optional<T>> maybe(const FieldText<T>& form) {
  using Maybe = std::optional<T>;
  return {form.kind,
          form.allowed,
          form.names,
          [form](const std::string& text) { return text.empty() ? Maybe() : form.read(text); },
          [form](const Maybe& value) { return value ? form.write(*value) : std::string(); },
          [form](const Maybe& value) { return !value || form.allows(*value); }};
}

/// Names of files: one a line, or, where the text has no line's end, between commas.
FieldText<std::vector<std::string>> file_names();

/// Bytes with an optional suffix: K, M, G or KiB, MiB, GiB (powers of 2), kB, MB, GB (powers of 10). 0 is refused.
FieldText<std::size_t> byte_size();

/// Half of the machine's memory, or of what its control group may take, in bytes.
std::size_t half_of_memory();
/// A byte_size() whose default is half_of_memory(), and is written so.
FieldText<std::size_t> memory_size();

/// "LOW:HIGH", LOW below HIGH.
FieldText<std::pair<double, double>> interval();

}  // namespace tautline::core
