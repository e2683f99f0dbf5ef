#include "tautline/formats/vdif/agreed_header.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace tautline::formats::vdif {

namespace {

constexpr std::size_t kFollowers = 16;
// Frames have whole numbers of eight bytes, and so begin at them.
constexpr std::uint64_t kLengthUnit = 8;

using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // second, frame number, key

Place place_of(const Header& header) {
  return {header.seconds, header.frame, header.key()};
}

/// Frames behind one, as far as they are there.
struct Followers {
  std::size_t looked_at = 0, agree = 0;
  Header header;  ///< with the extended data of most

  bool most() const { return 2 * agree > looked_at; }
};

// Payloads may repeat themselves, and so look like headers that agree: those of frames differ in time or thread.
Followers followers_of(const HeaderAt& header_at, const Header& first, std::uint64_t offset) {
  Followers found{.header = first};
  std::set<Place> places{place_of(first)};
  std::map<std::pair<std::uint32_t, std::int64_t>, std::size_t> extended;
  std::size_t most = ++extended[{first.extended_version, first.rate_hz}];
  for (std::size_t k = 1; k <= kFollowers; ++k) {
    const auto header = header_at(offset + k * first.frame_bytes);
    if (!header) break;
    ++found.looked_at;
    if (!same_recording(*header, first) || !places.insert(place_of(*header)).second) continue;
    ++found.agree;
    const std::size_t same = ++extended[{header->extended_version, header->rate_hz}];
    if (same <= most) continue;
    most = same;
    found.header.extended_version = header->extended_version;
    found.header.rate_hz = header->rate_hz;
  }
  return found;
}

// Behind the first frame: `accept` gets headers at whole numbers of their frames, until it returns true.
template <class Accept>
void search(const HeaderAt& header_at, std::uint64_t search_bytes, const Accept& accept) {
  for (std::uint64_t offset = kLengthUnit; offset < search_bytes; offset += kLengthUnit) {
    const auto header = header_at(offset);
    if (!header) return;
    if (plausible(*header) && offset % header->frame_bytes == 0 && accept(*header, offset)) return;
  }
}

bool next_in_time(const Header& a, const Header& b) {
  const bool same_second = a.seconds == b.seconds;
  return (same_second && a.frame == b.frame && a.key() != b.key()) ||
         (same_second && b.frame == a.frame + 1) || (b.seconds == a.seconds + 1 && b.frame == 0);
}

}  // namespace

std::optional<Header> agreed_header(const HeaderAt& header_at, std::uint64_t search_bytes) {
  const auto first = header_at(0);
  if (!first) return std::nullopt;
  Followers of_first;
  if (plausible(*first)) of_first = followers_of(header_at, *first, 0);
  if (of_first.most()) return of_first.header;
  std::optional<Header> agreed;
  search(header_at, search_bytes, [&](const Header& header, std::uint64_t offset) {
    const Followers found = followers_of(header_at, header, offset);
    if (!found.most() || found.agree <= of_first.agree) return false;
    agreed = found.header;
    return true;
  });
  return agreed;
}

bool begins_with_frames(const HeaderAt& header_at, std::uint64_t search_bytes) {
  const auto first = header_at(0);
  if (first && plausible(*first)) {
    const auto second = header_at(first->frame_bytes);
    const std::int64_t step = second ? std::int64_t{second->seconds} - first->seconds : -1;
    if (second && same_recording(*first, *second) && step >= 0 && step <= 1) return true;
  }
  bool found = false;
  search(header_at, search_bytes, [&](const Header& header, std::uint64_t offset) {
    const auto second = header_at(offset + header.frame_bytes),
               third = header_at(offset + 2 * header.frame_bytes);
    found = second && third && same_recording(header, *second) && same_recording(header, *third) &&
            next_in_time(header, *second) && next_in_time(*second, *third);
    return found;
  });
  return found;
}

}  // namespace tautline::formats::vdif
