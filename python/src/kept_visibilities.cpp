// Visibilities that a run gave, or that a file holds, kept in memory.
#include "kept_visibilities.h"

#include "bindings.h"
#include "tautline/core/time.h"
#include "tautline/formats/visibility_reader.h"

namespace tautline::python {

void KeptVisibilities::add(const formats::Integration& one) {
  channels = one.visibilities.extent(0);
  baselines = one.visibilities.extent(1);
  middles.push_back(one.middle);
  integration_s.push_back(one.integration_s);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto* row = one.visibilities.row(c);
    data.insert(data.end(), row, row + baselines);
    const auto* of_row = one.counts.row(c);
    counts.insert(counts.end(), of_row, of_row + baselines);
  }
}

void KeptVisibilities::write(const std::string& path, bool overwrite) const {
  const auto writer = formats::create_visibilities(path, description, overwrite);
  const std::size_t each = channels * baselines;
  for (std::size_t t = 0; t < middles.size(); ++t)
    writer->write({middles[t],
                   integration_s[t],
                   {data.data() + t * each, {channels, baselines}},
                   {counts.data() + t * each, {channels, baselines}}});
  for (const auto& [key, value] : description.extra) writer->add_extra(key, value);
  writer->finish();
}

namespace {

// A numpy array of memory of `owner`, which is not to be written.
template <class T>
nb::object lent_array(const std::vector<T>& values, const std::vector<std::size_t>& shape,
                      nb::handle owner) {
  return nb::cast(
      nb::ndarray<nb::numpy, const T>(values.data(), shape.size(), shape.data(), owner));
}

nb::object read_visibilities(const std::string& path) {
  const auto kept = std::make_shared<KeptVisibilities>();
  {
    const Unlocked unlocked;
    const auto reader = formats::open_visibilities(path);
    kept->description = reader->description();
    for (std::size_t k = 0; k < reader->integrations(); ++k) kept->add(reader->read(k));
  }
  const formats::VisibilityDescription& d = kept->description;
  nb::dict facts;
  for (const auto& [key, value] : d.extra) facts[key.c_str()] = value;
  facts["telescope"] = d.telescope;
  facts["source"] = d.source;
  facts["history"] = d.history;
  return nb::make_tuple(kept, facts);
}

}  // namespace

void bind_visibilities(nb::module_& module) {
  using Kept = KeptVisibilities;
  nb::class_<Kept>(module, "KeptVisibilities")
      .def("data",
           [](nb::handle self) {
             const auto& kept = nb::cast<const Kept&>(self);
             return lent_array(kept.data, kept.shape(), self);
           })
      .def("counts",
           [](nb::handle self) {
             const auto& kept = nb::cast<const Kept&>(self);
             return lent_array(kept.counts, kept.shape(), self);
           })
      .def("frequencies", [](const Kept& k) { return as_array(k.description.channel_hz); })
      .def("integration_s", [](const Kept& k) { return as_array(k.integration_s); })
      .def("times",
           [](const Kept& k) {
             std::vector<double> dates;
             for (const auto& middle : k.middles) dates.push_back(core::julian_date(middle));
             return as_array(std::move(dates));
           })
      .def("channel_width_hz", [](const Kept& k) { return k.description.channel_width_hz; })
      .def("flagged_channels", [](const Kept& k) { return k.description.flagged_channels; })
      .def("nominal_count", [](const Kept& k) { return k.description.nominal_count; })
      .def("autos_only", [](const Kept& k) { return k.description.autos_only; })
      .def("inputs", [](const Kept& k) { return k.description.array.inputs.size(); })
      .def(
          "write",
          [](const Kept& kept, const std::string& path, bool overwrite) {
            const Unlocked unlocked;
            kept.write(path, overwrite);
          },
          nb::arg("path"), nb::arg("overwrite"));
  // Visibilities, and what the file says of them.
  module.def("read_visibilities", read_visibilities, nb::arg("path"));
}

}  // namespace tautline::python
