#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "core/gpu_stats.hpp"
#include "report/report.hpp"

namespace wallheat {

/// A reading of a node over time, such as gpu0_pwr.
struct Series {
  std::string unit;  ///< see unit_of_column()
  /// The values over the seconds since the first sample; over 0, 1, 2, ... in a listing without
  /// times.
  Figure::Series curve;
};

/// Readings of a node over time.
struct Recording {
  std::vector<Series> series;
  bool has_times = true;
};

/// Reads the output of `wallheat monitor --csv`, `nvidia-smi dmon` or `nvidia-smi stats`. Throws
/// RunError, with a message that names the file and the line, if it is another file, if a row is
/// damaged, or if there is no sample.
[[nodiscard]] Recording read_recording(const std::filesystem::path& file);

/// Statistics of a series.
struct SeriesSummary {
  std::string name;
  std::string unit;
  std::size_t samples = 0;  ///< number of known values
  std::size_t zeros = 0;    ///< number of zeros among them
  SampleStats values;

  void add(double value);
};
[[nodiscard]] std::vector<SeriesSummary> summary_of(const Recording& recording);
/// Returns a table with one row per series. Text output contains the series with at least one known
/// value, without single CPUs.
[[nodiscard]] Report make_report(std::vector<SeriesSummary> summaries);

/// Returns a figure over time for each unit, without single CPUs, energies, and series without
/// known values.
[[nodiscard]] std::vector<Figure> figures_of(const Recording& recording);

}  // namespace wallheat
