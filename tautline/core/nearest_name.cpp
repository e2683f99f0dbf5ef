#include "tautline/core/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tautline::core {

namespace {

// Letters to insert, remove, replace or swap with the next one between two words (the optimal string alignment).
std::size_t changes_between(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before, last, row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view word, const std::vector<std::string>& names) {
  std::string nearest;
  std::size_t fewest = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& name : names)
    if (const std::size_t changes = changes_between(word, name);
        changes < fewest && (changes < 2 || 2 * changes < word.size())) {
      fewest = changes;
      nearest = name;
    }
  if (!nearest.empty()) return nearest;
  // "--thresh": the begin of one name alone.
  constexpr std::size_t kLeastLetters = 4;
  for (const std::string& name : names) {
    if (word.size() < kLeastLetters || !name.starts_with(word)) continue;
    if (!nearest.empty() && nearest != name) return {};
    nearest = name;
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  const std::string nearest = nearest_name(word, names);
  return nearest.empty() ? nearest : "did you mean " + nearest;
}

}  // namespace tautline::core
