// Sums from tags equal those from bins, bit for bit: sparse and dense, any split, both lag schemes.
#include "tautline/stages/autocorrelate/tags.h"

#include "tests/stages/autocorrelate/support.h"

namespace tautline::stages::autocorrelate::tests {
namespace {

// One count per `rarity` bins on average, in bunches.
std::vector<std::uint8_t> rare_counts(std::size_t samples, std::size_t sensors, unsigned rarity) {
  auto random = generator();
  std::vector<std::uint8_t> data(samples * sensors);
  for (std::uint8_t& count : data)
    if (random() % rarity == 0) count = static_cast<std::uint8_t>(random() % 16 == 0 ? 255 : 1);
  return data;
}

std::vector<Tag> tags_of(const std::vector<std::uint8_t>& data, std::size_t sensors) {
  std::vector<Tag> tags;
  for (std::size_t i = 0; i < data.size(); ++i)
    for (std::uint8_t n = 0; n < data[i]; ++n)
      tags.push_back({i / sensors, static_cast<std::uint32_t>(i % sensors)});
  return tags;
}

class Tags : public ::testing::Test {
 protected:
  std::shared_ptr<const device::Device> device_ = opened(kBackends[0]);
  std::unique_ptr<device::Queue> queue_ = device_->make_queue();
};

TEST_F(Tags, AreTheReferenceWhateverTheirRate) {
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
    for (const std::size_t bins : {2u, 6u, 7u, 32u}) {
      if (scheme == LagScheme::standard && bins % 2 != 0) continue;
      for (const unsigned rarity : {1u, 3u, 40u, 2000u})
        for (const std::size_t samples : {1u, 63u, 6003u}) {
          const Config config{.sensors = 2, .lag_scheme = scheme, .bins = bins, .levels = 9};
          const auto data = rare_counts(samples, 2, rarity);
          const auto plan = make_tag_plan(config);
          EXPECT_EQ(plan->backend(), "tags");
          expect_equal(config, run(*plan, *queue_, data), run_on(kReference, config, data),
                       config_text(config, samples) + ", one in " + std::to_string(rarity));
        }
    }
}

// The largest counts whose products are added up in 32 bits, more of them in a call than 32 bits hold; and 256, at
// level 1.
TEST_F(Tags, ManyOfTheLargestShortCounts) {
  for (const unsigned rarity : {1u, 6u}) {
    const Config config{.sensors = 1, .bins = 5, .levels = 3, .max_samples = 70'001};
    auto data = rare_counts(70'001, 1, rarity);
    for (std::uint8_t& count : data) count = count > 0 ? 255 : 0;
    for (std::size_t k = 40'000; k < data.size(); ++k)
      data[k] = std::min<std::uint8_t>(data[k], 128);
    expect_equal(config, run(*make_tag_plan(config), *queue_, data),
                 run_on(kReference, config, data), "one in " + std::to_string(rarity));
  }
}

TEST_F(Tags, PairsOfSensors) {
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
    for (const unsigned rarity : {1u, 30u}) {
      const Config config{.sensors = 4,
                          .lag_scheme = scheme,
                          .bins = 6,
                          .levels = 7,
                          .pairs = {{0, 1}, {1, 0}, {2, 2}, {3, 0}, {0, 1}}};
      const auto data = rare_counts(3000, 4, rarity);
      expect_equal(config, run(*make_tag_plan(config), *queue_, data),
                   run_on(kReference, config, data), config_text(config, 3000));
    }
}

TEST_F(Tags, AnySplitReadAndSavedOnTheWay) {
  auto random = generator();
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
    for (const unsigned rarity : {2u, 50u}) {
      const Config config{.sensors = 3, .lag_scheme = scheme, .bins = 8, .levels = 7};
      const std::size_t samples = 5000;
      const auto data = rare_counts(samples, 3, rarity);
      const auto tags = tags_of(data, 3);
      const auto plan = make_tag_plan(config);
      auto state = plan->make_state(*queue_);
      for (std::size_t until = 0, used = 0; until < samples;) {
        until = std::min<std::size_t>(samples, until + random() % 300);
        std::size_t end = used;
        while (end < tags.size() && tags[end].bin < until) ++end;
        plan->execute_tags(*queue_, *state, std::span(tags).subspan(used, end - used), until);
        used = end;
        EXPECT_EQ(state->samples(), until);
        if (random() % 4 == 0) {
          const std::vector<std::uint8_t> part(
              data.begin(), data.begin() + static_cast<std::ptrdiff_t>(until * 3));
          Result<std::int64_t> result(config);
          plan->read(*queue_, *state, result.views());
          expect_equal(config, result, run_on(kReference, config, part), std::to_string(until));
        }
        if (random() % 4 == 0) {
          const auto saved = state->save();
          state = plan->make_state(*queue_);
          state->load(saved);
          EXPECT_THROW(plan->make_state(*queue_)->load(std::span(saved).first(saved.size() - 1)),
                       core::Error);
        }
      }
    }
}

// From the dark to bright light and back: fewer and fewer levels are summed over near pairs, on the way.
TEST_F(Tags, RatesThatChange) {
  auto random = generator();
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
    for (const std::size_t bins : {1u, 2u, 6u, 16u})
      for (const bool cross : {false, true})
        for (int turn = 0; turn < 6; ++turn) {
          if (scheme == LagScheme::standard && bins == 1) continue;
          Config config{.sensors = 2, .lag_scheme = scheme, .bins = bins, .levels = 10};
          if (cross) config.pairs = {{0, 1}, {1, 0}, {1, 1}};
          std::vector<std::uint8_t> data;
          for (const unsigned rarity : {5000u, 700u, 90u, 10u, 2u, 800u}) {
            const auto more = rare_counts(200 + random() % 1500, 2, rarity);
            data.insert(data.end(), more.begin(), more.end());
          }
          const auto tags = tags_of(data, 2);
          const std::size_t samples = data.size() / 2, longest = 50 + random() % 900;
          const auto plan = make_tag_plan(config);
          auto state = plan->make_state(*queue_);
          for (std::size_t until = 0, used = 0; until < samples;) {
            until = std::min(samples, until + random() % longest);
            std::size_t end = used;
            while (end < tags.size() && tags[end].bin < until) ++end;
            plan->execute_tags(*queue_, *state, std::span(tags).subspan(used, end - used), until);
            used = end;
            if (random() % 8 != 0 && until < samples) continue;
            const std::vector<std::uint8_t> part(
                data.begin(), data.begin() + static_cast<std::ptrdiff_t>(until * 2));
            Result<std::int64_t> result(config);
            plan->read(*queue_, *state, result.views());
            expect_equal(config, result, run_on(kReference, config, part), std::to_string(until));
            const auto saved = state->save();
            state = plan->make_state(*queue_);
            state->load(saved);
          }
        }
}

TEST_F(Tags, StatesAreCutAndToldApart) {
  const Config config{.sensors = 3, .bins = 8, .levels = 7};
  for (const unsigned rarity : {2u, 50u})
    expect_cut_everywhere(*make_tag_plan(config), *queue_, rare_counts(3000, 3, rarity), 300);
  std::vector<std::shared_ptr<const Plan>> others{make_plan(config, device_)};
  for (const Config& other : other_configs(config))
    if (other.coarsening == Coarsening::sum) others.push_back(make_tag_plan(other));
  expect_states_told_apart(*make_tag_plan(config), *queue_, others);
}

// A run of 1e15 bins with photons in pairs, which only lists of tags can hold.
TEST_F(Tags, LongEmptyRuns) {
  const Config config{.sensors = 1, .lag_scheme = LagScheme::standard, .bins = 16, .levels = 40};
  const auto plan = make_tag_plan(config);
  const auto state = plan->make_state(*queue_);
  const std::uint64_t step = 1'000'000'000'000;
  std::vector<Tag> tags;
  for (std::uint64_t n = 0; n < 1000; ++n)
    for (const std::uint64_t place : {n * step, n * step + 5}) tags.push_back({place, 0});
  plan->execute_tags(*queue_, *state, tags, 1000 * step);
  Result<std::int64_t> result(config);
  plan->read(*queue_, *state, result.views());
  EXPECT_EQ(result.sums[0], 2000);
  EXPECT_EQ(result.sums[5], 1000);
  EXPECT_EQ(result.sums[6], 0);
  EXPECT_EQ(result.counts[5], static_cast<std::int64_t>(1000 * step - 5));
  EXPECT_EQ(result.direct[5], 2000);
}

TEST_F(Tags, RefusesWhatIsWrong) {
  const auto plan = make_tag_plan({.sensors = 2, .levels = 3});
  const auto state = plan->make_state(*queue_);
  const auto give = [&](std::vector<Tag> tags, std::uint64_t until) {
    plan->execute_tags(*queue_, *state, tags, until);
  };
  give({{3, 0}, {3, 1}}, 10);
  EXPECT_THROW(give({{9, 0}}, 20), core::Error);
  EXPECT_THROW(give({{12, 0}, {11, 0}}, 20), core::Error);
  EXPECT_THROW(give({{12, 2}}, 20), core::Error);
  EXPECT_THROW(give({{20, 0}}, 20), core::Error);
  give({{12, 0}}, 20);
  EXPECT_THROW(make_tag_plan({.type = SampleType::f32}), core::Error);
  EXPECT_THROW(make_tag_plan({.coarsening = Coarsening::first}), core::Error);
}

TEST_F(Tags, RefusesSumsThatCouldWrap) {
  const Config config{.sensors = 1, .bins = 4, .levels = 1, .type = SampleType::u32};
  const auto plan = make_tag_plan(config);
  const auto state = plan->make_state(*queue_);
  const std::vector<std::uint32_t> good(1, 3'037'000'499u), bad(3, 4'000'000'000u);
  plan->execute(*queue_, *state, view_of(good, 1));
  EXPECT_THROW(plan->execute(*queue_, *state, view_of(bad, 1)), core::Error);
  EXPECT_THROW(plan->execute(*queue_, *state, view_of(good, 1)), core::Error);
  Result<std::int64_t> result(config);
  EXPECT_THROW(plan->read(*queue_, *state, result.views()), core::Error);
}

}  // namespace
}  // namespace tautline::stages::autocorrelate::tests
