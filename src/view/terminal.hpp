#pragma once

#include <spdlog/logger.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace wallheat {

/// Returns the width in columns of the terminal behind a file descriptor: what the terminal
/// reports, otherwise $COLUMNS. Returns nullopt if the descriptor is not a terminal, because output
/// to a file or a pipe is not wrapped, or if its width is unknown.
[[nodiscard]] std::optional<std::size_t> terminal_columns(int descriptor);

/// Returns the width of the terminal behind stderr. The ranks of mpirun write to pipes, which
/// mpirun on the same machine may forward to its own stderr: then returns the width of that
/// terminal. Returns nullopt if there is none.
[[nodiscard]] std::optional<std::size_t> stderr_columns();

/// Returns the number of columns that a text occupies, which depends on its characters, not on its
/// bytes.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// Wraps each line of a text at blanks, so that it fits into the columns. Continuation lines are
/// indented. Splits words that are longer than a line. Wraps at no less than 20 columns.
[[nodiscard]] std::string wrap_text(std::string_view text, std::size_t columns, std::size_t indent);

/// Wraps a text for the terminal behind a file descriptor. Returns it unchanged if there is no
/// terminal.
[[nodiscard]] std::string wrap_text_for(int descriptor, std::string_view text, std::size_t indent);

/// Prints a line to stdout, with control characters escaped, and wrapped if stdout is a terminal.
void print_line(std::string_view line, std::size_t indent);

/// Formats a table whose columns are as wide as their widest cells. `alignment` has one character
/// per column: l or r.
[[nodiscard]] std::vector<std::string> table_lines(
    std::string_view alignment, const std::vector<std::vector<std::string>>& rows);

using LogLevel = spdlog::level::level_enum;
/// Parses the name of a log level. Throws UsageError if it is unknown.
[[nodiscard]] LogLevel log_level(const std::string& name);

/// Log for the user. Drops messages below a level, and all messages if it has no sinks.
class Log : public spdlog::logger {
 public:
  explicit Log(const std::vector<spdlog::sink_ptr>& sinks = {}, LogLevel least = LogLevel::off)
      : spdlog::logger("wallheat", sinks.begin(), sinks.end()) {
    set_level(least);
  }

  /// Shows a progress bar in the last line of a terminal, which is redrawn in place. A message, or
  /// a call with an empty text, removes the bar.
  virtual void show_bar(const std::string& /*text*/) {}
};

/// Display of the progress: a bar that is redrawn, log lines from time to time, or nothing.
enum class ProgressStyle { bar, lines, none };

/// Returns the maximum length of a progress bar. A longer bar is cut, because it would wrap and
/// scroll the terminal.
[[nodiscard]] std::size_t progress_bar_width();

/// Logs to stderr in order, with time, speaker and level; to a terminal only with the time and, for
/// warnings and errors, the level. Escapes control characters. Prints in a background thread, so
/// that a paused terminal (Ctrl-S, a pager) cannot block the run. Buffers up to 8192 lines, and
/// then drops the oldest. Thread-safe.
class Console final : public Log {
 public:
  /// `speaker` names the writing process in each line; empty if there is only one. Throws
  /// UsageError for an unknown level.
  Console(const std::string& level, const std::string& speaker);
  /// Waits until all lines are printed.
  ~Console() override = default;

  /// Prints a line unchanged, without time and level.
  void print(std::string line);
  void show_bar(const std::string& text) override;

 private:
  void print_loop(const std::stop_token& stop);
  void draw(const std::string& bar);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> lines_;   // not printed yet
  std::optional<std::string> bar_;  // drawn after these lines
  bool bar_visible_ = false;        // whether a bar is shown; used by the thread only
  std::jthread thread_;  // last member, so that it is joined before the others are destroyed
};

}  // namespace wallheat
