// Correlates raw counts with the stage itself, for interoperability tests.
//
//   dump_correlation FILE u8|u16|f32 SENSORS chain|standard BINS LEVELS none|global|symmetric
//                    sum|first|second [A B]
//
// prints JSON: lag_samples, levels, counts, and for every pair sums and g, in full digits.
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/normalise.h"

namespace {

using namespace tautline;
using namespace tautline::stages::autocorrelate;

template <class Value, class Count>
nlohmann::json correlate(const Config& config, core::Normalization how,
                         const std::vector<Count>& counts) {
  const std::size_t pairs = config.pair_count(), samples = counts.size() / config.sensors;
  const auto lags = lags_of(config);
  std::vector<Value> sums(pairs * lags.size()), lead_in(sums), direct(sums), delayed(sums),
      totals(pairs * 2);
  std::vector<std::int64_t> numbers(lags.size());
  std::vector<double> g(sums.size());
  const auto view = [&]<class T>(std::vector<T>& values, std::size_t columns) {
    return core::View<T, 2>(values.data(), {pairs, columns});
  };
  const Sums out{view(sums, lags.size()),      view(lead_in, lags.size()),
                 view(direct, lags.size()),    view(delayed, lags.size()),
                 view(totals, std::size_t{2}), numbers};
  const auto device = device::open({});
  const auto queue = device->make_queue();
  const auto plan = make_plan(config, device);
  const auto state = plan->make_state(*queue);
  plan->execute(*queue, *state,
                core::View<const Count, 2>(counts.data(), {samples, config.sensors}));
  plan->read(*queue, *state, out);
  queue->synchronise();
  normalise(config, how, samples, out, view(g, lags.size()));
  nlohmann::json result{{"counts", numbers}, {"sums", sums}, {"g", g}};
  for (const Lag& lag : lags) {
    result["lag_samples"].push_back(lag.samples);
    result["levels"].push_back(lag.level);
  }
  return result;
}

template <class Count>
std::vector<Count> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<Count> counts(bytes.size() / sizeof(Count));
  std::memcpy(counts.data(), bytes.data(), counts.size() * sizeof(Count));
  return counts;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() != 8 && words.size() != 10) return 2;
  Config config{.sensors = std::stoul(words[2]),
                .lag_scheme = words[3] == "chain" ? LagScheme::chain : LagScheme::standard,
                .bins = std::stoul(words[4]),
                .levels = std::stoul(words[5]),
                .coarsening = words[7] == "sum"     ? Coarsening::sum
                              : words[7] == "first" ? Coarsening::first
                                                    : Coarsening::second,
                .max_samples = std::size_t{1} << 30};
  if (words.size() == 10)
    config.pairs = {{static_cast<std::uint32_t>(std::stoul(words[8])),
                     static_cast<std::uint32_t>(std::stoul(words[9]))}};
  const auto how = words[6] == "none"     ? core::Normalization::none
                   : words[6] == "global" ? core::Normalization::global
                                          : core::Normalization::symmetric;
  nlohmann::json result;
  if (words[1] == "u8") {
    result = correlate<std::int64_t>(config, how, read<std::uint8_t>(words[0]));
  } else if (words[1] == "u16") {
    config.type = core::SampleType::u16;
    result = correlate<std::int64_t>(config, how, read<std::uint16_t>(words[0]));
  } else {
    config.type = core::SampleType::f32;
    result = correlate<double>(config, how, read<float>(words[0]));
  }
  std::cout << result.dump() << "\n";
  return 0;
}
