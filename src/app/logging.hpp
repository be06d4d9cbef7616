#pragma once

#include <spdlog/logger.h>

#include <cstddef>
#include <memory>
#include <string>

namespace wallheat {

/// The last line of a terminal, redrawn in place: the progress bar. Log lines clear it first. A
/// text that is longer than a line would scroll, so it is cut.
class StatusLine {
 public:
  ~StatusLine() { clear(); }
  void show(const std::string& text);
  /// How many characters fit.
  [[nodiscard]] static std::size_t room();
  void clear();

 private:
  bool shown_ = false;
};

/// A logger to stderr whose lines carry time, rank and host; on a narrow terminal only the time,
/// and the level of warnings and errors. Control characters are escaped. `line` may be null; it
/// must outlive the logger. Throws UsageError for an unknown level.
[[nodiscard]] std::shared_ptr<spdlog::logger> make_logger(const std::string& level, int rank,
                                                          const std::string& host,
                                                          StatusLine* line);

}  // namespace wallheat
