#include "tautline/core/fields.h"

#include <cctype>

namespace tautline::core {

namespace {

// The member's own name, without the parts that it is in.
std::string_view member_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

}  // namespace

std::string option_name(const FieldDescription& field) {
  if (!field.option.empty()) return field.option;
  std::string name(member_of(field.name));
  std::string suffix = "_" + field.unit;
  for (char& c : suffix) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (suffix.size() > 1 && name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  for (char& c : name)
    if (c == '_') c = '-';
  return name;
}

bool is_field(const FieldDescription& described, std::string_view field) {
  return described.name == field || member_of(described.name) == field;
}

void refuse_unknown_field(const std::string& name, const std::vector<std::string>& known) {
  std::string names;
  for (const std::string& one : known) names += (names.empty() ? "" : ", ") + one;
  throw Error(ErrorKind::config, "field", name, "one of " + names);
}

}  // namespace tautline::core
