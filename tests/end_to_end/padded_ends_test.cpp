// Padding in all inputs: integrations of which it takes a part have the time and the length of the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "tautline/core/time.h"
#include "tautline/formats/npy/header.h"
#include "tautline/formats/visibility_reader.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

constexpr std::size_t kPaddedInputs = 2, kPaddedTimes = 300'000, kIntegrationSpectra = 2000;
constexpr std::size_t kHop = 32, kTaps = 4, kSpan = kTaps * kHop;
constexpr double kPaddedRate_hz = 1e6;

/// Complex noise of 8 bits, [input][time], that is zero before `data_begin` and from `data_end` on.
std::string padded_file(std::size_t data_begin, std::size_t data_end, std::mt19937_64& random) {
  std::string voltages(kPaddedInputs * kPaddedTimes * 2, '\0');
  for (std::size_t i = 0; i < kPaddedInputs; ++i)
    for (std::size_t k = 2 * data_begin; k < 2 * data_end; ++k)
      voltages[2 * i * kPaddedTimes + k] = static_cast<char>(random() % 61) - 30;
  for (std::size_t i = 0; i < kPaddedInputs; ++i)  // no zeros beside the padding
    voltages[2 * (i * kPaddedTimes + data_begin)] =
        voltages[2 * (i * kPaddedTimes + data_end - 1)] = 99;
  return formats::npy::format_header("|i1", {kPaddedInputs, kPaddedTimes, 2}) + voltages;
}

struct Span {
  std::uint64_t first = 0, spectra = 0;
};

// Integrations of `length` spectra, by the definition: of a whole one that has three quarters of its spectra or more
// the time is that of all; of others it is that of those between the padding, where there are any.
std::vector<Span> expected_spans(std::size_t data_begin, std::size_t data_end, std::size_t length) {
  const std::uint64_t all = (kPaddedTimes - kSpan) / kHop + 1;
  const std::uint64_t first_valid = (data_begin + kHop - 1) / kHop,
                      end_valid = (data_end - kSpan) / kHop + 1;
  std::vector<Span> spans;
  for (std::uint64_t first = 0; first < all; first += length) {
    const std::uint64_t end = std::min<std::uint64_t>(first + length, all);
    const std::uint64_t from = std::max(first, first_valid), to = std::min(end, end_valid);
    const bool few = from < to && (end - first < length || 4 * (to - from) < 3 * length);
    spans.push_back(few ? Span{from, to - from} : Span{first, end - first});
  }
  return spans;
}

class PaddedEnds : public ::testing::TestWithParam<std::string> {
 protected:
  void expect_spans(std::size_t data_begin, std::size_t data_end, std::size_t average) {
    SCOPED_TRACE(testing::Message() << data_begin << " to " << data_end << " by " << average);
    const std::string output = scratch / ("v" + GetParam());
    const CommandResult result =
        run_command({"--quiet",
                     "correlate",
                     scratch / "x.npy",
                     "-o",
                     output,
                     "--overwrite",
                     "--format",
                     "ci8",
                     "--rate-hz",
                     "1000000",
                     "--centre-hz",
                     "1e9",
                     "--utc-start",
                     "2026-03-20-14:00:00",
                     "--taps",
                     std::to_string(kTaps),
                     "--channels",
                     std::to_string(kHop),
                     "--integration",
                     std::to_string(kIntegrationSpectra * kHop / kPaddedRate_hz),
                     "--average-time",
                     std::to_string(average)},
                    scratch.path().string());
    ASSERT_EQ(result.status, kDone) << result.err;
    const auto reader = formats::open_visibilities(output);
    const auto spans = expected_spans(data_begin, data_end, kIntegrationSpectra * average);
    ASSERT_EQ(reader->integrations(), spans.size());
    const core::Instant start = core::parse_utc("2026-03-20-14:00:00");
    std::int64_t counts = 0;
    for (std::size_t k = 0; k < spans.size(); ++k) {
      const auto [first, spectra] = spans[k];
      EXPECT_NEAR(reader->integration_lengths_s()[k],
                  static_cast<double>(spectra * kHop) / kPaddedRate_hz, 1e-9)
          << k;
      // A Julian date in a double is that to 40 us.
      EXPECT_NEAR(
          core::seconds_between(start, reader->middles()[k]),
          static_cast<double>((2 * first + spectra - 1) * kHop + kSpan) / 2 / kPaddedRate_hz, 5e-5)
          << k;
      counts += reader->read(k).counts(1, 0);
    }
    const std::uint64_t first_valid = (data_begin + kHop - 1) / kHop,
                        end_valid = (data_end - kSpan) / kHop + 1;
    EXPECT_EQ(counts, static_cast<std::int64_t>(end_valid - first_valid));
  }
  ScratchFolder scratch;
};

TEST_P(PaddedEnds, IntegrationsAreAsLongAsTheirData) {
#ifndef TAUTLINE_CASACORE
  if (GetParam() == ".ms") GTEST_SKIP() << "a build without casacore";
#endif
  auto random = generator();
  constexpr std::size_t kLength = kIntegrationSpectra * kHop;
  // Of an integration and its data: less than a quarter before the end, some of it at the begin and more at the end of
  // the data; in the last integration, which is short anyway.
  const auto place = [&](std::size_t integration, double from, double to) {
    const auto range = static_cast<std::size_t>((to - from) * kLength);
    return integration * kLength + static_cast<std::size_t>(from * kLength) + random() % range;
  };
  for (const auto& [begin, end] : {std::pair{std::size_t{0}, place(2, 0.1, 0.7)},
                                   std::pair{std::size_t{0}, place(3, 0.8, 0.98)},
                                   std::pair{place(0, 0.3, 0.9), place(4, 0.1, 0.6)},
                                   std::pair{place(1, 0.05, 0.2), place(2, 0.3, 0.7)}}) {
    write_file(scratch / "x.npy", padded_file(begin, end, random));
    for (const std::size_t average : {1U, 2U}) expect_spans(begin, end, average);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, PaddedEnds, ::testing::Values(".uvh5", ".ms"),
                         [](const auto& one) { return one.param.substr(1); });

}  // namespace
}  // namespace tautline::tests
