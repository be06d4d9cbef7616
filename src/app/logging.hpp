#pragma once

#include <spdlog/logger.h>

#include <memory>
#include <string>

namespace wallheat {

/// The last line of a terminal, redrawn in place: the progress bar. Log lines clear it first.
class StatusLine {
 public:
  ~StatusLine() { clear(); }
  void show(const std::string& text);
  void clear();

 private:
  bool shown_ = false;
};

/// A logger to stderr whose lines carry time, rank and host. `line` may be null; it must outlive
/// the logger. Throws UsageError for an unknown level.
[[nodiscard]] std::shared_ptr<spdlog::logger> make_logger(const std::string& level, int rank,
                                                          const std::string& host,
                                                          StatusLine* line);

}  // namespace wallheat
