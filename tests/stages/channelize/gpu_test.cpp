// Features of the GPU plan alone: samples and results in device memory, buffers smaller than a
// call, tunables.
#include <gtest/gtest.h>

#include "tautline/core/error.h"
#include "tests/stages/channelize/support.h"
#include "tests/support/error_of.h"

namespace tautline::stages::channelize {
namespace {

class Gpu : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    device_ = open_device(GetParam());
    queue_ = device_->make_queue();
  }
  device::Buffer on_device(const void* data, std::size_t bytes, std::size_t offset = 0) {
    device::Buffer buffer = device_->allocate(bytes + offset);
    queue_->copy(buffer.as<std::byte>() + offset, data, bytes);
    return buffer;
  }

  std::shared_ptr<const device::Device> device_;
  std::unique_ptr<device::Queue> queue_;
};

struct Shape {
  const char* format;
  std::size_t channels, taps;
  GpuDesign design;
};
const std::vector<Shape> kShapes = {{"ci8", 64, 8, GpuDesign::fused},
                                    {"i16", 128, 4, GpuDesign::fused},
                                    {"ci8", 256, 5, GpuDesign::separate},
                                    {"cf32", 30, 3, GpuDesign::separate},
                                    {"ci8", 8192, 2, GpuDesign::split}};

Config config_of(const Shape& shape, Output output) {
  Config c;
  c.inputs = 2;
  c.channels = shape.channels, c.taps = shape.taps;
  c.input = core::parse_sample_format(shape.format);
  c.output = output;
  c.max_samples = 60 * c.frame_samples();
  return c;
}

Tunables tunables_of(const Shape& shape) {
  Tunables tunables;
  tunables.gpu.design = shape.design;
  return tunables;
}

// A stream in several calls, with all buffers in device memory, equals the same in host memory.
TEST_P(Gpu, DeviceMemoryGivesTheSameBits) {
  auto random = tests::generator();
  for (const Shape& shape : kShapes)
    for (const Output output : {Output::spectra_float, Output::corner_turned_ci8}) {
      Config c = config_of(shape, output);
      const std::size_t spectra = shape.channels > 1000 ? 20 : 57, frame = c.frame_samples();
      Stream stream(c.input, c.inputs, Case{c, spectra}.samples());
      stream.randomise(random);
      const auto plan = make_plan(c, device_, tunables_of(shape));
      SCOPED_TRACE(plan->backend());
      Runner runner(plan, device_);
      const float gain = gain_for(c, 60);
      runner.gains.assign(c.channels * c.inputs, gain);
      const std::vector<std::size_t> cuts{frame * (c.taps + 1) + 1, 0, 17 * frame + 2};
      const Result expected = runner.run(stream, cuts);

      // Samples not aligned to the kernels' loads are copied first.
      for (const std::size_t offset : {std::size_t{0}, stream.sample_bytes()}) {
        const device::Buffer in = on_device(stream.bytes.data(), stream.bytes.size(), offset);
        const std::size_t row = spectra + 7;
        const device::Buffer out = device_->allocate(c.inputs * c.channels * row * 8);
        queue_->fill(out.data(), 0x5a, out.bytes());
        const std::vector<float> gains(c.channels * c.inputs, gain);
        const device::Buffer gain_memory = on_device(gains.data(), gains.size() * 4);
        const device::Buffer clipped = device_->allocate(c.inputs * 8);
        queue_->fill(clipped.data(), 0, clipped.bytes());
        const auto state = plan->make_state(*queue_);
        std::size_t sample = 0, done = 0;
        for (std::size_t cut = 0; cut <= cuts.size(); ++cut) {
          Input input;
          input.count = cut < cuts.size() ? cuts[cut] : stream.samples - sample;
          input.samples = in.as<std::byte>() + offset + sample * stream.sample_bytes();
          input.row_stride_bytes = stream.row_bytes;
          OutputViews views;
          views.samples = c.output_view(out.data(), row)
                              .slice(c.output == Output::spectra_float ? 1 : 2, done, row - done);
          views.gains = {gain_memory.as<float>(), {c.channels, c.inputs}};
          views.clipped = {clipped.as<std::uint64_t>(), {c.inputs}};
          done += plan->execute(*queue_, *state, input, views);
          sample += input.count;
        }
        ASSERT_EQ(done, spectra);
        std::vector<std::byte> back(out.bytes());
        std::vector<std::uint64_t> counts(c.inputs);
        queue_->copy(back.data(), out.data(), back.size());
        queue_->copy(counts.data(), clipped.data(), clipped.bytes());
        queue_->synchronise();
        if (output == Output::corner_turned_ci8) {
          EXPECT_EQ(counts, expected.clipped);
        }
        const auto* floats = reinterpret_cast<const std::complex<float>*>(back.data());
        const auto* bytes = reinterpret_cast<const core::ci8*>(back.data());
        for (std::size_t k = 0; k < c.channels; ++k)
          for (std::size_t i = 0; i < c.inputs; ++i)
            for (std::size_t s = 0; s < spectra; ++s) {
              const core::ci8 code = bytes[(k * c.inputs + i) * row + s];
              const std::complex<float> value =
                  output == Output::corner_turned_ci8
                      ? std::complex<float>(static_cast<float>(code.re),
                                            static_cast<float>(code.im))
                      : floats[(i * row + s) * c.channels + k];
              ASSERT_EQ(value, expected.values[(k * c.inputs + i) * spectra + s])
                  << k << ' ' << i << ' ' << s << " offset " << offset;
            }
      }
    }
}

