// Every backend of unpack against the reference, and the reference against values computed by hand.
#include "tautline/stages/unpack/unpack.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/stages/unpack/case_run.h"
#include "tests/support/error_of.h"
#include "tests/support/gpus.h"
#include "tests/support/seed.h"

namespace tautline::stages::unpack {
namespace {

constexpr std::byte kPoison{0xA7};

// Poisoned rows with gaps between them, which show writes outside the rows.
struct Output {
  Output(const core::RawLayout& layout, std::size_t samples)
      : type(unpacked_type(layout.format)),
        extents{layout.channels, layout.inputs(), samples},
        element_bytes(core::bytes_of(type)),
        row_stride((samples + 3) * element_bytes),
        channel_stride(row_stride * layout.inputs() + 5 * element_bytes),
        words_stride(core::validity_words(samples) + 1),
        samples_bytes(channel_stride * layout.channels, kPoison),
        words(words_stride * layout.inputs(), 0xA7A7A7A7A7A7A7A7u),
        validity(words.data(), {layout.inputs(), core::validity_words(samples)},
                 {static_cast<std::ptrdiff_t>(words_stride), 1}) {}

  template <class T>
  T at(std::size_t channel, std::size_t input, std::size_t index) const {
    T value;
    std::memcpy(
        &value,
        samples_bytes.data() + channel * channel_stride + input * row_stride + index * sizeof(T),
        sizeof(T));
    return value;
  }
  bool valid(std::size_t input, std::size_t t) const {
    return words[input * words_stride + t / 64] >> (t % 64) & 1;
  }

  core::MutableSampleView<3> view(void* memory) const {
    const auto elements = [&](std::size_t bytes) {
      return static_cast<std::ptrdiff_t>(bytes / element_bytes);
    };
    return {memory, type, extents, {elements(channel_stride), elements(row_stride), 1}};
  }

