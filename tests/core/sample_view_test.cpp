#include "tautline/core/sample_view.h"

#include <gtest/gtest.h>

#include <vector>

#include "tautline/core/saved_state.h"
#include "tests/support/error_of.h"

namespace tautline::core {
namespace {

template <class T>
class SampleViewOf : public testing::Test {};
using Types = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                             std::uint16_t, std::uint32_t, std::uint64_t, Half, float, double, ci4,
                             ci8, ci16, ci64, cf16, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(SampleViewOf, Types);

TYPED_TEST(SampleViewOf, KeepsTypeShapeAndStrides) {
  std::vector<TypeParam> memory(60);
  const View<TypeParam, 2> typed(memory.data() + 1, {3, 4}, {20, 2});
  const MutableSampleView<2> any = typed;
  EXPECT_EQ(bytes_of(any.type()), sizeof(TypeParam));
  EXPECT_EQ(any.size(), 12u);
  const View<TypeParam, 2> back = any.template as<TypeParam>();
  EXPECT_EQ(&back(2, 3), &typed(2, 3));
  const SampleView<2> reading = any;
  EXPECT_EQ(&reading.as<const TypeParam>()(1, 1), &typed(1, 1));
  const SampleView<2> part =
      SampleView<2>(View<const TypeParam, 2>(typed)).slice(0, 1, 2).slice(1, 2, 2);
  EXPECT_EQ(&part.as<const TypeParam>()(1, 1), &typed(2, 3));
  EXPECT_EQ(SampleView<2>(memory.data(), any.type(), {5, 3}).stride(0), 3);
}

TEST(SampleView, AnotherTypeIsRefusedByTheFieldsName) {
  std::vector<ci8> memory(6);
  const SampleView<2> view = View<const ci8, 2>(memory.data(), {2, 3});
  const core::Error error = tests::error_of([&] { view.as<const ci16>("voltages"); });
  EXPECT_EQ(error.kind(), ErrorKind::config);
  EXPECT_STREQ(error.what(), "voltages: ci8, expected ci16");
}

TEST(SampleView, AnEmptyViewIsEmptyOfEveryType) {
  const MutableSampleView<3> none;
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(none.as<float>().empty());
  EXPECT_TRUE(SampleView<3>(none).as<const ci4>().empty());
}

TEST(SampleView, WithTypeCallsTheCodeOfTheViewsType) {
  std::vector<float> memory(6);
  const MutableSampleView<1> view = View<float, 1>(memory.data(), {6});
  const auto bytes = [](const auto& typed) { return sizeof(*typed.data()); };
  EXPECT_EQ((with_type<ci8, float, double>(view, "series", bytes)), 4u);
  EXPECT_EQ((with_type<float>(SampleView<1>(view), "series", bytes)), 4u);
  const core::Error error =
      tests::error_of([&] { with_type<ci8, ci4, std::int32_t>(view, "series", bytes); });
  EXPECT_STREQ(error.what(), "series: f32, expected one of ci8 ci4 i32");
}

TEST(SampleType, OfAFormatThatLiesInMemoryAsItIs) {
  for (const char* name : {"ci4", "ci8", "ci16", "cf16", "cf32", "i8", "i16", "f16", "f32"})
    EXPECT_EQ(to_string(sample_type(parse_sample_format(name))), name);
  for (const char* name : {"ci2", "cu8", "u8", "i4", "i1", "cu4"})
    EXPECT_THROW(sample_type(parse_sample_format(name)), Error) << name;
}

TEST(SavedState, IsLoadedByTheStageAndPlanThatSavedItOnly) {
  const std::vector<std::byte> content{std::byte{1}, std::byte{2}, std::byte{3}};
  const std::vector<std::byte> bytes = seal_state("detect", "1 cpu trials=3", content);
  const auto opened = open_state("detect", "1 cpu trials=3", bytes);
  EXPECT_EQ(std::vector<std::byte>(opened.begin(), opened.end()), content);
  EXPECT_THROW(open_state("detect", "1 cpu trials=4", bytes), Error);
  EXPECT_THROW(open_state("correlate", "1 cpu trials=3", bytes), Error);
  for (std::size_t size = 0; size < bytes.size() - content.size(); ++size)
    EXPECT_THROW(open_state("detect", "1 cpu trials=3", std::span(bytes).first(size)), Error);
  const auto nothing = seal_state("detect", "", {});
  EXPECT_TRUE(open_state("detect", "", nothing).empty());
}

}  // namespace
}  // namespace tautline::core
