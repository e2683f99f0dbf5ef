#include "cli/inspect_search.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>

#include "cli/field_options.h"
#include "cli/inspect_text.h"
#include "tautline/core/counted.h"
#include "tautline/core/dispersion.h"
#include "tautline/core/time.h"
#include "tautline/formats/candidates/candidates.h"
#include "tautline/formats/cutout_hdf5/cutout_hdf5.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/presto/mask.h"
#include "tautline/formats/seeming_kind.h"

namespace tautline::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kFirstBytes = 2880;

Json or_null_inspect_search(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json segments_json(const formats::FilterbankReader& reader) {
  Json list = Json::array();
  for (const formats::DataSegment& segment : reader.segments())
    list.push_back({{"first_sample", segment.first_sample},
                    {"samples", segment.samples},
                    {"grid_sample", segment.grid_sample},
                    {"start_utc", core::to_iso(segment.start)}});
  return list;
}

void print_filterbank_json(const std::string& path, const formats::FilterbankReader& reader,
                           const formats::Damage& damage) {
  const formats::FilterbankDescription& d = reader.description();
  print_json("tautline.inspect.filterbank", 1,
             {{"file", said_name(path)},
              {"format", d.format},
              {"time_series", d.time_series},
              {"channels", d.channels},
              {"fch1_mhz", d.fch1_mhz},
              {"foff_mhz", d.foff_mhz},
              {"lowest_mhz", d.lowest_mhz()},
              {"highest_mhz", d.highest_mhz()},
              {"evenly_spaced", d.evenly_spaced},
              {"tsamp_s", d.tsamp_s},
              {"rate_hz", {d.rate_hz.numerator, d.rate_hz.denominator}},
              {"bits", d.bits},
              {"signed", d.is_signed},
              {"ifs", d.ifs},
              {"summed_ifs", d.summed_ifs},
              {"delivered", formats::to_string(d.delivered)},
              {"zero_level", d.zero_level},
              {"samples", d.samples},
              {"duration_s", d.duration_s()},
              {"start_utc", core::to_iso(d.start)},
              {"start_mjd", d.tstart_mjd},
              {"data_segments", segments_json(reader)},
              {"source", d.source},
              {"telescope", d.telescope},
              {"machine", d.machine},
              {"ra_deg", or_null_inspect_search(d.ra_deg)},
              {"dec_deg", or_null_inspect_search(d.dec_deg)},
              {"refdm", or_null_inspect_search(d.refdm)},
              {"refdm_constant", or_null_inspect_search(d.refdm_constant)},
              {"barycentric", d.barycentric},
              {"beam", d.beam},
              {"beams", d.beams},
              {"remarks", reader.remarks()},
              {"damage", damage.messages}});
}

void print_filterbank(const std::string& path, const formats::FilterbankReader& reader) {
  const formats::FilterbankDescription& d = reader.description();
  fmt::print("{}: {} {}\n", said_name(path), d.format,
             d.time_series ? "time series" : "filterbank");
  fmt::print("  samples     {} of {} and {}, {}{}\n", d.samples,
             core::counted(d.channels, "channel"), core::counted(d.ifs, "IF"),
             d.is_signed ? "signed, " : "", core::counted(d.bits, "bit"));
  fmt::print("  rate        {:.12g} s a sample ({}/{} Hz), {:.6f} s in all\n", d.tsamp_s,
             d.rate_hz.numerator, d.rate_hz.denominator, d.duration_s());
  fmt::print("  start       {} UTC (MJD {:.12g})\n", core::to_iso(d.start), d.tstart_mjd);
  if (d.channels > 1)
    fmt::print("  band        {:.6f} to {:.6f} MHz, first channel at {:.6f}, steps of {:.6g} MHz\n",
               d.lowest_mhz(), d.highest_mhz(), d.fch1_mhz, d.foff_mhz);
  else
    fmt::print("  frequency   {:.6f} MHz\n", d.fch1_mhz);
  if (d.refdm) fmt::print("  DM          {:.10g} pc cm^-3", *d.refdm);
  if (d.refdm && d.refdm_constant)
    fmt::print(" with the constant {:.9g}: {:.10g} with {:.9g}", *d.refdm_constant,
               d.dm_with(core::kDispersionConstant), core::kDispersionConstant);
  if (d.refdm) fmt::print("\n");
  if (d.ra_deg && d.dec_deg)
    fmt::print("  points at   {:.6f} {:+.6f} degrees (J2000)\n", *d.ra_deg, *d.dec_deg);
  print_origin({{"telescope", d.telescope}, {"machine", d.machine}, {"source", d.source}});
  for (const formats::DataSegment& segment : reader.segments())
    if (reader.segments().size() > 1)
      fmt::print("  segment     {} from {}, {} UTC\n", core::counted(segment.samples, "sample"),
                 segment.first_sample, core::to_iso(segment.start));
}

// Remarks name fields of a search, whose options these are.
std::string of_search(std::string remark) {
  constexpr std::string_view kField = "`ifs`";
  for (std::size_t at; (at = remark.find(kField)) != std::string::npos;)
    remark.replace(at, kField.size(), "--ifs");
  return remark;
}

int inspect_filterbank(const Global& global, const std::string& path, bool strict) {
  const auto reader = formats::open_filterbank({path});
  for (const std::string& remark : reader->remarks()) spdlog::info("{}", of_search(remark));
  formats::Damage damage = reader->damage();
  if (reader->description().samples == 0)
    damage.note(said_name(path) + ": no samples behind its header");
  if (global.json)
    print_filterbank_json(path, *reader, damage);
  else
    print_filterbank(path, *reader);
  return damage_status(damage, 0, strict);
}

int inspect_mask(const Global& global, const std::string& path) {
  const formats::presto::Mask mask = formats::presto::read_mask(path);
  std::uint64_t masked = 0;
  for (const auto& channels : mask.interval_channels) masked += channels.size();
  const double fraction = static_cast<double>(masked) / static_cast<double>(mask.channels) /
                          static_cast<double>(mask.intervals);
  if (global.json) {
    print_json("tautline.inspect.mask", 1,
               {{"file", said_name(path)},
                {"channels", mask.channels},
                {"intervals", mask.intervals},
                {"interval_s", mask.interval_s},
                {"samples_per_interval", mask.samples_per_interval},
                {"low_channel_mhz", mask.low_channel_mhz},
                {"channel_width_mhz", mask.channel_width_mhz},
                {"zapped_channels", mask.zapped_channels},
                {"zapped_intervals", mask.zapped_intervals},
                {"masked_fraction", fraction}});
    return kDone;
  }
  fmt::print("{}: rfifind mask\n", said_name(path));
  fmt::print("  channels    {} of {:.6g} MHz from {:.6f} MHz, {} zapped\n", mask.channels,
             mask.channel_width_mhz, mask.low_channel_mhz, mask.zapped_channels.size());
  fmt::print("  intervals   {} of {} ({:.6g} s), {} zapped\n", mask.intervals,
             core::counted(mask.samples_per_interval, "sample"), mask.interval_s,
             mask.zapped_intervals.size());
  fmt::print("  masked      {:.2f} % of channels times intervals\n", 100 * fraction);
  return kDone;
}

// A search writes the heading of a list without a candidate, too.
int inspect_candidates(const Global& global, const std::string& path, bool strict) {
  const auto candidates = formats::candidates::read(path);
  formats::Damage damage;
  if (path.ends_with(".csv") && std::filesystem::file_size(path) == 0)
    damage.note(said_name(path) + ": 0 bytes, without the heading of a list of candidates");
  const auto best = std::max_element(candidates.begin(), candidates.end(),
                                     [](const auto& a, const auto& b) { return a.snr < b.snr; });
  if (global.json) {
    Json object{{"file", said_name(path)}, {"candidates", candidates.size()}, {"best", Json()}};
    if (best != candidates.end())
      object["best"] = {{"snr", best->snr},
                        {"dm", best->dm},
                        {"time_s", best->time_s},
                        {"width_samples", best->width_samples}};
    print_json("tautline.inspect.candidates", 1, std::move(object));
    return damage_status(damage, 0, strict);
  }
  fmt::print("{}: {}\n", said_name(path), core::counted(candidates.size(), "candidate"));
  if (best != candidates.end())
    fmt::print("  best        S/N {:.2f} at {:.6f} s, DM {:.6g}, {} wide\n", best->snr,
               best->time_s, best->dm, core::counted(best->width_samples, "sample"));
  return damage_status(damage, 0, strict);
}

int inspect_cutout(const Global& global, const std::string& path) {
  const formats::cutout_hdf5::CutoutFile c = formats::cutout_hdf5::read(path);
  if (global.json) {
    print_json("tautline.inspect.cutout", 1,
               {{"file", said_name(path)},
                {"id", c.id},
                {"source", c.source},
                {"cut_out_of", c.file},
                {"snr", c.snr},
                {"dm", c.dm},
                {"time_s", c.time_s},
                {"width_samples", c.width_samples},
                {"tsamp_s", c.tsamp_s},
                {"fch1_mhz", c.fch1_mhz},
                {"foff_mhz", c.foff_mhz},
                {"channels", c.channels},
                {"frequency_time", {c.times, c.rows}},
                {"dm_time", {c.dms, c.dm_times}}});
    return kDone;
  }
  fmt::print("{}: the cut-out of a candidate\n", said_name(path));
  fmt::print("  candidate   S/N {:.2f} at {:.6f} s, DM {:.6g}, {} wide\n", c.snr, c.time_s, c.dm,
             core::counted(c.width_samples, "sample"));
  fmt::print("  cut out of  {}  source {}\n", c.file, c.source);
  fmt::print("  band        {} from {:.6f} MHz in steps of {:.6g} MHz, {:.6g} s a sample\n",
             core::counted(c.channels, "channel"), c.fch1_mhz, c.foff_mhz, c.tsamp_s);
  fmt::print("  arrays      {} x {} of channels, {} x {}\n", core::counted(c.times, "time"),
             core::counted(c.rows, "row"), core::counted(c.dms, "DM"),
             core::counted(c.dm_times, "time"));
  return kDone;
}

bool is_cutout(const std::string& path) {
  return formats::seeming_kind(path) == "HDF5" && formats::cutout_hdf5::holds_cutout(path);
}

}  // namespace

