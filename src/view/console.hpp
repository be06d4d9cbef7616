#pragma once

#include <spdlog/fwd.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace wallheat {

/// The last line of a terminal, redrawn in place: the progress bar. Log lines clear it first. A
/// text that is longer than a line would scroll, so it is cut.
class StatusLine {
 public:
  /// Draws through `drawer`, a logger to the sink of the log's lines.
  explicit StatusLine(std::shared_ptr<spdlog::logger> drawer) : drawer_(std::move(drawer)) {}
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  void show(const std::string& text);
  /// How many characters fit.
  [[nodiscard]] static std::size_t room();
  void clear();

 private:
  std::shared_ptr<spdlog::logger> drawer_;
};

/// A logger to stderr whose lines carry time, rank and host; at a terminal only the time, and the
/// level of warnings and errors. Control characters are escaped. Throws UsageError for an
/// unknown level.
[[nodiscard]] std::shared_ptr<spdlog::logger> make_logger(const std::string& level, int rank,
                                                          const std::string& host);

/// What rank 0 shows on stderr: log lines, a status line, and single sentences, in order. A thread
/// of its own prints, so that a terminal that is held (Ctrl-S, a pager) holds up nobody; what does
/// not fit in its memory of some thousand lines is lost, the oldest first.
class Console {
 public:
  /// Throws UsageError for an unknown level.
  Console(const std::string& level, int rank, const std::string& host);
  /// Waits until all is printed.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  [[nodiscard]] const std::shared_ptr<spdlog::logger>& logger() const;
  [[nodiscard]] StatusLine& line();
  /// A line as it is, without time and rank.
  void print(const std::string& line);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wallheat
