#include "cli/dm_options.h"

#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>

#include "cli/filter_options.h"
#include "tautline/core/error.h"

namespace tautline::cli {

namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& value,
                         const std::string& limit) {
  throw core::Error(core::ErrorKind::config, option, value, limit);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

template <class T>
bool parse(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

DmRange parse_dm_range(const std::string& text) {
  const auto parts = split(text, ':');
  DmRange range;
  bool good = parts.size() <= 3 && parse(parts[0], range.low);
  range.high = range.low;
  if (good && parts.size() > 1) good = parse(parts[1], range.high);
  if (good && parts.size() > 2) good = parse(parts[2], range.step) && range.step > 0;
  if (!good) refuse("--dms", text, "LO:HI:STEP, LO:HI or one DM, the step above 0");
  range.has_step = parts.size() > 2 || parts.size() == 1;
  if (parts.size() == 1) range.step = 1;
  return range;
}

std::vector<std::size_t> parse_channels(const std::string& text) {
  constexpr std::size_t kMostChannels = 65536;
  std::vector<std::size_t> channels;
  if (text.empty()) return channels;
  for (const std::string& part : split(text, ',')) {
    const auto ends = split(part, ':');
    std::size_t first = 0, last = 0;
    const bool good =
        ends.size() <= 2 && parse(ends[0], first) && (ends.size() == 1 || parse(ends[1], last));
    if (ends.size() == 1) last = first;
    if (!good || last < first || last >= kMostChannels)
      refuse("--ignorechan", text, "channels and ranges of them from 0, as 0:5,34");
    for (std::size_t c = first; c <= last; ++c) channels.push_back(c);
  }
  return channels;
}

void DmOptions::add_to(CLI::App& to, pipeline::FilterbankRunConfig& config) {
  command = &to;
  to.add_option("--dms", dms,
                "trials in pc cm^-3: LO:HI:STEP with HI among them, LO:HI by tolerance, or one");
  to.add_option("--dm-tolerance", tolerance,
                "LO:HI: how many times wider a pulse may get between trials")
      ->check([](const std::string& text) {
        double value = 0;
        const bool good = parse(text, value) && value > 1 && std::isfinite(value);
        return good ? "" : text + ": more than 1";
      })
      ->capture_default_str();
  to.add_option("--pulse-width", pulse_width_us,
                "microseconds of the pulse that tolerances are about")
      ->check([](const std::string& text) {
        double value = 0;
        const bool good = parse(text, value) && value >= 0 && std::isfinite(value);
        return good ? "" : text + ": microseconds, 0 or more";
      })
      ->capture_default_str();
  to.add_option("--dm-list", dm_list, "a file of trials, instead of --dms");
  to.add_option("--downsample-tolerance", downsample_tolerance,
                "add neighbouring samples where that widens a smeared pulse at most so many times "
                "(1.15); 0: never")
      ->check([](const std::string& text) {
        double value = 0;
        const bool good = parse(text, value) && (value == 0 || value > 1) && std::isfinite(value);
        return good ? "" : text + ": 0 (never) or more than 1";
      })
      ->capture_default_str();
  to.add_option("--dm-constant", dm_constant, "s MHz^2 per pc cm^-3; or \"presto\" for 1/2.41e-4")
      ->capture_default_str();
  to.add_option(
        "--method", method,
        "exact, shared (exact sums, fewer adds), subband (loses up to --max-loss, 1 % if not "
        "given) or auto: exact or shared; with --max-loss subband where it saves a fifth")
      ->check(CLI::IsMember({"auto", "exact", "shared", "subband"}))
      ->capture_default_str();
  to.add_option("--max-loss", max_loss_percent,
                "per cent of S/N that sub-bands may cost; not given or 0: auto sums exactly")
      ->check(CLI::Range(0.0, 50.0));
  const std::string group = "Cleaning";
  to.add_option("--ignorechan", ignored, "channels of the file to leave out, from 0: 0:5,34")
      ->group(group);
  to.add_option("--mask", config.mask, "rfifind's NAME_rfifind.mask")->group(group);
  to.add_flag("--flag-channels", config.flag_channels,
              "leave out channels whose level, noise or spectral kurtosis stands out")
      ->group(group);
  to.add_flag("--zero-dm", config.zero_dm,
              "subtract the mean over channels at each time (float series)")
      ->group(group);
  to.add_flag("--bandpass", config.bandpass,
              "record every channel's mean and standard deviation (OUTPUT.json)")
      ->group(group);
}

double DmOptions::max_loss() const {
  if (max_loss_percent == 0.0 && method == "subband")
    refuse("--max-loss", "0 with --method subband", "above 0, or --method exact, shared or auto");
  return max_loss_percent.value_or(0) / 100;
}

pipeline::DmChoice DmOptions::choice() const {
  pipeline::DmChoice choice;
  choice.pulse_width_s = pulse_width_us * 1e-6;
  choice.downsample_tolerance = downsample_tolerance;
  if (dms.empty() == dm_list.empty())
    refuse("--dms", dms.empty() ? "not given" : "given with --dm-list",
           "one of --dms and --dm-list");
  const auto useless = named(*command, {"--dm-tolerance"});
  if (!dm_list.empty()) {
    if (!useless.empty()) refuse("--dm-tolerance", "given with --dm-list", "only for --dms LO:HI");
    std::ifstream file(dm_list, std::ios::binary);
    if (!file) throw core::Error(core::ErrorKind::io, dm_list, "cannot be opened", "a list of DMs");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    choice.list = stages::dedisperse::parse_dm_list(text, dm_list);
    return choice;
  }
  const DmRange range = parse_dm_range(dms);
  if (range.has_step && !useless.empty())
    refuse("--dm-tolerance", "given with a step", "only for --dms LO:HI");
  choice.low = range.low, choice.high = range.high;
  choice.step = range.has_step ? range.step : 0;
  choice.tolerance = tolerance;
  return choice;
}

double DmOptions::constant() const {
  if (dm_constant == "presto") return 1 / 2.41e-4;
  double value = 0;
  if (!parse(dm_constant, value) || !(value > 0) || !std::isfinite(value))
    refuse("--dm-constant", dm_constant, "a number above 0, or presto");
  return value;
}

}  // namespace tautline::cli
