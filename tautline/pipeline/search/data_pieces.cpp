#include "tautline/pipeline/search/data_pieces.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "tautline/pipeline/search/empty_rule.h"
#include "tautline/pipeline/search/empty_stretches.h"

namespace tautline::pipeline {

namespace {

constexpr std::uint64_t kMostSearched = 65'536, kMostSearchedBytes = std::uint64_t{256} << 20;

// Whether two neighbouring spectra are equal, one before and one behind the range among them.
bool repeats_in(formats::FilterbankReader& reader, const SampleRange& range) {
  const std::size_t sample_bytes = reader.description().sample_bytes();
  const std::uint64_t first = range.first - std::min<std::uint64_t>(range.first, 1);
  const auto wanted = static_cast<std::size_t>(range.first + range.count + 1 - first);
  std::vector<std::byte> bytes(wanted * sample_bytes);
  const std::size_t got = reader.read_across(first, wanted, bytes);
  for (std::size_t t = 1; t < got; ++t) {
    const std::byte* spectrum = bytes.data() + t * sample_bytes;
    if (std::memcmp(spectrum, spectrum - sample_bytes, sample_bytes) == 0) return true;
  }
  return false;
}

// So many spectra with data, or fewer; within(n) is the range of n spectra that is searched. Most have no empty
// stretch.
template <class Within>
DataPieces find_data(formats::FilterbankReader& reader, std::uint64_t spectra,
                     const std::vector<bool>& counts, const Within& within) {
  const SampleRange near = within(spectra);
  if (!repeats_in(reader, near)) return {near};
  const DataPieces pieces = data_pieces(reader, near, counts);
  if (length_of(pieces) == near.count) return pieces;
  return data_pieces(reader, within(std::max(spectra, most_searched(reader.description()))),
                     counts);
}

// Without the first `skip` spectra; `spectra` of the others at most.
DataPieces cut(const DataPieces& pieces, std::uint64_t skip, std::uint64_t spectra) {
  DataPieces left;
  for (const SampleRange& piece : pieces) {
    const std::uint64_t skipped = std::min(piece.count, skip);
    const std::uint64_t count = std::min(piece.count - skipped, spectra);
    skip -= skipped;
    spectra -= count;
    if (count > 0) left.push_back({piece.first + skipped, count});
  }
  return left;
}

}  // namespace

std::uint64_t length_of(const DataPieces& pieces) {
  std::uint64_t length = 0;
  for (const SampleRange& piece : pieces) length += piece.count;
  return length;
}

std::uint64_t most_searched(const formats::FilterbankDescription& description) {
  return std::min<std::uint64_t>(kMostSearched, kMostSearchedBytes / description.sample_bytes());
}

DataPieces data_pieces(formats::FilterbankReader& reader, const SampleRange& range,
                       const std::vector<bool>& counts) {
  constexpr std::size_t kChunkBytes = std::size_t{4} << 20;
  const std::size_t sample_bytes = reader.description().sample_bytes();
  std::vector<std::size_t> left_out;
  for (std::size_t c = 0; c < counts.size(); ++c)
    if (!counts[c]) left_out.push_back(c);
  // A stretch may have less than the least number of repeats inside the range.
  const std::uint64_t margin =
      sure_repeats_of_spectra(reader.description(),
                              channels_counting(reader.description(), left_out.size())) +
      1;
  const std::uint64_t low = range.first - std::min(range.first, margin);
  const std::uint64_t end = range.first + range.count, high = end + margin;
  EmptyStretches empty(reader, {low, high - low}, left_out);
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::clamp<std::uint64_t>(
                                   kChunkBytes / sample_bytes, 1, high - low)) *
                               sample_bytes);
  DataPieces pieces;
  const auto add = [&](std::uint64_t from, std::uint64_t to) {
    from = std::max(from, range.first);
    to = std::min(to, end);
    if (from >= to) return;
    if (!pieces.empty() && pieces.back().first + pieces.back().count == from)
      pieces.back().count += to - from;
    else
      pieces.push_back({from, to - from});
  };
  for (std::uint64_t done = low; done < high;) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(high - done, bytes.size() / sample_bytes));
    const std::size_t got = reader.read_across(done, wanted, bytes);
    if (got == 0) break;
    const std::span chunk = std::span<const std::byte>(bytes).first(got * sample_bytes);
    const std::uint64_t first = done, behind = done + got;
    while (done < behind) {
      const auto stretch = empty.find(chunk, first - low, static_cast<std::size_t>(done - first));
      add(done, stretch ? low + stretch->first : behind);
      done = stretch ? low + stretch->first + stretch->count : behind;
    }
  }
  return pieces;
}

DataPieces first_data(formats::FilterbankReader& reader, const SampleRange& range,
                      std::uint64_t spectra, const std::vector<bool>& counts) {
  const DataPieces pieces = find_data(reader, spectra, counts, [&](std::uint64_t most) {
    return SampleRange{range.first, std::min(range.count, most)};
  });
  return cut(pieces, 0, spectra);
}

DataPieces last_data(formats::FilterbankReader& reader, const SampleRange& range,
                     std::uint64_t spectra, const std::vector<bool>& counts) {
  const DataPieces pieces = find_data(reader, spectra, counts, [&](std::uint64_t most) {
    const std::uint64_t count = std::min(range.count, most);
    return SampleRange{range.first + range.count - count, count};
  });
  const std::uint64_t length = length_of(pieces);
  return cut(pieces, length - std::min(length, spectra), spectra);
}

}  // namespace tautline::pipeline
