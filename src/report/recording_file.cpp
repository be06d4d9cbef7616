#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/printable.hpp"
#include "report/recording.hpp"
#include "report/unknown.hpp"
#include "view/node_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string_view>;

constexpr std::string_view blanks = " \t\r";

/// What stands between the letters of `separators`, of which several together are one.
Words words_in(std::string_view line, std::string_view separators) {
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

/// What stands between commas, without the blanks around it; it may be empty.
Words cells_in(std::string_view line) {
  Words cells;
  for (bool more = true; more;) {
    const std::size_t comma = line.find(',');
    more = comma != std::string_view::npos;
    const Words words = words_in(line.substr(0, comma), blanks);
    cells.push_back(words.empty() ? std::string_view()
                                  : std::string_view(words.front().data(),
                                                     words.back().data() + words.back().size()));
    if (more) line.remove_prefix(comma + 1);
  }
  return cells;
}

std::optional<double> finite_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() ||
      !std::isfinite(number))
    return std::nullopt;
  return number;
}

/// Lines of one file, one after the other, into series.
class Reader {
 public:
  explicit Reader(const fs::path& file) : file_(file), stream_(file) {
    if (!stream_) throw RunError(file_.string() + " cannot be opened");
  }

  Recording read() {
    if (!next_line()) refuse_all("is empty");
    if (line_.starts_with("time,seconds,")) {
      read_own();
    } else if (line_.starts_with('#')) {
      read_dmon();
    } else if (cells_in(line_).size() == 4 && finite_number(cells_in(line_)[2])) {
      read_stats();
    } else {
      refuse_all(
          "is neither a CSV of 'wallheat monitor' nor a listing of 'nvidia-smi dmon' or "
          "'nvidia-smi stats'");
    }
    if (stream_.bad()) refuse_all("cannot be read to its end");
    for (const Series& series : recording_.series)
      if (!series.values.empty()) return std::move(recording_);
    refuse_all("holds no sample");
  }

 private:
  [[noreturn]] void refuse_all(const std::string& why) const {
    throw RunError(file_.string() + " " + why);
  }
  [[noreturn]] void refuse_line(const std::string& why) const {
    throw RunError(fmt::format("{}, line {}: {}", file_.string(), number_, why));
  }

  /// Those with nothing on them aside.
  bool next_line() {
    while (stream_.getline(text_.data(), static_cast<std::streamsize>(text_.size())) ||
           stream_.gcount() > 0) {
      ++number_;
      if (stream_.fail()) refuse_line("it is longer than any of a recording");
      line_.assign(text_.data(),
                   static_cast<std::size_t>(stream_.gcount()) - (stream_.eof() ? 0 : 1));
      if (!words_in(line_, blanks).empty()) return true;
    }
    return false;
  }

  [[nodiscard]] double number(std::string_view word) const {
    const auto value = finite_number(word);
    if (!value) refuse_line(fmt::format("'{}' is no number", printable(word)));
    return *value;
  }

  void require_width(std::size_t found, std::size_t wanted) const {
    if (found != wanted) refuse_line(fmt::format("{} values for {} columns", found, wanted));
  }

  Series& series(const std::string& name, std::string_view unit) {
    const auto [place, is_new] = places_.emplace(name, recording_.series.size());
    if (is_new) recording_.series.push_back({name, std::string(unit), {}, {}});
    return recording_.series[place->second];
  }

  void read_own() {
    std::vector<std::string> names;
    for (const std::string_view name : cells_in(line_)) names.emplace_back(name);
    for (std::size_t i = 2; i < names.size(); ++i) (void)series(names[i], unit_of_column(names[i]));
    if (recording_.series.size() + 2 != names.size()) refuse_line("a column is there twice");
    while (next_line()) {
      const Words cells = cells_in(line_);
      require_width(cells.size(), names.size());
      const double seconds = number(cells[1]);
      for (std::size_t i = 2; i < cells.size(); ++i) {
        Series& of = recording_.series[i - 2];
        of.seconds.push_back(seconds);
        of.values.push_back(cells[i].empty() ? unknown : number(cells[i]));
      }
    }
  }

  /// A row a GPU, once a second unless somebody chose otherwise, under two lines with names and
  /// units, which are there again and again.
  void read_dmon() {
    recording_.has_times = false;
    std::vector<std::string> names;
    std::vector<std::string> units;
    bool in_heading = false;
    do {
      std::string_view line = line_;
      const bool heading = line.starts_with('#');
      if (heading) line.remove_prefix(1);
      const Words words = words_in(line, " \t\r,");
      if (heading) {
        std::vector<std::string>& target = in_heading ? units : names;
        target.assign(words.begin(), words.end());
        in_heading = !in_heading;
        continue;
      }
      const auto gpu = std::find(names.begin(), names.end(), "gpu");
      if (gpu == names.end() || in_heading || units.size() != names.size())
        refuse_line("there is no heading of 'nvidia-smi dmon' above, with names and units");
      require_width(words.size(), names.size());
      add_dmon_row(names, units, words, static_cast<std::size_t>(gpu - names.begin()));
    } while (next_line());
  }

  void add_dmon_row(const std::vector<std::string>& names, const std::vector<std::string>& units,
                    const Words& words, std::size_t gpu) {
    (void)number(words[gpu]);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i == gpu || names[i] == "Date" || names[i] == "Time") continue;
      Series& of = series(fmt::format("gpu{}_{}", words[gpu], names[i]), units[i]);
      of.seconds.push_back(static_cast<double>(of.values.size()));
      of.values.push_back(words[i] == "-" ? unknown : number(words[i]));
    }
  }

  /// GPU, name, time in µs, value.
  void read_stats() {
    std::optional<double> start_us;
    do {
      const Words cells = cells_in(line_);
      require_width(cells.size(), 4);
      (void)number(cells[0]);
      const double time_us = number(cells[2]);
      const double since_us = time_us - start_us.value_or(time_us);
      if (!start_us) start_us = time_us;
      Series& of = series(fmt::format("gpu{}_{}", cells[0], cells[1]), unit_of_column(cells[1]));
      of.seconds.push_back(since_us * 1e-6);
      of.values.push_back(number(cells[3]));
    } while (next_line());
  }

  fs::path file_;
  std::ifstream stream_;
  std::vector<char> text_ =
      std::vector<char>(std::size_t{1} << 20);  ///< a device has endless lines
  std::string line_;
  std::size_t number_ = 0;
  Recording recording_;
  std::map<std::string, std::size_t> places_;  // of series, by name
};

}  // namespace

Recording read_recording(const fs::path& file) { return Reader(file).read(); }

}  // namespace wallheat
