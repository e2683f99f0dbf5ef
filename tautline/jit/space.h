// The configurations that a search may choose from.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tautline/jit/configuration.h"

namespace tautline::jit {

/// One tunable.
struct Parameter {
  std::string name;
  /// In an order in which neighbours have similar rates, most often ascending.
  std::vector<std::int64_t> values;
  std::int64_t default_value = 0;  ///< one of `values`
  std::string why;  ///< what changes with the parameter, and the reason for these values
};

/// Every combination of the parameters' values that the constraint allows. Immutable.
class Space {
 public:
  using Constraint = std::function<bool(const Configuration&)>;

  /// Throws Error(config) for a parameter without values, a value or name given twice, a default
  /// that is not among the values, and defaults that the constraint refuses.
  explicit Space(std::vector<Parameter> parameters, Constraint constraint = {});

  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// The number of all combinations, legal or not.
  std::uint64_t combinations() const { return combinations_; }
  /// The combination of that number; the last parameter changes fastest.
  Configuration at(std::uint64_t number) const;
  /// The number of a configuration; none when the configuration lacks a parameter, has another
  /// parameter, or a value that is not in the space.
  std::optional<std::uint64_t> number(const Configuration& configuration) const;
  /// Whether the configuration is in the space and allowed by the constraint.
  bool legal(const Configuration& configuration) const;
  const Configuration& default_configuration() const { return default_configuration_; }
  /// The part of the space in which these parameters have one value each, which is then their
  /// default. Throws Error(config) for parameters and values that are not in the space, and when
  /// the default is then not legal.
  Space fixed(const Configuration& values) const;
  /// Parameters and values as text, so that a change of the space can be seen.
  std::string description() const;

 private:
  std::vector<Parameter> parameters_;
  Constraint constraint_;
  std::uint64_t combinations_ = 1;
  Configuration default_configuration_;
};

}  // namespace tautline::jit