  core::SampleType type;
  std::array<std::size_t, 3> extents;
  std::size_t element_bytes, row_stride, channel_stride, words_stride;
  std::vector<std::byte> samples_bytes;
  std::vector<std::uint64_t> words;
  core::View<std::uint64_t, 2> validity;
  Result result;
};

/// GPU devices are opened once and keep their compiled programs.
std::shared_ptr<const device::Device> open_device(const std::string& name, std::size_t threads) {
  static std::map<std::string, std::shared_ptr<const device::Device>> gpus;
  if (!name.starts_with("cuda") && !name.starts_with("opencl"))
    return device::open(device::parse_selection(name), {.threads = threads});
  auto& gpu = gpus[name];
  if (gpu == nullptr) gpu = device::open(device::parse_selection(name), {.threads = threads});
  return gpu;
}

Output run(const std::string& device, const Config& config, const core::RawBlock& block,
           std::size_t threads = 2, bool masked = true) {
  const auto opened = open_device(device, threads);
  CaseRun calls(config, block, opened);
  calls.use(make_plan(config, opened));
  Output out(config.layout, config.max_samples);
  // A GPU plan writes rows in the device's memory.
  const std::size_t bytes = out.samples_bytes.size();
  const device::Buffer on_device = opened->compiles() ? opened->allocate(bytes) : device::Buffer();
  void* samples = out.samples_bytes.data();
  if (opened->compiles()) {
    calls.queue().copy(on_device.data(), samples, bytes);
    samples = on_device.data();
  }
  out.result =
      calls.give(out.view(samples), masked ? out.validity : core::View<std::uint64_t, 2>());
  if (opened->compiles()) calls.queue().copy(out.samples_bytes.data(), samples, bytes);
  calls.queue().synchronise();
  return out;
}

void expect_same(const Output& reference, const Output& other, const std::string& what) {
  EXPECT_EQ(reference.result.not_finite, other.result.not_finite) << what;
  EXPECT_EQ(reference.words, other.words) << what << ": validity";
  EXPECT_TRUE(reference.samples_bytes == other.samples_bytes) << what << ": samples or poison";
}

class Backend : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { SKIP_WITHOUT_DEVICE(std::string(GetParam())); }
};

TEST_P(Backend, IsTheOneThatWasForced) {
  const Case c{"", core::kCi8, 1, 4, 2, "TAP", 100};
  const std::string name(GetParam());
  const auto plan = make_plan(c.config(), device::open(device::parse_selection(name)));
  std::string expected = name.starts_with("cpu:") ? name.substr(4) : name;
  if (name.find("cuda") == 0 || name.find("opencl") == 0) expected = name.substr(0, name.find(':'));
  if (name == "auto" && device::parse_selection(name).api != device::Api::cpu)
    GTEST_SKIP() << "auto takes a GPU here, which has its own case";
  if (name == "auto") expected = device::to_string(device::best_instruction_set());
  if (expected == "vnni" || expected == "amx") expected = "avx512";  // the next lower one with code
  EXPECT_EQ(plan->backend().substr(0, expected.size()), expected);
}

TEST_P(Backend, TakesBlocksThatLieInTheDevicesMemory) {
  auto random = tests::generator();
  Case c{"", core::kCi8, 3, 5, 2, "TFAP", 130};
  Config config = c.config();
  config.blocks_on_device = true;
  const auto device = open_device(GetParam(), 2);
  if (!device->compiles()) {
    EXPECT_THROW(make_plan(config, device), core::Error);
    return;
  }
  for (const char* format : {"ci8", "cf32", "f32"})
    for (const char* order : {"TFAP", "FAPT", "PTFA"})
      for (const bool lost : {false, true}) {
        c.format = core::parse_sample_format(format);
        c.order = order;
        c.samples = 1 + random() % 300;
        config = c.config();
        config.blocks_on_device = true;
        core::RawBlock block = make_block(c, random, true);
        if (lost) block.invalid = {{3, 20, 50}, {core::InvalidSpan::kAllInputs, 128, 2}};
        if (random() % 2) block.samples = 1 + random() % c.samples;
        for (const std::size_t first : {0, 1, 2}) {
          config.first_channel = first;
          Config on_host = config;
          on_host.blocks_on_device = false;
          expect_same(run("reference", on_host, block), run(GetParam(), config, block),
                      std::string(format) + " " + order + " from channel " + std::to_string(first) +
                          ", " + std::to_string(block.samples) + "/" + std::to_string(c.samples));
        }
      }
  c.format = core::kCf16;
  config.layout = c.layout();
  EXPECT_THROW(make_plan(config, device), core::Error) << "halves";
}

TEST_P(Backend, EqualsTheReferenceOnEveryFormatOrderAndSize) {
  auto random = tests::generator();
  const std::vector<std::string> orders{"TFAP", "TAPF", "FTAP", "FATP", "FAPT", "PTFA", "APFT"};
  for (const int bits : {1, 2, 4, 8, 16, 32})
    for (const bool complex : {false, true})
      for (const bool offset : {false, true}) {
        if (offset && bits == 32) continue;
        core::SampleFormat format{bits, complex,
                                  bits == 32 ? core::Encoding::ieee_float
                                  : offset   ? core::Encoding::offset_binary
                                             : core::Encoding::twos_complement};
        if (bits == 16 && random() % 2) format.encoding = core::Encoding::ieee_float;
        for (const std::size_t samples : {1u, 2u, 3u, 7u, 63u, 64u, 65u, 127u, 200u, 1000u}) {
          Case c{"",
                 format,
                 1 + random() % 3,
                 1 + random() % 19,
                 1 + random() % 2,
                 orders[random() % orders.size()],
                 samples};
          if (random() % 3 == 0)
            c.gap_bits = static_cast<std::size_t>(format.bits) * (random() % 9);
          if (random() % 3 == 0) c.offset_bits = static_cast<std::size_t>(format.bits) * 8;
          if (bits >= 8) c.gap_bits = (c.gap_bits + 7) / 8 * 8;
          core::RawBlock block = make_block(c, random, true);
          if (random() % 2) block.samples = 1 + random() % samples;  // fewer than the plan's most
          expect_same(run("reference", c.config(), block), run(GetParam(), c.config(), block),
                      core::to_string(format) + " " + c.order + " " + std::to_string(c.channels) +
                          "x" + std::to_string(c.antennas) + "x" + std::to_string(c.polarisations) +
                          " samples " + std::to_string(block.samples) + "/" +
                          std::to_string(samples) + " gap " + std::to_string(c.gap_bits));
        }
      }
}

TEST_P(Backend, EqualsTheReferenceOnInstrumentLayouts) {
  auto random = tests::generator();
  for (Case c : instrument_cases()) {
    c.samples = std::min<std::size_t>(c.samples, 777);
    const core::RawBlock block = make_block(c, random, true);
    expect_same(run("reference", c.config(), block), run(GetParam(), c.config(), block), c.name);
  }
}

TEST_P(Backend, EqualsTheReferenceForManyInputsAndColumns) {
  auto random = tests::generator();
  for (const core::SampleFormat& format :
       {core::kCi4, core::kI8, core::kCi8, core::kCi16, core::kCf16, core::kCf32})
    for (const std::size_t inputs : {15u, 16u, 17u, 33u, 64u, 65u, 127u, 130u, 300u}) {
      const Case c{"", format, 1, inputs, 1, "TA", 193};
      const core::RawBlock block = make_block(c, random, false);
      expect_same(run("reference", c.config(), block), run(GetParam(), c.config(), block),
                  core::to_string(format) + " inputs " + std::to_string(inputs));
    }
}

TEST_P(Backend, LostSpansAreInvalidAndZeroInEveryChannel) {
  auto random = tests::generator();
  for (const core::SampleFormat& format : {core::kCi8, core::kCf32, core::kCf16, core::kCi4}) {
    const Case c{"", format, 3, 5, 2, "TFAP", 400};
    core::RawBlock block = make_block(c, random, true);
    constexpr std::size_t kAll = core::InvalidSpan::kAllInputs;
    block.invalid = {{kAll, 10, 3}, {4, 60, 70},    {9, 399, 1}, {0, 0, 1},
                     {kAll, 5, 0},  {2, 390, 5000}, {1, 4000, 9}};
    const Output out = run(GetParam(), c.config(), block);
    expect_same(run("reference", c.config(), block), out, core::to_string(format));
    EXPECT_FALSE(out.valid(3, 10));
    EXPECT_FALSE(out.valid(3, 12));
    EXPECT_FALSE(out.valid(4, 60));
    EXPECT_FALSE(out.valid(4, 129));
    EXPECT_FALSE(out.valid(2, 399));
    if (!format.is_float()) {
      EXPECT_TRUE(out.valid(3, 9));
      EXPECT_TRUE(out.valid(3, 13));
      EXPECT_TRUE(out.valid(4, 130));
    }
    for (std::size_t ch = 0; ch < 3; ++ch)
      for (std::size_t k = 0; k < out.element_bytes; ++k)
        EXPECT_EQ(out.at<std::uint8_t>(ch, 4, 60 * out.element_bytes + k), 0);
  }
}

TEST_P(Backend, SplitsGiveTheSameSamples) {
  auto random = tests::generator();
  const Case whole{"", core::kCi8, 1, 5, 1, "TA", 500};
  const core::RawBlock block = make_block(whole, random, false);
  const Output once = run(GetParam(), whole.config(), block);
  const std::size_t time_bytes = whole.layout().time_stride_bits / 8;
  for (const std::size_t step : {1u, 7u, 64u, 99u, 499u})
    for (std::size_t first = 0; first < 500; first += step) {
      core::RawBlock part = block;
      part.samples = std::min<std::size_t>(step, 500 - first);
      const auto from = part.bytes.begin() + static_cast<std::ptrdiff_t>(first * time_bytes);
      part.bytes.assign(from, part.bytes.end());
      part.bytes.resize(part.samples * time_bytes);
      const Output out = run(GetParam(), whole.config(), part, 1);
      for (std::size_t i = 0; i < 5; ++i)
        for (std::size_t t = 0; t < part.samples; t += 13)
          ASSERT_EQ(out.at<std::int16_t>(0, i, t), once.at<std::int16_t>(0, i, first + t));
    }
}

// Some channels unpack to the same rows as all channels do, and a sample that is not finite in
// another channel is invalid here too.
TEST_P(Backend, SomeChannelsAreUnpackedAsAmongAll) {
  auto random = tests::generator();
  for (const char* format : {"ci8", "ci4", "i2", "u8", "ci16", "cf16", "cf32", "f32"})
    for (const char* order : {"TFAP", "TAPF", "FTAP", "FATP", "APTF", "PTFA"}) {
      Case c{"",
             core::parse_sample_format(format),
             2 + random() % 9,
             1 + random() % 5,
             1 + random() % 2,
             order,
             1 + random() % 300};
      if (random() % 3 == 0) c.gap_bits = 16;
      if (random() % 3 == 0) c.offset_bits = 24;
      core::RawBlock block = make_block(c, random, true);
      if (random() % 2) block.samples = 1 + random() % c.samples;
      block.invalid = {{random() % c.antennas, random() % 40, random() % 100}};
      Config part = c.config();
      part.first_channel = random() % c.channels;
      part.channels = random() % (c.channels - part.first_channel + 1);
      const std::size_t channels = part.unpacked_channels();
      const Output all = run("reference", c.config(), block), some = run(GetParam(), part, block);
      const std::string what = std::string(format) + " " + order + " channels " +
                               std::to_string(part.first_channel) + " + " +
                               std::to_string(channels) + "/" + std::to_string(c.channels);
      EXPECT_EQ(all.result.not_finite, some.result.not_finite) << what;
      EXPECT_EQ(all.words, some.words) << what;
      for (std::size_t ch = 0; ch < channels; ++ch)
        for (std::size_t i = 0; i < c.layout().inputs(); ++i)
          for (std::size_t k = 0; k < block.samples * some.element_bytes; ++k)
            ASSERT_EQ(some.at<std::uint8_t>(ch, i, k),
                      all.at<std::uint8_t>(part.first_channel + ch, i, k))
                << what << " channel " << ch << " input " << i << " byte " << k;
      for (std::size_t k = channels * some.channel_stride; k < some.samples_bytes.size(); ++k)
        ASSERT_EQ(some.samples_bytes[k], kPoison) << what;
    }
}

// For every order of the axes, no byte of another channel is sent to a device.
TEST_P(Backend, OnlyTheUnpackedChannelsAreSent) {
  auto random = tests::generator();
  const bool gpu = GetParam().starts_with("cuda") || GetParam().starts_with("opencl");
  for (const char* order : {"TFAP", "TAPF", "FTAP", "FATP", "APTF", "PTFA"})
    for (const char* format : {"ci8", "ci4", "ci16", "cf32"}) {
      const Case c{"", core::parse_sample_format(format), 7, 3, 2, order, 129};
      const core::RawBlock block = make_block(c, random, false);
      Config part = c.config();
      part.first_channel = 2;
      part.channels = 3;
      const std::size_t sample = static_cast<std::size_t>(c.format.bits_per_sample()) / 8;
      EXPECT_EQ(run(GetParam(), part, block).result.sent_bytes, gpu ? 3 * 6 * 129 * sample : 0)
          << order << " " << format;
    }
}

// To the host's memory, on every device.
TEST_P(Backend, OneCallGivesTheSame) {
  auto random = tests::generator();
  for (const char* format : {"ci8", "i2", "cf32"}) {
    const Case c{"", core::parse_sample_format(format), 3, 5, 2, "TFAP", 200};
    const core::RawBlock block = make_block(c, random, true);
    Output out(c.layout(), c.samples);
    out.result = unpack(block, out.view(out.samples_bytes.data()), out.validity,
                        device::parse_selection(GetParam()));
    expect_same(run("reference", c.config(), block), out, format);
  }
}

TEST_P(Backend, NeedsNoMaskWhereAllSamplesAreValid) {
  auto random = tests::generator();
  for (const char* format : {"ci8", "i2", "ci16"})
    for (const std::size_t samples : {1, 63, 64, 200}) {
      const Case c{"", core::parse_sample_format(format), 3, 5, 2, "TFAP", samples};
      core::RawBlock block = make_block(c, random, true);
      block.invalid.clear();
      const Output masked = run("reference", c.config(), block);
      const Output other = run(GetParam(), c.config(), block, 2, false);
      EXPECT_TRUE(masked.samples_bytes == other.samples_bytes) << format << ", " << samples;
      EXPECT_EQ(other.words, Output(c.layout(), c.samples).words) << "the mask was written";
    }
}

TEST_P(Backend, RefusesABlockThatIsNotThePlans) {
  auto random = tests::generator();
  const Case c{"", core::kCi8, 1, 4, 1, "TA", 100};
  core::RawBlock block = make_block(c, random, false);
  block.bytes.resize(block.bytes.size() - 1);
  EXPECT_THROW(run(GetParam(), c.config(), block), core::Error);
  block = make_block(c, random, false);
  block.layout.time_stride_bits += 8;
  EXPECT_THROW(run(GetParam(), c.config(), block), core::Error);
  block = make_block(c, random, false);
  block.samples = 101;
  EXPECT_THROW(run(GetParam(), c.config(), block), core::Error);
  block = make_block(c, random, false);
  block.invalid = {{4, 0, 1}};
  EXPECT_THROW(run(GetParam(), c.config(), block), core::Error);
  block = make_block(c, random, false);
  block.samples = 0;
  const Output out = run(GetParam(), c.config(), block);  // nothing is written
  for (const std::byte b : out.samples_bytes) ASSERT_EQ(b, kPoison);
}

INSTANTIATE_TEST_SUITE_P(Devices, Backend, ::testing::ValuesIn([] {
                           std::vector<std::string> names = tests::gpu_names();
                           names.insert(names.end(), {"reference", "cpu:portable", "cpu:avx2",
                                                      "cpu:avx512", "cpu:vnni", "cpu:amx", "auto"});
                           return names;
                         }()),
                         [](const auto& info) {
                           std::string name(info.param);
                           for (char& c : name) c = c == ':' ? '_' : c;
                           return name;
                         });

TEST(Reference, DecodesByTheRuleOfEachFormat) {
  // Two inputs of ci4, one time a byte each: re in the low half.
  Case c{"", core::kCi4, 1, 2, 1, "TA", 2};
  core::RawBlock block;
  block.layout = c.layout();
  block.samples = 2;
  block.bytes = {std::byte{0x87}, std::byte{0xF1}, std::byte{0x08}, std::byte{0x70}};
  const Output ci4 = run("reference", c.config(), block);
  const std::int8_t expected[2][4]{{7, -8, -8, 0}, {1, -1, 0, 7}};
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(ci4.at<std::int8_t>(0, i, k), expected[i][k]);

  c = {"", {8, false, core::Encoding::offset_binary}, 1, 1, 1, "T", 3};
  block.layout = c.layout();
  block.samples = 3;
  block.bytes = {std::byte{0}, std::byte{128}, std::byte{255}};
  const Output u8 = run("reference", c.config(), block);
  EXPECT_EQ(u8.at<std::int8_t>(0, 0, 0), -128);
  EXPECT_EQ(u8.at<std::int8_t>(0, 0, 1), 0);
  EXPECT_EQ(u8.at<std::int8_t>(0, 0, 2), 127);

  c = {"", {1, false, core::Encoding::twos_complement}, 1, 1, 1, "T", 3};
  block.layout = c.layout();
  block.bytes = {std::byte{0b010}};
  const Output i1 = run("reference", c.config(), block);
  EXPECT_EQ(i1.at<std::int8_t>(0, 0, 0), 1);
  EXPECT_EQ(i1.at<std::int8_t>(0, 0, 1), -1);
}

TEST(Reference, CountsFloatsThatAreNotFiniteOnceAndNotWhenLost) {
  const Case c{"", core::kCf32, 2, 1, 1, "TF", 4};
  auto random = tests::generator();
  core::RawBlock block = make_block(c, random, false);
  const float nan = std::nanf("");
  const auto put = [&](std::size_t t, std::size_t channel, std::size_t component) {
    std::memcpy(block.bytes.data() + ((t * 2 + channel) * 2 + component) * 4, &nan, 4);
  };
  put(1, 0, 0), put(1, 0, 1);  // one sample, both components
  put(2, 0, 1), put(2, 1, 0);  // two samples of one time
  put(3, 1, 1);                // lost anyway
  block.invalid = {{0, 3, 1}};
  const Output out = run("reference", c.config(), block);
  EXPECT_EQ(out.result.not_finite, 3u);
  EXPECT_TRUE(out.valid(0, 0));
  for (const std::size_t t : {1u, 2u, 3u}) EXPECT_FALSE(out.valid(0, t));
}

TEST(Config, ViewsMustFitTheBlock) {
  auto random = tests::generator();
  const Case c{"", core::kCi8, 2, 4, 1, "TFA", 100};
  core::RawBlock block = make_block(c, random, false);
  std::vector<core::ci16> memory(2 * 4 * 100);
  std::vector<std::uint64_t> words(8);
  const auto field_of = [&](core::SampleType type, std::array<std::size_t, 3> extents,
                            std::ptrdiff_t time_stride, std::size_t inputs) {
    try {
      unpack(block, {memory.data(), type, extents, {400, 100, time_stride}},
             {words.data(), {inputs, 2}});
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::config);
      return error.field();
    }
    return std::string("accepted");
  };
  using enum core::SampleType;
  EXPECT_EQ(field_of(i16, {2, 4, 100}, 1, 4), "unpack samples");
  EXPECT_EQ(field_of(ci8, {1, 4, 100}, 1, 4), "unpack samples [channel]");
  EXPECT_EQ(field_of(ci8, {2, 3, 100}, 1, 4), "unpack samples [input]");
  EXPECT_EQ(field_of(ci8, {2, 4, 99}, 1, 4), "unpack samples [time]");
  EXPECT_EQ(field_of(ci8, {2, 4, 100}, 2, 4), "unpack samples' time stride");
  EXPECT_EQ(field_of(ci8, {2, 4, 100}, 1, 3), "unpack validity [input]");
  EXPECT_EQ(field_of(ci8, {2, 4, 100}, 1, 4), "accepted");
  EXPECT_EQ(field_of(ci8, {2, 4, 100}, 1, 0), "accepted");  // all are valid
  block.invalid = {{1, 7, 1}};
  EXPECT_EQ(field_of(ci8, {2, 4, 100}, 1, 0), "unpack validity [input]");
}

