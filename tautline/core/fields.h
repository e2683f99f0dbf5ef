// The fields of a Config, each described once: its text, checks, options, help, documents and
// bindings are made from that description (docs/design/fields.md).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/core/field_text.h"

namespace tautline::core {

/// Where the command's option differs from the field in more than its name.
struct InOption {
  std::string unit = {};     ///< the option's; empty: the field's
  double per_unit = 1;       ///< the option's units in one of the field's
  std::string allowed = {};  ///< the field's, in the option's unit
  std::string help = {};     ///< of a flag that sets the field to false
};

/// What is said of a field.
struct FieldDescription {
  std::string name;         ///< the member, as "integration_s"; of a part, as "filter.channels"
  std::string unit = {};    ///< as "s", "Hz", "pc cm^-3"; empty: none
  std::string help = {};    ///< one line, without what `unit` and `allowed` say
  std::string option = {};  ///< the command's name for it, where it has one of its own
  InOption in_option = {};
  std::string form = {};  ///< of a text, as "P/Q"
  char separator = ',';   ///< of a list
  // From the member itself:
  FieldKind kind = FieldKind::text;
  std::string allowed = {};             ///< in words; empty: whatever the member's type holds
  std::vector<std::string> names = {};  ///< of a choice
};

/// The command's name for a field: "integration" of integration_s (unit s), "max-width" of a part's
/// max_width_s, unless the description has another, or several, "bin,bin-time".
std::string option_name(const FieldDescription& field);

/// Whether an error that names `field` means the one of that description: by its whole name, or by
/// the member's alone ("channels" of "filter.channels").
bool is_field(const FieldDescription& described, std::string_view field);

/// Throws Error(config) that lists the existing names.
[[noreturn]] void refuse_unknown_field(const std::string& name,
                                       const std::vector<std::string>& known);

/// Common code of the fields of all Configs: functions of a Config's address, so that they are
/// compiled once.
struct AnyField : FieldDescription {
  explicit AnyField(FieldDescription description);
  AnyField(const AnyField&);
  AnyField(AnyField&&) noexcept;
  AnyField& operator=(const AnyField&);
  AnyField& operator=(AnyField&&) noexcept;
  ~AnyField();

  std::function<std::string(const void*)> text_at;
  std::function<void(void*, const std::string&)> set_at;
  std::function<void(const void*)> check_at;
};

template <class Config>
struct Field : AnyField {
  explicit Field(AnyField field) : AnyField(std::move(field)) {}
  std::string text(const Config& config) const { return text_at(&config); }
  /// Throws Error(config) with the field's name, the text and the allowed values.
  void set(Config& config, const std::string& text) const { set_at(&config, text); }
  /// The same for the present value of the Config.
  void check(const Config& config) const { check_at(&config); }
};

/// Converts the address of a Config to the address of its member or part.
using MemberOf = std::function<void*(void*)>;

/// A text that stands for several members: its form is the description's.
AnyField text_field(FieldDescription description, std::function<std::string(const void*)> text,
                    std::function<void(void*, const std::string&)> set);
/// The field of a part, as "PREFIX.NAME" unless the prefix is empty.
AnyField part_field(const std::string& prefix, const MemberOf& part, const AnyField& field);
/// The same field with units of time allowed where the field is in seconds: "20ms".
AnyField with_units_of_time(AnyField field);
[[noreturn]] void refuse_value(const std::string& name, const std::string& value,
                               const std::string& allowed);
/// The error of a text that could not be read.
[[noreturn]] void refuse_text(const std::string& name, const std::string& text,
                              const std::string& allowed, const Error& error);

template <class T>
AnyField member_field(FieldDescription description, const MemberOf& member,
                      const FieldText<T>& form) {
  AnyField field(std::move(description));
  field.kind = form.kind;
  field.allowed = form.allowed;
  field.names = form.names;
  field.text_at = [member, form](const void* config) {
    return form.write(*static_cast<const T*>(member(const_cast<void*>(config))));
  };
  field.check_at = [member, form, name = field.name](const void* config) {
    const T& value = *static_cast<const T*>(member(const_cast<void*>(config)));
    if (form.allows(value)) return;
    if constexpr (text::is_vector<T>::value)  // the first of them that is not allowed
      for (const auto& one : value)
        if (!form.allows(T{one})) refuse_value(name, form.write(T{one}), form.allowed);
    refuse_value(name, form.write(value), form.allowed);
  };
  field.set_at = [member, form, name = field.name](void* config, const std::string& text) {
    const auto read = [&] {
      try {
        return form.read(text);
      } catch (const Error& error) {
        refuse_text(name, text, form.allowed, error);
      }
    };
    T value = read();
    if (!form.allows(value)) refuse_value(name, text, form.allowed);
    *static_cast<T*>(member(config)) = std::move(value);
  };
  return field;
}

/// Lists the fields of a Config in the order in which help and documents have them.
template <class Config>
class Fields {
 public:
  /// `access` is a member pointer, or a function of Config& that gives a reference.
  template <class Access, class T>
  Fields& add(FieldDescription description, Access access, FieldText<T> form) {
    return put(member_field<T>(std::move(description), member_of<T>(access), form));
  }
  template <class T, class Owner>
  Fields& add(FieldDescription description, T Owner::*member) {
    return add(std::move(description), member, plain_text<T>());
  }
  template <class T, class Owner>
  Fields& add(FieldDescription description, T Owner::*member, const Limit& limit) {
    return add(std::move(description), member, plain_text<T>(limit));
  }

