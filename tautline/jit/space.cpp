#include "tautline/jit/space.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tautline/core/error.h"

namespace tautline::jit {

namespace {

using core::Error;
using core::ErrorKind;

void check(const Parameter& parameter) {
  const auto fail = [&](const std::string& value, const std::string& limit) {
    throw Error(ErrorKind::config, "tunable " + parameter.name, value, limit);
  };
  if (parameter.values.empty()) fail("no values", "one at least");
  auto sorted = parameter.values;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    fail("a value given twice", "every value once");
  if (!std::binary_search(sorted.begin(), sorted.end(), parameter.default_value))
    fail("default " + std::to_string(parameter.default_value), "one of its values");
}

}  // namespace

Space::Space(std::vector<Parameter> parameters, Constraint constraint)
    : parameters_(std::move(parameters)), constraint_(std::move(constraint)) {
  for (const Parameter& parameter : parameters_) {
    check(parameter);
    const std::uint64_t count = parameter.values.size();
    if (combinations_ > std::numeric_limits<std::uint64_t>::max() / count)
      throw Error(ErrorKind::config, "tunables", "too many combinations", "fewer than 2^64");
    combinations_ *= count;
    if (!default_configuration_.emplace(parameter.name, parameter.default_value).second)
      throw Error(ErrorKind::config, "tunable " + parameter.name, "named twice", "one of a name");
  }
  if (!legal(default_configuration_))
    throw Error(ErrorKind::config, "tunables",
                "the default " + describe(default_configuration_) + " is not legal",
                "a legal default");
}

Configuration Space::at(std::uint64_t number) const {
  Configuration configuration;
  for (std::size_t p = parameters_.size(); p-- > 0;) {
    const auto& values = parameters_[p].values;
    configuration[parameters_[p].name] = values[number % values.size()];
    number /= values.size();
  }
  return configuration;
}

std::optional<std::uint64_t> Space::number(const Configuration& configuration) const {
  if (configuration.size() != parameters_.size()) return {};
  std::uint64_t number = 0;
  for (const Parameter& parameter : parameters_) {
    const auto given = configuration.find(parameter.name);
    if (given == configuration.end()) return {};
    const auto at = std::find(parameter.values.begin(), parameter.values.end(), given->second);
    if (at == parameter.values.end()) return {};
    number = number * parameter.values.size() +
             static_cast<std::uint64_t>(at - parameter.values.begin());
  }
  return number;
}

bool Space::legal(const Configuration& configuration) const {
  return number(configuration).has_value() && (!constraint_ || constraint_(configuration));
}

Space Space::fixed(const Configuration& values) const {
  std::vector<Parameter> parameters = parameters_;
  for (const auto& [name, value] : values) {
    const auto at = std::find_if(parameters.begin(), parameters.end(),
                                 [&](const Parameter& p) { return p.name == name; });
    if (at == parameters.end() ||
        std::find(at->values.begin(), at->values.end(), value) == at->values.end())
      throw Error(ErrorKind::config, "tunable", name + "=" + std::to_string(value),
                  "one of:\n" + description());
    at->values = {value};
    at->default_value = value;
  }
  return Space(std::move(parameters), constraint_);
}

std::string Space::description() const {
  std::string text;
  for (const Parameter& parameter : parameters_) {
    text += parameter.name + ":";
    for (const std::int64_t value : parameter.values) text += " " + std::to_string(value);
    text += "\n";
  }
  return text;
}

}  // namespace tautline::jit