int inspect_series_folder(const Global& global, const std::string& path, bool strict) {
  const auto reader = formats::open_filterbank({path});
  for (const std::string& remark : reader->remarks()) spdlog::info("{}", remark);
  const formats::FilterbankDescription& d = reader->description();
  const std::vector<double> dms = d.dms_with(core::kDispersionConstant);
  if (global.json) {
    print_json("tautline.inspect.series", 1,
               {{"file", said_name(path)},
                {"type", d.format},
                {"trials", dms.size()},
                {"samples", d.samples},
                {"tsamp_s", d.tsamp_s},
                {"dms", dms},
                {"f_ref_mhz", d.fch1_mhz},
                {"dm_constant", core::kDispersionConstant},
                {"start_utc", core::to_iso(d.start)},
                {"filled", Json()}});
    return damage_status(reader->damage(), 0, strict);
  }
  fmt::print("{}: dedispersed series, {}\n", said_name(path), d.format);
  fmt::print("  trials      {}, DM {:.10g} to {:.10g}\n", dms.size(), dms.front(), dms.back());
  fmt::print("  samples     {} of {:.6g} s\n", d.samples, d.tsamp_s);
  fmt::print("  start       {} UTC\n", core::to_iso(d.start));
  return damage_status(reader->damage(), 0, strict);
}

bool is_search_file(const std::string& path) {
  if (path.ends_with(".npy"))
    return false;  // series among them are inspected as the arrays that they are
  if (path.ends_with(".mask") || formats::candidates::recognise(path) || is_cutout(path))
    return true;
  return formats::recognise_filterbank(formats::InputFile(path).head(kFirstBytes), path);
}

int inspect_search(const Global& global, const std::string& path, bool strict) {
  if (path.ends_with(".mask")) return inspect_mask(global, path);
  if (formats::candidates::recognise(path)) return inspect_candidates(global, path, strict);
  if (is_cutout(path)) return inspect_cutout(global, path);
  return inspect_filterbank(global, path, strict);
}

}  // namespace tautline::cli
