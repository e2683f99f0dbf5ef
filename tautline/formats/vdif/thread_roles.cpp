#include "tautline/formats/vdif/thread_roles.h"

#include <fmt/format.h>

#include <map>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"

namespace tautline::formats::vdif {

namespace {

constexpr std::uint32_t station_of(std::uint32_t key) {
  return key >> 10;
}
constexpr std::uint32_t number_of(std::uint32_t key) {
  return key & 1023U;
}

// Threads of each station; 0 where stations have not equally many.
std::size_t threads_of_each(const std::map<std::uint32_t, std::size_t>& stations) {
  const std::size_t first = stations.begin()->second;
  for (const auto& [station, threads] : stations)
    if (threads != first) return 0;
  return first;
}

std::size_t require_equal(const std::map<std::uint32_t, std::size_t>& stations, const char* asked,
                          std::size_t most) {
  for (const auto& [station, threads] : stations)
    if (threads != stations.begin()->second || threads > most)
      throw core::Error(
          core::ErrorKind::config, "threads_are", asked,
          fmt::format("{}equally many threads of every station, not {} of {}",
                      most == 2 ? "one or two, " : "", threads, station_text(station)),
          "say antennas, or split the file by station");
  return stations.begin()->second;
}

// Names that tell all antennas apart: the station's, and where it has several the thread's number.
std::vector<std::string> names_of(const std::vector<std::uint32_t>& keys, std::size_t each,
                                  bool several) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < keys.size(); k += each)
    names.push_back(station_text(station_of(keys[k])) +
                    (several ? fmt::format(".{}", number_of(keys[k])) : ""));
  return names;
}

}  // namespace

// Two letters as VLBI stations have them, the first one in the high byte.
std::string station_text(std::uint32_t station) {
  const int first = static_cast<int>(station >> 8 & 255U),
            second = static_cast<int>(station & 255U);
  if (first >= '0' && first < 127 && second > ' ' && second < 127)
    return {static_cast<char>(first), static_cast<char>(second)};
  return std::to_string(station);
}

ThreadRoles roles_of(const std::vector<std::uint32_t>& keys, const ReaderOptions& options) {
  std::map<std::uint32_t, std::size_t> stations;
  for (const std::uint32_t key : keys) ++stations[station_of(key)];
  ThreadRoles roles;
  const std::size_t told = options.assumed.polarisations;
  switch (options.threads_are) {
    case ThreadsAre::antennas:
      break;
    case ThreadsAre::polarisations:
      roles.polarisations = require_equal(stations, "polarisations", 2);
      break;
    case ThreadsAre::bands:
      roles.bands = require_equal(stations, "bands", keys.size());
      break;
    case ThreadsAre::guessed:
      if (told > 1 && keys.size() % told != 0)
        throw core::Error(core::ErrorKind::config, "polarisations", std::to_string(told),
                          fmt::format("1{}, for {}", keys.size() % 2 == 0 ? " or 2" : "",
                                      core::counted(keys.size(), "thread")),
                          "leave it out, or say what the threads are with `threads_are`");
      if (told > 1 && keys.size() % told == 0)
        roles.polarisations = told;
      else if (threads_of_each(stations) == 2)
        roles.polarisations = 2;
      if (keys.size() > 1 && told <= 1)
        roles.assumed = fmt::format(
            "{} threads of {}{} are taken for {}; `threads_are` says what they are", keys.size(),
            stations.size() == 1 ? "station " : "stations ",
            stations.size() == 1 ? station_text(stations.begin()->first)
                                 : fmt::format("{} to {}", station_text(stations.begin()->first),
                                               station_text(stations.rbegin()->first)),
            roles.polarisations == 2 ? "polarisations" : "antennas");
  }
  const std::size_t each = roles.polarisations * roles.bands;
  roles.antennas = keys.size() / each;
  const bool unnamed = stations.size() == 1 && stations.begin()->first == 0;
  if (!unnamed) roles.antenna_names = names_of(keys, each, roles.antennas > stations.size());
  return roles;
}

}  // namespace tautline::formats::vdif
