#pragma once

#include <fmt/core.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace wallheat {

enum class LogLevel { trace, debug, info, warning, error, critical, off };
/// Throws UsageError for a name that is none.
[[nodiscard]] LogLevel log_level(const std::string& name);

/// Sentences for people, of which those below a level are left out. This one says nothing.
class Log {
 public:
  explicit Log(LogLevel least = LogLevel::off) : least_(least) {}
  virtual ~Log() = default;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  template <class... Values>
  void log(LogLevel level, fmt::format_string<Values...> format, Values&&... values) {
    if (level >= least_) write(level, fmt::format(format, std::forward<Values>(values)...));
  }
  template <class... Values>
  void info(fmt::format_string<Values...> format, Values&&... values) {
    log(LogLevel::info, format, std::forward<Values>(values)...);
  }
  template <class... Values>
  void warn(fmt::format_string<Values...> format, Values&&... values) {
    log(LogLevel::warning, format, std::forward<Values>(values)...);
  }

  /// The progress bar: the last line of a terminal, redrawn in place. What is said clears it first,
  /// and so does an empty text.
  virtual void show_bar(const std::string& /*text*/) {}

 private:
  virtual void write(LogLevel /*level*/, const std::string& /*sentence*/) {}

  LogLevel least_;
};

/// How many characters of a bar fit: one that is longer than a line would scroll, so it is cut.
[[nodiscard]] std::size_t bar_room();

/// Says it on stderr, in order, in lines that carry time, rank and host; at a terminal only the
/// time, and the level of warnings and errors. Control characters are escaped. A thread of its own
/// prints, so that a terminal that is held (Ctrl-S, a pager) holds up nobody; what does not fit in
/// its memory of some thousand lines is lost, the oldest first.
class Console final : public Log {
 public:
  /// Throws UsageError for an unknown level.
  Console(const std::string& level, int rank, const std::string& host);
  /// Waits until all is printed.
  ~Console() override = default;

  /// A line as it is, without time and rank.
  void print(std::string line);
  void show_bar(const std::string& text) override;

 private:
  void write(LogLevel level, const std::string& sentence) override;
  void print_what_comes(const std::stop_token& stop);
  void draw(const std::string& bar);

  bool brief_;  // at a terminal
  std::string origin_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> lines_;   // to be printed
  std::optional<std::string> bar_;  // to be drawn below them
  bool drawn_ = false;              // a bar; the thread's alone
  std::jthread thread_;             // last: joined before anything it uses is gone
};

}  // namespace wallheat
