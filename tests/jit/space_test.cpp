// Spaces, and structs of tunables as spaces.
#include "tautline/jit/space.h"

#include <gtest/gtest.h>

#include <set>

#include "tautline/core/error.h"
#include "tautline/jit/tunable_fields.h"

namespace {

using namespace tautline;
using jit::Configuration;
using jit::Space;

Space two() {
  return Space({{"rows", {1, 2, 4, 8}, 2, ""}, {"columns", {1, 3}, 1, ""}, {"flag", {0, 1}, 0, ""}},
               [](const Configuration& c) { return c.at("rows") * c.at("columns") < 12; });
}

TEST(Space, NumbersEveryCombinationOnce) {
  const Space space = two();
  ASSERT_EQ(space.combinations(), 16u);
  std::set<Configuration> seen;
  std::size_t legal = 0;
  for (std::uint64_t n = 0; n < 16; ++n) {
    const Configuration c = space.at(n);
    EXPECT_EQ(space.number(c), n);
    EXPECT_EQ(space.legal(c), c.at("rows") * c.at("columns") < 12);
    legal += space.legal(c);
    seen.insert(c);
  }
  EXPECT_EQ(seen.size(), 16u);
  EXPECT_EQ(legal, 12u);
  EXPECT_EQ(space.default_configuration(),
            (Configuration{{"rows", 2}, {"columns", 1}, {"flag", 0}}));
}

TEST(Space, RefusesWhatIsNotInIt) {
  const Space space = two();
  EXPECT_FALSE(space.legal({{"rows", 2}, {"columns", 1}}));
  EXPECT_FALSE(space.legal({{"rows", 2}, {"columns", 1}, {"flag", 0}, {"more", 1}}));
  EXPECT_FALSE(space.legal({{"rows", 2}, {"columns", 1}, {"falg", 0}}));
  EXPECT_FALSE(space.legal({{"rows", 3}, {"columns", 1}, {"flag", 0}}));
  EXPECT_FALSE(space.legal({{"rows", 4}, {"columns", 3}, {"flag", 0}}));
}

TEST(Space, CanBeFixedInParts) {
  const Space part = two().fixed({{"rows", 4}, {"flag", 1}});
  EXPECT_EQ(part.combinations(), 2u);
  EXPECT_EQ(part.default_configuration(),
            (Configuration{{"rows", 4}, {"columns", 1}, {"flag", 1}}));
  EXPECT_FALSE(part.legal({{"rows", 2}, {"columns", 1}, {"flag", 1}}));
  EXPECT_FALSE(part.legal({{"rows", 4}, {"columns", 3}, {"flag", 1}}));  // the constraint holds on
  EXPECT_EQ(two().fixed({}).description(), two().description());
  EXPECT_THROW(two().fixed({{"rows", 3}}), core::Error);
  EXPECT_THROW(two().fixed({{"row", 4}}), core::Error);
  EXPECT_THROW(two().fixed({{"rows", 8}, {"columns", 3}}), core::Error);
}

TEST(Configuration, IsReadFromText) {
  EXPECT_EQ(jit::parse_configuration("--fix", "a=1,b=-2"), (Configuration{{"a", 1}, {"b", -2}}));
  EXPECT_TRUE(jit::parse_configuration("--fix", "").empty());
  for (const char* wrong : {"a", "a=", "=1", "a=1x", "a=1,,b=2", "a=1.5"})
    EXPECT_THROW(jit::parse_configuration("--fix", wrong), core::Error) << wrong;
}

TEST(Space, RefusesABadDescription) {
  EXPECT_THROW(Space({{"a", {}, 0, ""}}), core::Error);
  EXPECT_THROW(Space({{"a", {1, 2}, 3, ""}}), core::Error);
  EXPECT_THROW(Space({{"a", {1, 2, 1}, 1, ""}}), core::Error);
  EXPECT_THROW(Space({{"a", {1}, 1, ""}, {"a", {1}, 1, ""}}), core::Error);
  EXPECT_THROW(Space({{"a", {1}, 1, ""}}, [](const Configuration&) { return false; }), core::Error);
}

enum class Way { plain, clever };
struct Inner {
  unsigned tile = 4;
};
struct Example {
  Inner inner;
  bool ahead = true;
  Way way = Way::clever;
  std::size_t untouched = 99;
};

jit::TunableFields<Example> fields() {
  jit::TunableFields<Example> list;
  list.add(
          "tile", [](auto& e) -> auto& { return e.inner.tile; }, {1, 4, 16}, "registers")
      .add("ahead", &Example::ahead, {0, 1}, "hides loads")
      .add("way", &Example::way, {0, 1}, "which code");
  return list;
}

TEST(TunableFields, GoFromStructToConfigurationAndBack) {
  Example example;
  example.inner.tile = 16;
  example.untouched = 7;
  const Configuration configuration = fields().configuration(example);
  EXPECT_EQ(configuration, (Configuration{{"tile", 16}, {"ahead", 1}, {"way", 1}}));
  const Example back = fields().tunables({{"tile", 1}, {"ahead", 0}, {"way", 0}}, example);
  EXPECT_EQ(back.inner.tile, 1u);
  EXPECT_FALSE(back.ahead);
  EXPECT_EQ(back.way, Way::plain);
  EXPECT_EQ(back.untouched, 7u);
  EXPECT_THROW(fields().tunables({{"tiles", 1}}), core::Error);
}

TEST(TunableFields, MakeASpaceWhoseConstraintSeesTheStruct) {
  const Space space = fields().space(
      Example{}, [](const Example& e) { return e.inner.tile < 16 || e.way == Way::plain; });
  EXPECT_EQ(space.combinations(), 12u);
  EXPECT_EQ(space.default_configuration().at("tile"), 4);
  EXPECT_TRUE(space.legal({{"tile", 16}, {"ahead", 1}, {"way", 0}}));
  EXPECT_FALSE(space.legal({{"tile", 16}, {"ahead", 1}, {"way", 1}}));
}

}  // namespace
