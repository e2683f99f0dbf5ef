#include "tautline/stages/channelize/cpu/tables.h"

namespace tautline::stages::channelize {

std::vector<float> component_coefficients(const Bank& bank) {
  std::vector<float> expanded;
  expanded.reserve(bank.filter.size() * bank.components_per_sample());
  for (const double value : bank.filter) {
    expanded.push_back(static_cast<float>(value));
    if (!bank.real) expanded.push_back(static_cast<float>(bank.lower ? -value : value));
  }
  return expanded;
}

}  // namespace tautline::stages::channelize
