// Refusals, shapes, sizes and gains.
#include <gtest/gtest.h>

#include <functional>

#include "tautline/core/error.h"
#include "tests/stages/channelize/support.h"
#include "tests/support/error_of.h"

namespace tautline::stages::channelize {
namespace {

TEST(Config, RefusesWithFieldValueAndLimit) {
  struct Wrong {
    const char* field;
    std::function<void(Config&)> change;
  };
  const std::vector<Wrong> cases = {
      {"inputs", [](Config& c) { c.inputs = 0; }},
      {"inputs", [](Config& c) { c.inputs = 4097; }},
      {"channels", [](Config& c) { c.channels = 1; }},
      {"channels", [](Config& c) { c.channels = 65537; }},
      {"taps", [](Config& c) { c.taps = 0; }},
      {"taps", [](Config& c) { c.taps = static_cast<std::size_t>(-1); }},
      {"input", [](Config& c) { c.input = core::parse_sample_format("ci4"); }},
      {"input", [](Config& c) { c.input = core::parse_sample_format("u8"); }},
      {"cutoff", [](Config& c) { c.cutoff = 0; }},
      {"cutoff", [](Config& c) { c.cutoff = std::nan(""); }},
      {"window.beta", [](Config& c) { c.window.beta = -1; }},
      {"coefficients", [](Config& c) { c.coefficients.assign(7, 1.0f); }},
      {"coefficients",
       [](Config& c) {
         c.coefficients.assign(c.channels * c.taps, 1.0f);
         c.coefficients[3] = std::numeric_limits<float>::infinity();
       }},
      {"oversample_numerator", [](Config& c) { c.oversample_denominator = 2; }},
      {"oversample_denominator", [](Config& c) { c.oversample_denominator = 0; }},
      {"oversample", [](Config& c) { c.oversample_numerator = 3, c.oversample_denominator = 2; }},
      {"max_samples", [](Config& c) { c.max_samples = 0; }},
  };
  for (const Wrong& wrong : cases) {
    Config config;
    wrong.change(config);
    const core::Error error = tests::error_of([&] { make_plan(config, open_device("cpu")); });
    EXPECT_EQ(error.kind(), core::ErrorKind::config);
    EXPECT_EQ(error.field(), wrong.field);
    EXPECT_FALSE(error.value().empty());
    EXPECT_FALSE(error.limit().empty());
  }
}

TEST(Config, RefusesBuffersThatContradictIt) {
  Config c;
  c.inputs = 2, c.channels = 16, c.taps = 2;
  c.max_samples = 1000;
  const auto opened = open_device("cpu");
  const auto plan = make_plan(c, opened);
  const auto queue = opened->make_queue();
  const auto state = plan->make_state(*queue);
  std::vector<core::ci8> in(2 * 1001), out(16 * 2 * 8);
  std::vector<float> gains(32, 1);
  std::vector<std::uint64_t> clipped(2);
  const auto good_input = [&] {
    Input input;
    input.samples = in.data(), input.row_stride_bytes = 2002, input.count = 64;
    return input;
  };
  const auto good_output = [&] {
    OutputViews v;
    v.samples = {out.data(), {16, 2, 8}};
    v.gains = {gains.data(), {16, 2}};
    v.clipped = {clipped.data(), {2}};
    return v;
  };
  const auto field = [&](Input input, OutputViews output) {
    try {
      plan->execute(*queue, *state, input, output);
    } catch (const core::Error& error) {
      return error.field();
    }
    return std::string("none");
  };
  Input input = good_input();
  input.count = 1001;
  EXPECT_EQ(field(input, good_output()), "count");
  input = good_input(), input.samples = nullptr;
  EXPECT_EQ(field(input, good_output()), "samples");
  input = good_input(), input.row_stride_bytes = 127;
  EXPECT_EQ(field(input, good_output()), "row_stride_bytes");
  input = good_input(), input.phases.resize(1);
  EXPECT_EQ(field(input, good_output()), "phases");
  const std::uint64_t word = 0;
  input = good_input(), input.validity = {&word, {1, 1}};
  EXPECT_EQ(field(input, good_output()), "validity");
  OutputViews output = good_output();
  output.samples = output.samples.slice(2, 0, 2);
  EXPECT_EQ(field(good_input(), output), "output");
  const core::View<core::ci16, 3> wide(reinterpret_cast<core::ci16*>(out.data()), {16, 2, 4});
  output = good_output(), output.samples = wide;
  EXPECT_EQ(field(good_input(), output), "output");
  output = good_output(), output.samples = {};
  EXPECT_EQ(field(good_input(), output), "output");
  output = good_output(), output.gains = {};
  EXPECT_EQ(field(good_input(), output), "gains");
  output = good_output(), output.clipped = {};
  EXPECT_EQ(field(good_input(), output), "clipped");
  // Calls that failed have not changed the history.
  EXPECT_EQ(state->held_samples(), 0u);
  EXPECT_EQ(field(good_input(), good_output()), "none");
  EXPECT_EQ(state->held_samples(), 16u);
}

TEST(Config, StateIsForQueuesOfItsSize) {
  Config c;
  const auto narrow = open_device("cpu", 1), wide = open_device("cpu", 3);
  const auto plan = make_plan(c, narrow);
  const auto small = narrow->make_queue(), large = wide->make_queue();
  const auto state = plan->make_state(*small);
  EXPECT_THROW(plan->execute(*large, *state, {}, {}), core::Error);
  EXPECT_EQ(plan->execute(*small, *state, {}, {}), 0u);
}

TEST(Config, SpectraAndMemory) {
  Config c;
  c.channels = 8, c.taps = 3, c.oversample_numerator = 4, c.oversample_denominator = 3;
  const auto plan = make_plan(c, open_device("cpu"));
  EXPECT_EQ(plan->spectra(0, 23), 0u);
  EXPECT_EQ(plan->spectra(0, 24), 1u);
  EXPECT_EQ(plan->spectra(20, 9), 1u);
  EXPECT_EQ(plan->spectra(20, 10), 2u);
  EXPECT_GT(plan->bytes().host_bytes, 24u * 2);
  EXPECT_EQ(plan->bytes().device_bytes, 0u);
}

TEST(Config, OneCallGivesWhatAPlanGives) {
  auto random = tests::generator();
  Config c;
  c.channels = 32, c.taps = 4, c.inputs = 2;
  Stream stream(c.input, 2, Case{c, 9}.samples());
  stream.randomise(random);
  for (const std::string& device : all_devices())
    for (const Output output : {Output::spectra_float, Output::corner_turned_float,
                                Output::corner_turned_ci8, Output::corner_turned_ci4}) {
      c.output = output;
      const auto opened = open_device(device);
      Runner runner(make_plan(c, opened), opened);
      const Result expected = runner.run(stream);
      std::vector<std::complex<float>> memory(2 * 9 * 32);
      std::vector<std::uint64_t> clipped(2);
      Input input;
      input.samples = stream.bytes.data();
      input.row_stride_bytes = stream.row_bytes;
      input.count = stream.samples;
      OutputViews views;
      views.samples = c.output_view(memory.data(), 9);
      views.gains = {runner.gains.data(), {32, 2}};
      views.clipped = {clipped.data(), {2}};
      ASSERT_EQ(channelize(c, input, views, device::parse_selection(device)), 9u);
      const auto value = [&](std::size_t k, std::size_t i, std::size_t s) -> std::complex<float> {
        const auto& view = views.samples;
        if (output == Output::spectra_float) return view.as<std::complex<float>>()(i, s, k);
        if (output == Output::corner_turned_float) return view.as<std::complex<float>>()(k, i, s);
        if (output == Output::corner_turned_ci4) {
          const core::ci4 x = view.as<core::ci4>()(k, i, s);
          return {static_cast<float>(x.re()), static_cast<float>(x.im())};
        }
        const core::ci8 x = view.as<core::ci8>()(k, i, s);
        return {static_cast<float>(x.re), static_cast<float>(x.im)};
      };
      for (std::size_t k = 0; k < 32; ++k)
        for (std::size_t i = 0; i < 2; ++i)
          for (std::size_t s = 0; s < 9; ++s)
            ASSERT_EQ(value(k, i, s), expected.values[(k * 2 + i) * 9 + s]) << device;
    }
}

}  // namespace
}  // namespace tautline::stages::channelize
