#include "tautline/stages/dedisperse/gpu/place_sums.h"

#include <algorithm>

namespace tautline::stages::dedisperse {

namespace {

class Placer {
 public:
  Placer(std::span<const std::size_t> words, std::size_t ahead) : words_(words), ahead_(ahead) {}

  void add(std::size_t at) { places_.push_back({at, after(at)}); }
  // Wherever the next channel block waits least, the first such place.
  void add_best(std::initializer_list<std::size_t> all) {
    add(*std::min_element(all.begin(), all.end(),
                          [&](std::size_t a, std::size_t b) { return after(a) < after(b); }));
  }
  std::size_t next() const { return words_[places_.size()]; }
  std::size_t begin() const { return places_.back().at; }  // of the last one
  std::size_t end() const { return begin() + words_[places_.size() - 1]; }
  const std::vector<SumsPlace>& places() const { return places_; }
  bool waits_for_neighbours() const {
    for (std::size_t b = 1; b < places_.size(); ++b)
      if (places_[b].after == b) return true;
    return false;
  }

 private:
  // Of the next channel block: after the last one that lies where it would.
  std::size_t after(std::size_t at) const {
    const std::size_t n = places_.size(), least = n < ahead_ ? 0 : n + 1 - ahead_;
    for (std::size_t b = n; b > least; --b)
      if (at < places_[b - 1].at + words_[b - 1] && places_[b - 1].at < at + next()) return b;
    return least;
  }

  std::span<const std::size_t> words_;
  std::size_t ahead_;
  std::vector<SumsPlace> places_;
};

}  // namespace

std::vector<SumsPlace> place_sums(std::span<const std::size_t> words, std::size_t room,
                                  std::size_t ahead) {
  Placer ring(words, ahead), ends(words, ahead);
  for (std::size_t b = 0; b < words.size(); ++b) {
    const std::size_t last = room - words[b];
    if (b == 0) {
      ring.add(0);
    } else {
      ring.add_best(
          {std::min(last, ring.end()), 0, last, ring.begin() - std::min(ring.begin(), words[b])});
    }
    ends.add(b % 2 == 0 ? 0 : last);
  }
  // Small channel blocks in the middle may leave no room for two large ones, which either end
  // always has.
  return (ring.waits_for_neighbours() ? ends : ring).places();
}

}  // namespace tautline::stages::dedisperse
