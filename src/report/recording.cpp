#include "report/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/text.hpp"
#include "forecast/listing_line.hpp"
#include "io/files.hpp"
#include "report/node_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

namespace {

/// Returns true for readings that accumulate from the start: their mean is meaningless, and their
/// maximum is the sum.
bool is_cumulative(const std::string& unit) { return unit == "J"; }

/// A figure of all readings with one unit.
struct Panel {
  const char* unit;
  const char* key;
  const char* label;
};
constexpr std::array panels{Panel{"%", "busy", "busy, %"}, Panel{"W", "power", "power, W"},
                            Panel{"C", "temperature", "temperature, °C"},
                            Panel{"MHz", "clock", "clock, MHz"},
                            Panel{"MiB", "memory", "memory in use, MiB"}};

bool is_drawn(const Series& series) {
  const std::string& name = series.curve.name;
  if (is_single_cpu(name)) return false;
  const bool codec = name.ends_with("_enc") || name.ends_with("_dec");
  return std::ranges::any_of(series.curve.y, [&](double value) {
    // An idle video codec is not of interest.
    return !std::isnan(value) && (value != 0 || !codec);
  });
}

}  // namespace

void SeriesSummary::add(double value) {
  if (std::isnan(value)) return;
  ++samples;
  zeros += value == 0 ? 1 : 0;
  values.add(value);
}

std::vector<SeriesSummary> summary_of(const Recording& recording) {
  std::vector<SeriesSummary> summaries;
  for (const Series& series : recording.series) {
    SeriesSummary& summary = summaries.emplace_back();
    summary.name = series.curve.name;
    summary.unit = series.unit;
    for (const double value : series.curve.y) summary.add(value);
  }
  return summaries;
}

Report make_report(std::vector<SeriesSummary> summaries) {
  const auto hidden = std::ranges::stable_partition(summaries, [](const SeriesSummary& summary) {
    return summary.samples > 0 && !is_single_cpu(summary.name);
  });
  Report report;
  const ValueStyle decimal{ValueFormat::decimals, 1};
  Table& table = report.add(Table{"summary",
                                  "",
                                  {{"name", "reading"},
                                   {"unit", "unit"},
                                   {"samples", "samples"},
                                   {"mean", "mean", decimal},
                                   {"largest", "largest", decimal},
                                   {"zeros", "zeros"}}});
  table.max_text_rows = summaries.size() - hidden.size();
  for (const SeriesSummary& summary : summaries)
    table.rows.push_back({summary.name, summary.unit, summary.samples,
                          is_cumulative(summary.unit) ? nan_value : summary.values.mean(),
                          summary.values.max(), summary.zeros});
  return report;
}

std::vector<Figure> figures_of(const Recording& recording) {
  double end = 0;
  for (const Series& series : recording.series)
    if (!series.curve.x.empty()) end = std::max(end, series.curve.x.back());
  std::vector<Figure> figures;
  for (const auto& [unit, key, label] : panels) {
    Figure figure{key, label};
    figure.x = {.name = recording.has_times ? "s" : "sample", .from = 0, .to = end > 0 ? end : 1};
    figure.y.from = 0;
    if (unit == std::string_view("%")) figure.y.to = 100;
    for (const Series& series : recording.series)
      if (series.unit == unit && is_drawn(series)) figure.series.push_back(series.curve);
    if (!figure.series.empty()) figures.push_back(std::move(figure));
  }
  return figures;
}

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string_view>;

