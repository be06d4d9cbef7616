#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "core/gpu_stats.hpp"
#include "report/report.hpp"

namespace wallheat {

/// A reading of a node over time, as gpu0_pwr.
struct Series {
  std::string unit;  ///< as unit_of_column
  /// Over the seconds since the first sample; in a list without times over 0, 1, 2, ...
  Figure::Series curve;
};

/// What a node did.
struct Recording {
  std::vector<Series> series;
  bool has_times = true;
};

/// Reads what `wallheat monitor --csv` wrote, or a listing of `nvidia-smi dmon` or `nvidia-smi
/// stats`. Throws RunError, which names the file and the line: another file, a damaged row, no
/// sample.
[[nodiscard]] Recording read_recording(const std::filesystem::path& file);

/// A series in three numbers.
struct SeriesSummary {
  std::string name;
  std::string unit;
  std::size_t samples = 0;  ///< known ones
  std::size_t zeros = 0;    ///< of these
  SampleStats values;

  void add(double value);
};
[[nodiscard]] std::vector<SeriesSummary> summary_of(const Recording& recording);
/// A row a series. People see those that were known once, without single cpus.
[[nodiscard]] Report make_report(std::vector<SeriesSummary> summaries);

/// One over time for each unit; single cpus, energies and what was never known are left out.
[[nodiscard]] std::vector<Figure> figures_of(const Recording& recording);

}  // namespace wallheat
