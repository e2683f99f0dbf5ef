#include "tautline/core/fields.h"

#include <cctype>
#include <utility>

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

AnyField::AnyField(FieldDescription description) : FieldDescription(std::move(description)) {}
AnyField::AnyField(const AnyField&) = default;
AnyField::AnyField(AnyField&&) noexcept = default;
AnyField& AnyField::operator=(const AnyField&) = default;
AnyField& AnyField::operator=(AnyField&&) noexcept = default;
AnyField::~AnyField() = default;

AnyField text_field(FieldDescription description, std::function<std::string(const void*)> text,
                    std::function<void(void*, const std::string&)> set) {
  AnyField field(std::move(description));
  field.text_at = std::move(text);
  field.check_at = [](const void*) {};
  field.set_at = [set = std::move(set), name = field.name](void* config, const std::string& given) {
    try {
      set(config, given);
    } catch (const Error& error) {
      throw Error(ErrorKind::config, name, given, error.limit(), error.advice());
    }
  };
  return field;
}

AnyField part_field(const std::string& prefix, const MemberOf& part, const AnyField& field) {
  AnyField whole(field);
  if (!prefix.empty()) whole.name = prefix + "." + field.name;
  const auto renamed = [name = whole.name](const auto& work) {
    try {
      work();
    } catch (const Error& error) {
      throw Error(error.kind(), name, error.value(), error.limit(), error.advice());
    }
  };
  whole.text_at = [part, text = field.text_at](const void* config) {
    return text(part(const_cast<void*>(config)));
  };
  whole.set_at = [part, renamed, set = field.set_at](void* config, const std::string& text) {
    renamed([&] { set(part(config), text); });
  };
  whole.check_at = [part, renamed, check = field.check_at](const void* config) {
    renamed([&] { check(part(const_cast<void*>(config))); });
  };
  return whole;
}

AnyField with_units_of_time(AnyField field) {
  if (field.unit == "s")
    field.set_at = [set = std::move(field.set_at)](void* config, const std::string& text) {
      constexpr std::string_view kNumber = "a number";
      try {
        set(config, text::in_seconds(text));
      } catch (const Error& error) {
        if (!error.limit().starts_with(kNumber)) throw;
        throw Error(error.kind(), error.field(), text,
                    "a time (20ms, 1.5s, 5min; plain numbers are seconds)" +
                        error.limit().substr(kNumber.size()),
                    error.advice());
      }
    };
  return field;
}

void refuse_value(const std::string& name, const std::string& value, const std::string& allowed) {
  throw Error(ErrorKind::config, name, value, allowed);
}

void refuse_text(const std::string& name, const std::string& text, const std::string& allowed,
                 const Error& error) {
  std::string limit = error.limit();
  if (limit.empty()) limit = allowed;
  if (!allowed.empty() && limit == "a whole number of 0 or more") limit = "a whole number";
  if (!allowed.empty() && limit != allowed) limit += ", " + allowed;
  throw Error(ErrorKind::config, name, text, limit, error.advice());
}

}  // namespace tautline::core
