// A stage's struct of tunables as a Space, and back.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/jit/space.h"

namespace tautline::jit {

/// Lists the fields of T that are tuned, with their values. Other fields keep the value that the
/// struct has.
template <class T>
class TunableFields {
 public:
  /// `access` is a member pointer, or a function of T& and of const T& that gives a reference.
  template <class Access>
  TunableFields& add(std::string name, Access access, std::vector<std::int64_t> values,
                     std::string why) {
    fields_.push_back(
        {std::move(name), std::move(values), std::move(why),
         [access](const T& from) { return static_cast<std::int64_t>(std::invoke(access, from)); },
         [access](T& to, std::int64_t value) {
           auto& field = std::invoke(access, to);
           field = static_cast<std::decay_t<decltype(field)>>(value);
         }});
    return *this;
  }

  /// Of a struct in T.
  template <class Part, class Value>
  TunableFields& add(std::string name, Part T::*part, Value Part::*field,
                     std::vector<std::int64_t> values, std::string why) {
    return add(
        std::move(name), [=](auto& t) -> auto& { return t.*part.*field; }, std::move(values),
        std::move(why));
  }

  Configuration configuration(const T& tunables) const {
    Configuration values;
    for (const Field& field : fields_) values[field.name] = field.get(tunables);
    return values;
  }

  /// Throws Error(config) for a name that is no field.
  T tunables(const Configuration& configuration, T base = {}) const {
    for (const auto& [name, value] : configuration) named(name).set(base, value);
    return base;
  }

  /// `legal` sees structs whose other fields are those of `defaults`.
  Space space(const T& defaults, std::function<bool(const T&)> legal = {}) const {
    std::vector<Parameter> parameters;
    for (const Field& field : fields_)
      parameters.push_back({field.name, field.values, field.get(defaults), field.why});
    if (!legal) return Space(std::move(parameters));
    return Space(std::move(parameters), [fields = *this, defaults, legal](const Configuration& c) {
      return legal(fields.tunables(c, defaults));
    });
  }

 private:
  struct Field {
    std::string name;
    std::vector<std::int64_t> values;
    std::string why;
    std::function<std::int64_t(const T&)> get;
    std::function<void(T&, std::int64_t)> set;
  };

  const Field& named(const std::string& name) const {
    for (const Field& field : fields_)
      if (field.name == name) return field;
    throw core::Error(core::ErrorKind::config, "tunable", name, "the name of one");
  }

  std::vector<Field> fields_;
};

}  // namespace tautline::jit