// Masks and gains of any strides in device memory; validity written to device memory.
TEST_P(Gpu, TakesMasksAndGainsFromDeviceMemory) {
  auto random = tests::generator();
  for (const Shape& shape : kShapes) {
    const Config c = config_of(shape, Output::corner_turned_ci8);
    const std::size_t spectra = 12;
    Stream stream(c.input, c.inputs, Case{c, spectra}.samples());
    stream.randomise(random);
    core::ValidityMask mask(c.inputs, stream.samples);
    mask.set(1, 3 * c.frame_samples() + 1, 2, false);
    const auto plan = make_plan(c, device_, tunables_of(shape));
    SCOPED_TRACE(plan->backend());
    Runner runner(plan, device_);
    for (std::size_t n = 0; n < c.channels * c.inputs; ++n)
      runner.gains.push_back(gain_for(c, 20 + static_cast<double>(n % 7)));
    runner.mask = &mask;
    const Result expected = runner.run(stream);

    const std::size_t words = core::validity_words(stream.samples);
    const device::Buffer in = on_device(stream.bytes.data(), stream.bytes.size());
    const device::Buffer bits = on_device(mask.row(0), c.inputs * words * 8);
    std::vector<float> transposed_gains(c.channels * c.inputs);  // [input][channel]
    for (std::size_t k = 0; k < c.channels; ++k)
      for (std::size_t i = 0; i < c.inputs; ++i)
        transposed_gains[i * c.channels + k] = runner.gains[k * c.inputs + i];
    const device::Buffer gains = on_device(transposed_gains.data(), transposed_gains.size() * 4);
    const device::Buffer valid = device_->allocate(c.inputs * 8);
    std::vector<core::ci8> out(c.channels * c.inputs * spectra);
    std::vector<std::uint64_t> clipped(c.inputs, 1000), out_valid(c.inputs);
    Input input;
    input.samples = in.data(), input.row_stride_bytes = stream.row_bytes;
    input.count = stream.samples;
    input.validity = {bits.as<const std::uint64_t>(), {c.inputs, words}};
    OutputViews views;
    views.samples = {out.data(), {c.channels, c.inputs, spectra}};
    views.gains = {
        gains.as<float>(), {c.channels, c.inputs}, {1, static_cast<std::ptrdiff_t>(c.channels)}};
    views.clipped = {clipped.data(), {c.inputs}};
    views.valid = {valid.as<std::uint64_t>(), {c.inputs, 1}};
    const auto state = plan->make_state(*queue_);
    ASSERT_EQ(plan->execute(*queue_, *state, input, views), spectra);
    queue_->copy(out_valid.data(), valid.data(), valid.bytes());
    queue_->synchronise();
    for (std::size_t i = 0; i < c.inputs; ++i) {
      EXPECT_EQ(clipped[i], 1000 + expected.clipped[i]);
      for (std::size_t s = 0; s < spectra; ++s)
        EXPECT_EQ(out_valid[i] >> s & 1, expected.valid.valid(i, s) ? 1u : 0u);
    }
    EXPECT_NE(out_valid[1], out_valid[0]);
    for (std::size_t n = 0; n < out.size(); ++n)
      ASSERT_EQ(std::complex<float>(out[n].re, out[n].im), expected.values[n]) << n;
  }
}

// A call may be larger than every buffer of its state.
TEST_P(Gpu, SmallBuffersGiveTheSameBits) {
  auto random = tests::generator();
  for (const Shape& shape : kShapes) {
    if (shape.design == GpuDesign::split) continue;
    Config c = config_of(shape, Output::corner_turned_float);
    c.max_samples = std::size_t{1} << 18;
    Stream stream(c.input, c.inputs,
                  Case{c, (c.max_samples - 2) / c.hop_samples() - c.taps}.samples());
    stream.randomise(random);
    const auto run = [&](const Tunables& tunables) {
      Runner runner(make_plan(c, device_, tunables), device_);
      return runner.run(stream);
    };
    Tunables small = tunables_of(shape);
    small.gpu.slab_bytes = small.gpu.work_bytes = 1 << 20;
    EXPECT_TRUE(run(small) == run(tunables_of(shape))) << shape.channels;
  }
}

