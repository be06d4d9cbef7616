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

/// Columns of the terminal behind a file descriptor: what the terminal says, else $COLUMNS. Nothing
/// if there is no terminal: what goes to a file or a pipe is not folded.
[[nodiscard]] std::optional<std::size_t> terminal_columns(int descriptor);

/// The same for stderr, which mpirun on this machine may hand on to its own: its ranks have pipes.
[[nodiscard]] std::optional<std::size_t> stderr_columns();

/// Columns that a text takes: its characters, not its bytes.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// Breaks each line of a text at blanks so that it fits the columns; what goes on in a further line
/// is indented. A word that is longer than a line is cut.
[[nodiscard]] std::string wrap_text(std::string_view text, std::size_t columns, std::size_t indent);

/// The same for the terminal behind a file descriptor; unchanged if there is none.
[[nodiscard]] std::string wrap_text_for(int descriptor, std::string_view text, std::size_t indent);

/// Prints a line to stdout, folded if that is a terminal, with control characters escaped.
void print_line(std::string_view line, std::size_t indent);

/// The lines of a table whose columns are as wide as what stands in them. `alignment` has an l or
/// an r for each column.
[[nodiscard]] std::vector<std::string> table_lines(
    std::string_view alignment, const std::vector<std::vector<std::string>>& rows);

using LogLevel = spdlog::level::level_enum;
/// Throws UsageError for a name that is none.
[[nodiscard]] LogLevel log_level(const std::string& name);

/// Sentences for people, of which those below a level are left out. Without sinks it says nothing.
class Log : public spdlog::logger {
 public:
  explicit Log(const std::vector<spdlog::sink_ptr>& sinks = {}, LogLevel least = LogLevel::off)
      : spdlog::logger("wallheat", sinks.begin(), sinks.end()) {
    set_level(least);
  }

  /// The progress bar: the last line of a terminal, redrawn in place. What is said clears it first,
  /// and so does an empty text.
  virtual void show_bar(const std::string& /*text*/) {}
};

/// How many characters of a bar fit: one that is longer than a line would scroll, so it is cut.
[[nodiscard]] std::size_t progress_bar_width();

/// Says it on stderr, in order, in lines that carry time, speaker and level; at a terminal only the
/// time, and the level of warnings and errors. Control characters are escaped. A thread of its own
/// prints, so that a terminal that is held (Ctrl-S, a pager) holds up nobody; what does not fit in
/// its memory of some thousand lines is lost, the oldest first.
class Console final : public Log {
 public:
  /// `speaker`: who says it; empty if there is only one. Throws UsageError for an unknown level.
  Console(const std::string& level, const std::string& speaker);
  /// Waits until all is printed.
  ~Console() override = default;

  /// A line as it is, without time and level.
  void print(std::string line);
  void show_bar(const std::string& text) override;

 private:
  void print_loop(const std::stop_token& stop);
  void draw(const std::string& bar);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> lines_;   // to be printed
  std::optional<std::string> bar_;  // to be drawn below them
  bool bar_visible_ = false;        // a bar; the thread's alone
  std::jthread thread_;             // last: joined before anything it uses is gone
};

}  // namespace wallheat