TEST(Config, RefusalsNameTheField) {
  const auto device = device::open({});
  const auto expect = [&](const Config& config, const std::string& field) {
    const core::Error error = tests::error_of([&] { make_plan(config, device); });
    EXPECT_EQ(error.kind(), core::ErrorKind::config);
    EXPECT_NE(error.field().find(field), std::string::npos) << error.what();
  };
  const Config good = Case{"", core::kCi8, 1, 4, 1, "TA", 100}.config();
  EXPECT_NO_THROW(make_plan(good, device));
  Config bad = good;
  bad.max_samples = 0;
  expect(bad, "max_samples");
  bad = good;
  bad.first_channel = 1;
  expect(bad, "first_channel");
  bad = good;
  bad.channels = 2;
  expect(bad, "channels");
  bad = good;
  bad.layout.antennas = 0;
  expect(bad, "antennas");
  bad = good;
  bad.layout.format.bits = 7;
  expect(bad, "format");
  bad = good;
  bad.layout.format = {32, true, core::Encoding::twos_complement};
  expect(bad, "format");
  bad = good;
  bad.layout.antenna_stride_bits = 3;
  expect(bad, "antenna_stride_bits");
  bad = good;
  bad.layout.time_stride_bits = std::size_t{1} << 62;
  expect(bad, "max_samples");
}

}  // namespace
}  // namespace tautline::stages::unpack
