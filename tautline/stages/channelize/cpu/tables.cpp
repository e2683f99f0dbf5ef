#include "tautline/stages/channelize/cpu/tables.h"

#include <numbers>

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

std::vector<std::complex<float>> split_roots(std::size_t channels) {
  std::vector<std::complex<float>> roots(channels / 2 + 1);
  for (std::size_t k = 0; k < roots.size(); ++k)
    roots[k] = std::complex<float>(std::polar(
        1.0, -std::numbers::pi * static_cast<double>(k) / static_cast<double>(channels)));
  return roots;
}

}  // namespace tautline::stages::channelize