// Persistent groups with many batches each, against a group for each batch.
TEST_P(Gpu, PersistentGroupsGiveTheSameBits) {
  auto random = tests::generator();
  for (const Output output : {Output::spectra_float, Output::corner_turned_ci8}) {
    Config c = config_of(kShapes[0], output);
    c.inputs = 3;
    Stream stream(c.input, c.inputs, Case{c, 501}.samples());
    stream.randomise(random);
    c.max_samples = stream.samples;
    const auto run = [&](int fetch) {
      Tunables tunables;
      tunables.gpu = {.design = GpuDesign::fused,
                      .points = 16,
                      .spectra = 2,
                      .positions = 4,
                      .filter_spectra = 2,
                      .groups = 1,
                      .conversion = 0,
                      .unrolled_taps = 8,
                      .fetch = fetch,
                      .symmetry = 0};
      const auto plan = make_plan(c, device_, tunables);
      EXPECT_EQ(plan->backend().find("samples fetched") != std::string::npos, fetch == 1);
      Runner runner(plan, device_);
      runner.gains.assign(c.channels * c.inputs, gain_for(c, 40));
      return runner.run(stream);
    };
    EXPECT_TRUE(run(1) == run(0));
  }
}

TEST_P(Gpu, StatesMoveBetweenBackends) {
  auto random = tests::generator();
  const Config c = config_of(kShapes[0], Output::corner_turned_float);
  Stream first(c.input, c.inputs, 10 * c.channels + 5), second(c.input, c.inputs, 20 * c.channels);
  first.randomise(random), second.randomise(random);
  const auto cpu = open_device("cpu");
  Runner host(make_plan(c, cpu), cpu), gpu(make_plan(c, device_), device_);
  host.run(first);
  gpu.state().load(host.state().save());
  EXPECT_EQ(gpu.state().held_samples(), host.state().held_samples());
  EXPECT_EQ(gpu.state().save(), host.state().save());
  const Result a = gpu.run(second), b = host.run(second);
  ASSERT_EQ(a.spectra, b.spectra);
  EXPECT_LT(worst_difference(a, b), Case::kFloatTolerance);
}

TEST_P(Gpu, RefusesTunablesByName) {
  struct Wrong {
    const char* field;
    GpuTunables tunables;
  };
  for (const Wrong& wrong :
       std::vector<Wrong>{{"points", {.points = 6}},
                          {"points", {.points = 64}},
                          {"spectra", {.spectra = 3}},
                          {"positions", {.positions = 5}},
                          {"filter_spectra", {.spectra = 8, .filter_spectra = 3}},
                          {"filter_spectra", {.filter_spectra = 17}},
                          {"groups", {.groups = 17}},
                          {"conversion", {.conversion = 3}},
                          {"fetch", {.fetch = 2}},
                          {"symmetry", {.symmetry = 2}},
                          {"slab_bytes", {.slab_bytes = 1}},
                          {"work_bytes", {.work_bytes = 1}}}) {
    Tunables tunables;
    tunables.gpu = wrong.tunables;
    tunables.gpu.design = GpuDesign::fused;
    Config c;
    c.channels = 64;
    const core::Error error = tests::error_of([&] { make_plan(c, device_, tunables); });
    EXPECT_EQ(error.kind(), core::ErrorKind::config);
    EXPECT_EQ(error.field(), std::string("channelize GPU tunable ") + wrong.field);
  }
  Tunables fused;
  fused.gpu.design = GpuDesign::fused;
  Config c;
  c.channels = 100;
  EXPECT_THROW(make_plan(c, device_, fused), core::Error);
}

TEST_P(Gpu, TellsItsMemoryAndDesign) {
  Config c;
  c.channels = 256;
  const auto plan = make_plan(c, device_);
  const std::string api = GetParam().substr(0, GetParam().find(':'));
  EXPECT_EQ(plan->backend().rfind(api + " fused", 0), 0u) << plan->backend();
  Tunables unfused;
  unfused.fused_max_channels = 0;
  EXPECT_EQ(make_plan(c, device_, unfused)->backend().rfind(api + " separate", 0), 0u);
  // With a memory limit, the free bytes are those not allocated, even if other processes use the
  // card. The plan has allocated its tables before.
  const auto counted = device::open(device::parse_selection(GetParam()),
                                    {.threads = 1, .device_memory_bytes = 256 << 20});
  const auto counted_queue = counted->make_queue();
  const auto counted_plan = make_plan(c, counted);
  const std::size_t before = counted->free_bytes();
  const auto state = counted_plan->make_state(*counted_queue);
  EXPECT_LE(before - counted->free_bytes(), counted_plan->bytes().device_bytes);
  EXPECT_GE(plan->bytes().device_bytes, 2 * (c.taps - 1) * c.channels * 2);

  const auto limited = device::open(device::parse_selection(GetParam()),
                                    {.threads = 1, .device_memory_bytes = 8 << 20});
  c.inputs = 64;
  const core::Error error = tests::error_of([&] {
    const auto queue = limited->make_queue();
    make_plan(c, limited)->make_state(*queue);
  });
  EXPECT_EQ(error.kind(), core::ErrorKind::memory) << error.what();
}

INSTANTIATE_TEST_SUITE_P(Devices, Gpu, ::testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::stages::channelize
