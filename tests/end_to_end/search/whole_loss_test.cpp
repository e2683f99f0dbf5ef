// What a search loses of the S/N of injected pulses, against what it says: by the spacing of trials, by sub-bands and
// by boxcars together, from the file to the list.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>
#include <set>

#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

// Few enough that they do not add to the measured noise.
constexpr double kInjectedSnr = 60, kSecondsApart = 2;
constexpr int kInjected = 24;
// Of faint pulses, which may be closer.
constexpr double kFaintSnr = 25, kFaintSecondsApart = 0.6;
constexpr int kFaintDms = 10, kFaintOfEachDm = 30;
// The part of a Gaussian's S/N that the best boxcar of any length finds.
constexpr double kBoxcarOfGaussian = 0.943;

struct InjectedPulse {
  double dm = 0, time_s = 0, width_s = 0, snr = kInjectedSnr;
};

struct Losses {
  double mean = 0, error = 0;  ///< of the mean
};

Losses losses_of(const std::vector<double>& lost) {
  Losses of;
  const auto count = static_cast<double>(lost.size());
  for (const double one : lost) of.mean += one / count;
  for (const double one : lost) of.error += (one - of.mean) * (one - of.mean);
  of.error = std::sqrt(of.error / (count * (count - 1)));
  return of;
}

