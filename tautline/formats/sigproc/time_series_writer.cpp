#include "tautline/formats/sigproc/time_series_writer.h"

namespace tautline::formats::sigproc {

TimeSeriesWriter::TimeSeriesWriter(const std::string& path, const Header& header, bool overwrite)
    : file_(path, overwrite) {
  Header series = header;
  series.data_type = kTimeSeries;
  series.nchans = series.nifs = 1;
  series.nbits = 32;
  series.is_signed = false;
  if (!series.refdm) series.refdm = 0;
  file_.write(format_header(series));
}

void TimeSeriesWriter::write(std::span<const float> samples) {
  file_.write(std::as_bytes(samples));
  samples_ += samples.size();
}

}  // namespace tautline::formats::sigproc