/// Splits a line at blanks and commas.
Words words_in(std::string_view line) {
  constexpr std::string_view separators = " \t\r,";
  Words words;
  for (;;) {
    const std::size_t begin = line.find_first_not_of(separators);
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(separators), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::optional<double> finite_number(std::string_view text) {
  const auto number = parse_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

/// Reads the lines of a file into series.
class Reader {
 public:
  explicit Reader(const fs::path& file)
      : file_(file.string()), text_(read_text_file(file_)), lines_(file_, text_) {}

  Recording read() {
    if (!next_line()) refuse_all("is empty");
    if (line_.starts_with("time,seconds,")) {
      read_own();
    } else if (line_.starts_with('#')) {
      read_dmon();
    } else if (const Words words = words_in(line_); words.size() == 4 && finite_number(words[2])) {
      read_stats();
    } else {
      refuse_all(
          "is neither a CSV of 'wallheat monitor' nor a listing of 'nvidia-smi dmon' or "
          "'nvidia-smi stats'");
    }
    for (const Series& series : recording_.series)
      if (!series.curve.y.empty()) return std::move(recording_);
    refuse_all("contains no sample");
  }

 private:
  [[noreturn]] void refuse_all(const std::string& why) const { throw RunError(file_ + " " + why); }

  /// Reads the next line that is not empty. Returns false at the end of the file.
  bool next_line() {
    while (lines_.next(line_))
      if (!words_in(line_).empty()) return true;
    return false;
  }

  [[nodiscard]] double number(std::string_view word) const {
    const auto value = finite_number(word);
    if (!value)
      lines_.throw_at_line(fmt::format("'{}' is not a number", escape_control_chars(word)));
    return *value;
  }

  void require_width(std::size_t found, std::size_t wanted) const {
    if (found != wanted)
      lines_.throw_at_line(fmt::format("{} values for {} columns", found, wanted));
  }

  Figure::Series& curve(const std::string& name, std::string_view unit) {
    const auto [entry, is_new] = indices_.emplace(name, recording_.series.size());
    if (is_new)
      recording_.series.push_back({std::string(unit), {.name = name, .mark = Figure::Mark::line}});
    return recording_.series[entry->second].curve;
  }

  void read_own() {
    const Words names = split(line_, ',');
    for (std::size_t i = 2; i < names.size(); ++i)
      (void)curve(std::string(names[i]), unit_of_column(names[i]));
    if (recording_.series.size() + 2 != names.size()) lines_.throw_at_line("duplicate column");
    while (next_line()) {
      const Words cells = split(line_, ',');
      require_width(cells.size(), names.size());
      const double seconds = number(cells[1]);
      for (std::size_t i = 2; i < cells.size(); ++i)
        recording_.series[i - 2].curve.add(seconds,
                                           cells[i].empty() ? nan_value : number(cells[i]));
    }
  }

  /// Reads a listing of 'nvidia-smi dmon': one row per GPU and sample, by default once per second.
  /// Two heading lines with names and units are repeated from time to time.
  void read_dmon() {
    recording_.has_times = false;
    Words names;
    Words units;
    bool in_heading = false;
    do {
      std::string_view line = line_;
      const bool heading = line.starts_with('#');
      if (heading) line.remove_prefix(1);
      Words words = words_in(line);
      if (heading) {
        (in_heading ? units : names) = std::move(words);
        in_heading = !in_heading;
        continue;
      }
      const auto gpu = std::find(names.begin(), names.end(), "gpu");
      if (gpu == names.end() || in_heading || units.size() != names.size())
        lines_.throw_at_line("missing heading of 'nvidia-smi dmon' with names and units");
      require_width(words.size(), names.size());
      add_dmon_row(names, units, words, static_cast<std::size_t>(gpu - names.begin()));
    } while (next_line());
  }

  void add_dmon_row(const Words& names, const Words& units, const Words& words, std::size_t gpu) {
    (void)number(words[gpu]);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i == gpu || names[i] == "Date" || names[i] == "Time") continue;
      Figure::Series& of = curve(fmt::format("gpu{}_{}", words[gpu], names[i]), units[i]);
      of.add(static_cast<double>(of.y.size()), words[i] == "-" ? nan_value : number(words[i]));
    }
  }

  /// Reads a listing of 'nvidia-smi stats': GPU, name, time in µs, value.
  void read_stats() {
    std::optional<double> start_us;
    do {
      const Words words = words_in(line_);
      require_width(words.size(), 4);
      (void)number(words[0]);
      const double time_us = number(words[2]);
      if (!start_us) start_us = time_us;
      curve(fmt::format("gpu{}_{}", words[0], words[1]), unit_of_column(words[1]))
          .add((time_us - *start_us) * 1e-6, number(words[3]));
    } while (next_line());
  }

  std::string file_;
  std::string text_;
  ListingLines lines_;
  std::string_view line_;
  Recording recording_;
  std::map<std::string, std::size_t> indices_;  // indices of series, by name
};

}  // namespace

Recording read_recording(const fs::path& file) { return Reader(file).read(); }

}  // namespace wallheat
