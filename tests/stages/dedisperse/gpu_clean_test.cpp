// Input that is cleaned, measured or downsampled in the device's memory gives what the host makes
// of it, to the bit: on every device that compiles.
#include "tests/stages/dedisperse/support.h"
#include "tests/support/gpus.h"

namespace tautline::stages::dedisperse {
namespace {

// Little to unroll: PoCL takes seconds to compile the default.
const Tunables kQuickClean{.gpu = {16, 2, 1, 2, 32}};

struct Moves {
  std::vector<std::size_t> pieces;
  bool rows = false;
  bool mixed = false;    ///< every other call is given the host's memory
  bool restore = false;  ///< the state is saved and loaded between calls
};

class GpuClean : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    device = device::open(device::parse_selection(GetParam()));
  }

  // The whole stream, most of it from the device's memory; trials as floats or integers.
  template <class T>
  std::vector<T> run_there(const Plan& plan, const std::vector<std::byte>& spectra,
                           std::size_t times, const Moves& moves, std::vector<Moments>& moments) {
    const Config& config = plan.config();
    const auto bits = static_cast<std::size_t>(config.bits);
    const std::size_t channels = config.frequencies_mhz.size(), trials = config.dms.size();
    const std::size_t element = std::max<std::size_t>(1, bits / 8);
    const std::size_t line = (channels * bits + 7) / 8, room = plan.max_output_samples();
    const auto bytes = moves.rows ? to_rows(config, spectra, times) : spectra;
    const auto queue = device->make_queue();
    auto state = plan.make_state(*queue);
    const device::Buffer in = device->allocate(bytes.size());
    queue->copy(in.data(), bytes.data(), bytes.size());
    std::vector<T> series;  // [time][beam][trial]
    std::size_t call = 0;
    for (std::size_t done = 0; done < times; ++call) {
      const std::size_t count = std::min(times - done, moves.pieces[call % moves.pieces.size()]);
      const auto* base =
          moves.mixed && call % 2 == 1 ? bytes.data() : static_cast<const std::byte*>(in.data());
      const Input input{moves.rows ? Input::Layout::rows : Input::Layout::spectra,
                        base + done * (moves.rows ? element : line), count,
                        moves.rows ? times * element : line,
                        moves.rows ? channels * times * element : times * line};
      std::vector<T> block(config.beams * trials * room, T{-77});
      const core::View<T, 3> view(block.data(), {config.beams, trials, room});
      const Result result = plan.execute(*queue, *state, input, view);
      queue->synchronise();
      for (std::size_t t = 0; t < result.samples; ++t)
        for (std::size_t r = 0; r < config.beams * trials; ++r)
          series.push_back(block[r * room + t]);
      done += count;
      if (moves.restore) {
        const auto saved = state->save();
        state = plan.make_state(*queue);
        state->load(saved);
      }
    }
    moments = state->moments();
    return series;
  }

  template <class T>
  static std::vector<T> by_time(const Series& series, const std::vector<T>& values) {
    std::vector<T> transposed;
    for (std::size_t t = 0; t < series.times; ++t)
      for (std::size_t r = 0; r < series.beams * series.trials; ++r)
        transposed.push_back(values[r * series.times + t]);
    return transposed;
  }

  void compare(Config config, std::size_t times, const Moves& moves) {
    SCOPED_TRACE(std::to_string(config.bits) + " bits, downsampled by " +
                 std::to_string(config.downsample) + (config.zero_dm ? ", zero-DM" : "") +
                 (config.signed_samples ? ", signed" : "") + (moves.rows ? ", rows" : "") +
                 (moves.mixed ? ", mixed" : "") + (moves.restore ? ", restored" : ""));
    const auto spectra = make_spectra(config, times, random);
    config = fitted(config, times, {moves.pieces});
    const auto plan = make_plan(config, device, kQuickClean);
    ASSERT_TRUE(plan->takes_device_memory());
    const auto queue = device->make_queue();
    // The same sums of rows that the host has cleaned.
    const Series expected = run(*plan, *queue, spectra, times, {{config.max_samples}});
    ASSERT_GT(expected.times, 0u);
    std::vector<Moments> moments;
    if (plan->float_output()) {
      EXPECT_EQ(run_there<float>(*plan, spectra, times, moves, moments),
                by_time(expected, expected.floats));
    } else {
      EXPECT_EQ(run_there<std::int32_t>(*plan, spectra, times, moves, moments),
                by_time(expected, expected.integers));
    }
    ASSERT_EQ(moments.size(), expected.moments.size());
    for (std::size_t k = 0; k < moments.size(); ++k) {
      EXPECT_EQ(moments[k].count, expected.moments[k].count) << k;
      EXPECT_EQ(moments[k].sum, expected.moments[k].sum) << k;
      EXPECT_EQ(moments[k].sum_of_squares, expected.moments[k].sum_of_squares) << k;
    }
  }

  std::shared_ptr<const device::Device> device;
  std::mt19937_64 random = tests::generator();
};

TEST_P(GpuClean, ZeroDm) {
  for (const int bits : {2, 8, 16}) {
    Config config = small_config(37, bits, 9);
    config.ignored_channels = {0, 20};
    config.zero_dm = true;
    compare(config, 400, {{123}, bits == 8});
  }
}

TEST_P(GpuClean, DownsampledToEveryType) {
  for (const auto& [bits, factor] : std::vector<std::pair<int, std::size_t>>{
           {4, 5}, {8, 3}, {1, 16}}) {  // bytes, 16 bits, bytes
    Config config = small_config(33, bits, 9);
    config.downsample = factor;
    config.ignored_channels = {4};
    compare(config, 1500, {{100, 7, 1, 2}, factor == 3});
    compare(config, 1500, {{61, 1, 130}, false, true});
    compare(config, 1500, {{131}, false, true, true});
  }
}

TEST_P(GpuClean, EverythingAtOnce) {
  Config config = small_config(40, 8, 7);
  config.beams = 2;
  config.zero_dm = config.measure_channels = config.signed_samples = true;
  config.downsample = 4;
  config.ignored_channels = {39};
  compare(config, 1200, {{250, 3}});
  compare(config, 1200, {{250, 3}, true, true, true});
}

TEST_P(GpuClean, SignedAndMeasured) {
  for (const int bits : {8, 16}) {
    Config config = small_config(40, bits, 7);
    config.signed_samples = true;
    compare(config, 300, {{111}});
    config.measure_channels = true;
    compare(config, 300, {{111}, bits == 16, true});
  }
}

TEST_P(GpuClean, ABegunElementSurvivesFullRows) {
  Config config = small_config(8, 8, 3);
  config.downsample = 7;
  compare(config, 20000, {{50, 51}});
}

TEST_P(GpuClean, FloatsAreCleanedByTheHost) {
  Config config = small_config(8, 32, 3);
  EXPECT_TRUE(make_plan(config, device, kQuickClean)->takes_device_memory());
  config.zero_dm = true;
  EXPECT_FALSE(make_plan(config, device, kQuickClean)->takes_device_memory());
}

INSTANTIATE_TEST_SUITE_P(Devices, GpuClean, ::testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::stages::dedisperse