class WholeLoss : public ::testing::Test {
 protected:
  CommandResult run(const std::vector<std::string>& words) {
    CommandResult result = run_command(words, scratch_.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    return result;
  }
  // Floats, so that nothing is clipped.
  void simulate(const std::vector<InjectedPulse>& pulses) {
    const double end_s =
        pulses.empty() ? kSecondsApart * kInjected : pulses.back().time_s + kSecondsApart;
    std::vector<std::string> words{"simulate",    "filterbank",
                                   "--nchans",    "128",
                                   "--fch1",      "1500",
                                   "--foff",      "-2",
                                   "--tsamp",     "1ms",
                                   "--nbits",     "32",
                                   "--duration",  std::to_string(end_s),
                                   "--seed",      std::to_string(random_() % 1000000),
                                   "--overwrite", "-o",
                                   fil_};
    for (const InjectedPulse& pulse : pulses) {
      std::ostringstream text;
      text.precision(17);
      text << "dm=" << pulse.dm << ",time=" << pulse.time_s << ",width=" << pulse.width_s
           << ",snr=" << pulse.snr;
      words.insert(words.end(), {"--pulse", text.str()});
    }
    run(words);
  }
  std::vector<nlohmann::json> search(const std::vector<std::string>& more) {
    std::vector<std::string> words{"--json",      "search",      fil_, "--baseline",
                                   "20",          "--overwrite", "-o", scratch_ / "c.csv",
                                   "--max-width", "0.06"};
    words.insert(words.end(), more.begin(), more.end());
    return json_lines(run(words).out);
  }
  // Exact sums at the pulses' own DMs and `steps` of 0.05 above and below each.
  std::vector<nlohmann::json> search_near(const std::vector<InjectedPulse>& pulses, int steps) {
    std::set<double> dms;
    for (const InjectedPulse& pulse : pulses)
      for (int k = -steps; k <= steps; ++k) dms.insert(pulse.dm + 0.05 * k);
    std::string list;
    for (const double dm : dms) list += nlohmann::json(dm).dump() + "\n";
    write_file(scratch_ / "dms.txt", list);
    return search({"--dm-list", scratch_ / "dms.txt", "--method", "exact"});
  }
  struct Told {
    double spacing = 0, sub_bands = 0;
  };
  Told measure(std::vector<std::string> options);
  static std::vector<std::string> lossy() {
    return {"--dms", "0:150", "--max-loss", "6", "--method", "subband"};
  }
  // The brightest candidate at the pulse.
  static double snr_at(const InjectedPulse& pulse, const std::vector<nlohmann::json>& lines) {
    double snr = 0;
    for (const nlohmann::json& one : lines)
      if (one.contains("time_s") &&
          std::abs(one["time_s"].get<double>() - pulse.time_s) < kFaintSecondsApart / 4)
        snr = std::max(snr, one["snr"].get<double>());
    EXPECT_GT(snr, 0) << "at " << pulse.time_s << " s";
    return snr;
  }
  // Half-way between two trials, at any phase of the samples.
  std::vector<InjectedPulse> between_trials(const std::vector<double>& dms, double narrowest_s,
                                            double widest_s) {
    std::uniform_real_distribution<double> any(0, 1);
    std::vector<InjectedPulse> pulses;
    for (int k = 0; k < kInjected; ++k) {
      const std::size_t trial = 1 + random_() % (dms.size() - 2);
      pulses.push_back({(dms[trial] + dms[trial + 1]) / 2,
                        kSecondsApart * (k + 0.5 + 0.1 * any(random_)),
                        narrowest_s * std::pow(widest_s / narrowest_s, any(random_))});
    }
    return pulses;
  }
  // Of one sample, at a few DMs half-way between two trials, any phase of the samples.
  std::vector<InjectedPulse> faint_between_trials(const std::vector<double>& dms) {
    std::uniform_real_distribution<double> any(0, 1);
    const std::size_t apart = (dms.size() - 1) / kFaintDms, first = random_() % apart;
    std::vector<InjectedPulse> pulses;
    for (int k = 0; k < kFaintDms * kFaintOfEachDm; ++k) {
      const std::size_t trial = first + static_cast<std::size_t>(k % kFaintDms) * apart;
      pulses.push_back({(dms[trial] + dms[trial + 1]) / 2,
                        kSecondsApart + kFaintSecondsApart * k + 1e-3 * any(random_), 1e-3,
                        kFaintSnr});
    }
    return pulses;
  }
  static void expect_within(const std::string& name, const std::vector<double>& lost, double told) {
    const Losses of = losses_of(lost);
    std::cout << lost.size() << " " << name << ": lost " << of.mean << " +- " << of.error
              << ", told at most " << told << std::endl;
    EXPECT_LE(of.mean - 5 * of.error, told) << name;
    EXPECT_GE(of.mean + 5 * of.error, 0) << name << ": more is found than there is";
  }

  ScratchFolder scratch_;
  const std::string fil_ = scratch_ / "x.fil";
  std::mt19937_64 random_ = generator();
};

// Pulses of one sample half-way between two trials, beside exact sums of trials that lie much closer.
WholeLoss::Told WholeLoss::measure(std::vector<std::string> options) {
  options.insert(options.begin(), {"--dms", "0:150"});
  std::vector<std::string> planned = options;
  planned.emplace_back("--plan");
  const nlohmann::json plan = search(planned).front();
  const double spacing = plan["loss_of_snr_by_spacing"], sub_bands = plan["loss_of_snr"];
  simulate({});
  search(options);
  const std::vector<double> dms = nlohmann::json::parse(read_file(scratch_ / "c.csv.json"))["dms"];
  const std::vector<InjectedPulse> narrow = between_trials(dms, 1e-3, 1e-3);
  simulate(narrow);
  const auto found = search(options), fine = search_near(narrow, 6);
  std::vector<double> lost;
  for (const InjectedPulse& pulse : narrow)
    lost.push_back(1 - snr_at(pulse, found) / snr_at(pulse, fine));
  const double told = 1 - (1 - spacing) * (1 - sub_bands);
  std::cout << dms.size() << " trials, told " << 100 * spacing << " % by spacing, "
            << 100 * sub_bands << " % by sub-bands: " << std::flush;
  expect_within("narrow pulses", lost, told);
  return {spacing, sub_bands};
}

// The loss that --max-loss promises, with the default and where sub-bands run.
TEST_F(WholeLoss, OfTheNarrowestPulseIsAtMostMaxLoss) {
  simulate({});
  const Told by_default = measure({});
  EXPECT_LE(by_default.spacing, 0.02);
  EXPECT_EQ(by_default.sub_bands, 0);
  for (const double max_loss : {0.06, 0.105}) {
    const Told lossy =
        measure({"--max-loss", std::to_string(100 * max_loss), "--method", "subband"});
    EXPECT_GT(lossy.sub_bands, 0);
    EXPECT_LE(1 - (1 - lossy.spacing) * (1 - lossy.sub_bands), max_loss + 1e-9);
  }
}

// What a user measures who injects faint pulses: the S/N that the list has, beside that of a search of the pulses' DMs
// alone, which are so far apart that each pulse is in one trial. The mean is over the times of arrival and the noise.
TEST_F(WholeLoss, OfTheSnrInTheListIsAtMostMaxLoss) {
  for (const double max_loss : {0.02, 0.10}) {
    std::vector<std::string> options{"--dms", "0:150"};
    if (max_loss > 0.02) options.insert(options.end(), {"--max-loss", "10"});
    simulate({});
    search(options);
    const std::vector<double> dms =
        nlohmann::json::parse(read_file(scratch_ / "c.csv.json"))["dms"];
    const std::vector<InjectedPulse> pulses = faint_between_trials(dms);
    simulate(pulses);
    const auto found = search(options), own = search_near(pulses, 0);
    std::vector<double> lost;
    for (const InjectedPulse& pulse : pulses)
      lost.push_back(1 - snr_at(pulse, found) / snr_at(pulse, own));
    const Losses of = losses_of(lost);
    std::cout << dms.size() << " trials, " << lost.size() << " pulses of S/N " << kFaintSnr
              << ": lost " << of.mean << " +- " << of.error << ", at most " << max_loss
              << std::endl;
    EXPECT_LE(of.mean, max_loss);
  }
}

// Given trials: what their spacing leaves of --max-loss goes to sub-bands, and none that it does not keep is promised.
TEST_F(WholeLoss, OfGivenTrialsIncludesTheirSpacing) {
  simulate({});
  const auto plan = [&](const std::string& step, const std::string& max_loss) {
    return run_command({"--json", "search", fil_, "--plan", "--dms", "0:150:" + step, "--method",
                        "subband", "--max-loss", max_loss},
                       scratch_.path().string());
  };
  const CommandResult coarse = plan("25", "6");
  EXPECT_EQ(coarse.status, kWrongUsage);
  EXPECT_NE(coarse.err.find("--max-loss: 6 %, expected more than the "), std::string::npos)
      << coarse.err;
  for (const std::string max_loss : {"6", "10.5"}) {
    const CommandResult fine = plan("0.5", max_loss);
    ASSERT_EQ(fine.status, kDone) << fine.err;
    const nlohmann::json said = json_lines(fine.out).front();
    const double spacing = said["loss_of_snr_by_spacing"], sub_bands = said["loss_of_snr"];
    EXPECT_GT(spacing, 0);
    EXPECT_GT(sub_bands, 0);
    EXPECT_LE(1 - (1 - spacing) * (1 - sub_bands), std::stod(max_loss) / 100 + 1e-9);
  }
}

TEST_F(WholeLoss, IsWithinWhatTheSearchSays) {
  simulate({});
  std::vector<std::string> planned = lossy();
  planned.emplace_back("--plan");
  const nlohmann::json plan = search(planned).front();
  search(lossy());
  const std::vector<double> dms = nlohmann::json::parse(read_file(scratch_ / "c.csv.json"))["dms"];
  const double sub_bands = plan["loss_of_snr"], spacing = plan["loss_of_snr_by_spacing"];
  EXPECT_GT(sub_bands, 0) << plan["methods"];
  EXPECT_LE(1 - (1 - sub_bands) * (1 - spacing), 0.06 + 1e-9);
  ASSERT_GT(dms.size(), 20u);

  // The narrowest, which trials and sub-bands cost most, beside exact sums at their own DM.
  const std::vector<InjectedPulse> narrow = between_trials(dms, 1e-3, 1e-3);
  simulate(narrow);
  const auto found = search(lossy()), own = search_near(narrow, 0);
  std::vector<double> lost;
  for (const InjectedPulse& pulse : narrow)
    lost.push_back(1 - snr_at(pulse, found) / snr_at(pulse, own));
  expect_within("narrow pulses", lost, sub_bands + spacing);
  // Which is seen where it is more: trials that lie too far apart.
  const auto apart = search({"--dms", "0:150:25"});
  std::vector<double> more;
  for (std::size_t k = 0; k < narrow.size(); ++k)
    more.push_back(1 - snr_at(narrow[k], apart) / snr_at(narrow[k], found));
  std::cout << "trials far apart: lost " << losses_of(more).mean << "\n";
  EXPECT_GT(losses_of(more).mean, sub_bands + spacing);  // a quarter or more

  // All losses, beside what was injected.
  const std::vector<InjectedPulse> wide = between_trials(dms, 4e-3, 12e-3);
  simulate(wide);
  const auto all = search(lossy());
  lost.clear();
  for (const InjectedPulse& pulse : wide)
    lost.push_back(1 - snr_at(pulse, all) / (kBoxcarOfGaussian * kInjectedSnr));
  expect_within("pulses of any width", lost, plan["loss_of_snr_whole"]);
}

}  // namespace
}  // namespace tautline::tests