  /// A text that stands for several members, or a text that can only be read: its form is the
  /// description's. `set` throws Error(config), of which limit and advice are used.
  Fields& add_text(FieldDescription description, std::function<std::string(const Config&)> text,
                   std::function<void(Config&, const std::string&)> set) {
    return put(text_field(
        std::move(description),
        [text = std::move(text)](const void* config) {
          return text(*static_cast<const Config*>(config));
        },
        [set = std::move(set)](void* config, const std::string& given) {
          set(*static_cast<Config*>(config), given);
        }));
  }

  /// The fields of a part, as "PREFIX.NAME" unless the prefix is empty. `access` gives the part.
  template <class Part, class Access>
  Fields& include(const std::string& prefix, Access access, const Fields<Part>& part) {
    const MemberOf member = member_of<Part>(access);
    for (const Field<Part>& one : part.all()) put(part_field(prefix, member, one));
    return *this;
  }

  const std::vector<Field<Config>>& all() const { return all_; }

  /// Throws Error(config) for a name that is not a field.
  const Field<Config>& named(const std::string& name) const {
    std::vector<std::string> known;
    for (const Field<Config>& field : all_) {
      if (field.name == name) return field;
      known.push_back(field.name);
    }
    refuse_unknown_field(name, known);
  }

 private:
  template <class T, class Access>
  static MemberOf member_of(Access access) {
    return [access](void* config) -> void* {
      T& member = std::invoke(access, *static_cast<Config*>(config));
      return &member;
    };
  }

  // A second description of a field replaces the first.
  Fields& put(AnyField field) {
    field = with_units_of_time(std::move(field));
    for (Field<Config>& one : all_)
      if (one.name == field.name) {
        static_cast<AnyField&>(one) = std::move(field);
        return *this;
      }
    all_.emplace_back(std::move(field));
    return *this;
  }

  std::vector<Field<Config>> all_;
};

// A described Config has `const core::Fields<Config>& fields(const Config&)` in its own namespace;
// the functions below find it by its argument.

/// Throws Error(config) for the first field whose value is not allowed.
template <class Config>
void check(const Config& config) {
  for (const auto& field : fields(config).all()) field.check(config);
}

/// The same of a stage's plan: the error names "STAGE FIELD".
template <class Config>
void check(const Config& config, const std::string& stage) {
  try {
    check(config);
  } catch (const Error& error) {
    throw Error(error.kind(), stage + " " + error.field(), error.value(), error.limit(),
                error.advice());
  }
}

/// Throws Error(config) for an unknown name or a value that is not allowed, with the allowed names
/// or values.
template <class Config>
void set(Config& config, const std::string& name, const std::string& text) {
  fields(config).named(name).set(config, text);
}

/// The default value.
template <class Config>
std::string default_text(const Field<Config>& field) {
  return field.text(Config{});
}

}  // namespace tautline::core
