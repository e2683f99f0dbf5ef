#include "tautline/core/frequency_text.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace tautline::core {

namespace {

struct FrequencyUnit {
  std::string_view name;
  int exponent;  // of ten
};
constexpr FrequencyUnit kFrequencyUnits[] = {{"Hz", 0}, {"kHz", 3}, {"k", 3}, {"MHz", 6},
                                             {"M", 6},  {"GHz", 9}, {"G", 9}};

FieldText<double> in_units(FieldText<double> form, int exponent) {
  form.read = [exponent](const std::string& text) {
    return text::read_number(in_hertz(text, exponent));
  };
  return form;
}

}  // namespace

std::string in_hertz(const std::string& text, int exponent) {
  const std::size_t end = text.find_last_of("0123456789.");
  if (end == std::string::npos) return text;
  const std::string digits = text.substr(0, end + 1);
  const std::string name = text.substr(std::min(text.size(), text.find_first_not_of(' ', end + 1)));
  for (const FrequencyUnit& unit : kFrequencyUnits) {
    if (unit.name != name) continue;
    const std::size_t at = digits.find_first_of("eE");
    int own = 0;
    if (at != std::string::npos) {
      const std::size_t from = at + (digits.find('+', at) == at + 1 ? 2 : 1);
      std::from_chars(digits.data() + from, digits.data() + digits.size(), own);
    }
    return digits.substr(0, at) + "e" + std::to_string(own + unit.exponent - exponent);
  }
  return text;
}

FieldText<double> hertz_text(const Limit& limit) {
  return in_units(plain_text<double>(limit), 0);
}

FieldText<double> megahertz_text() {
  return in_units(plain_text<double>(), 6);
}

}  // namespace tautline::core
