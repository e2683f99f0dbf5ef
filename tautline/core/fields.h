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

/// Throws Error(config) that lists the names that there are.
[[noreturn]] void refuse_unknown_field(const std::string& name,
                                       const std::vector<std::string>& known);

template <class Config>
struct Field : FieldDescription {
  std::function<std::string(const Config&)> text;
  /// Throws Error(config) with the field's name, the text and what is allowed.
  std::function<void(Config&, const std::string&)> set;
  /// The same for the value that the Config has.
  std::function<void(const Config&)> check;
};

/// Lists the fields of a Config in the order in which help and documents have them.
template <class Config>
class Fields {
 public:
  /// `access` is a member pointer, or a function of Config& and of const Config& that gives a
  /// reference.
  template <class Access, class T>
  Fields& add(FieldDescription description, Access access, FieldText<T> form) {
    Field<Config> field{std::move(description), {}, {}, {}};
    field.kind = form.kind;
    field.allowed = form.allowed;
    field.names = form.names;
    const auto refuse_value = [name = field.name, form](const std::string& value) {
      throw Error(ErrorKind::config, name, value, form.allowed);
    };
    field.text = [access, form](const Config& config) {
      return form.write(std::invoke(access, config));
    };
    field.check = [access, form, refuse_value](const Config& config) {
      const T& value = std::invoke(access, config);
      if (!form.allows(value)) refuse_value(form.write(value));
    };
    field.set = [access, form, refuse_value, name = field.name](Config& config,
                                                                const std::string& text) {
      T value = read(form, name, text);
      if (!form.allows(value)) refuse_value(text);
      std::invoke(access, config) = std::move(value);
    };
    return put(std::move(field));
  }
  template <class T, class Owner>
  Fields& add(FieldDescription description, T Owner::*member) {
    return add(std::move(description), member, plain_text<T>());
  }
  template <class T, class Owner>
  Fields& add(FieldDescription description, T Owner::*member, const Limit& limit) {
    return add(std::move(description), member, plain_text<T>(limit));
  }

  /// A text that stands for several members, or for one that only reads: its form is the
  /// description's. `set` throws Error(config), of which limit and advice are used.
  Fields& add_text(FieldDescription description, std::function<std::string(const Config&)> text,
                   std::function<void(Config&, const std::string&)> set) {
    Field<Config> field{std::move(description), {}, {}, {}};
    field.text = std::move(text);
    field.check = [](const Config&) {};
    field.set = [set = std::move(set), name = field.name](Config& config,
                                                          const std::string& given) {
      try {
        set(config, given);
      } catch (const Error& error) {
        throw Error(ErrorKind::config, name, given, error.limit(), error.advice());
      }
    };
    return put(std::move(field));
  }

  /// The fields of a part, as "PREFIX.NAME" unless the prefix is empty. `access` gives the part.
  template <class Part, class Access>
  Fields& include(const std::string& prefix, Access access, const Fields<Part>& part) {
    for (const Field<Part>& one : part.all()) {
      Field<Config> field{static_cast<const FieldDescription&>(one), {}, {}, {}};
      if (!prefix.empty()) field.name = prefix + "." + one.name;
      const auto renamed = [name = field.name](const auto& work) {
        try {
          work();
        } catch (const Error& error) {
          throw Error(error.kind(), name, error.value(), error.limit(), error.advice());
        }
      };
      field.text = [access, text = one.text](const Config& config) {
        return text(std::invoke(access, config));
      };
      field.set = [access, renamed, set = one.set](Config& config, const std::string& text) {
        renamed([&] { set(std::invoke(access, config), text); });
      };
      field.check = [access, renamed, check = one.check](const Config& config) {
        renamed([&] { check(std::invoke(access, config)); });
      };
      put(std::move(field));
    }
    return *this;
  }

  const std::vector<Field<Config>>& all() const { return all_; }

  /// Throws Error(config) for a name that is no field.
  const Field<Config>& named(const std::string& name) const {
    std::vector<std::string> known;
    for (const Field<Config>& field : all_) {
      if (field.name == name) return field;
      known.push_back(field.name);
    }
    refuse_unknown_field(name, known);
  }

 private:
  template <class T>
  static T read(const FieldText<T>& form, const std::string& name, const std::string& text) {
    try {
      return form.read(text);
    } catch (const Error& error) {
      std::string limit = error.limit();
      if (limit.empty()) limit = form.allowed;
      if (!form.allowed.empty() && limit != form.allowed) limit += ", " + form.allowed;
      throw Error(ErrorKind::config, name, text, limit, error.advice());
    }
  }

  // A field that is there already is described anew, in its place. Times may have units: "20ms".
  Fields& put(Field<Config> field) {
    if (field.unit == "s")
      field.set = [set = std::move(field.set)](Config& config, const std::string& text) {
        set(config, text::in_seconds(text));
      };
    for (Field<Config>& one : all_)
      if (one.name == field.name) {
        one = std::move(field);
        return *this;
      }
    all_.push_back(std::move(field));
    return *this;
  }

  std::vector<Field<Config>> all_;
};

// A Config that is described has `const core::Fields<Config>& fields(const Config&)` in its own
// namespace; what follows finds it there.

/// Throws Error(config) for the first field whose value is not allowed.
template <class Config>
void check(const Config& config) {
  for (const auto& field : fields(config).all()) field.check(config);
}

/// Throws Error(config) for an unknown name or a value that is not allowed, and says what is.
template <class Config>
void set(Config& config, const std::string& name, const std::string& text) {
  fields(config).named(name).set(config, text);
}

/// The value that a Config has before anything is set.
template <class Config>
std::string default_text(const Field<Config>& field) {
  return field.text(Config{});
}

}  // namespace tautline::core
