#include "view/terminal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "core/input_file.hpp"
#include "core/printable_ascii.hpp"
#include "core/text.hpp"
#include "view/spelling.hpp"

namespace wallheat {

namespace {

/// Returns how many bytes of the text fit into the columns.
std::size_t bytes_of(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const std::string_view character = first_character(text.substr(bytes));
    const std::size_t taken = display_width(character);
    if (taken > columns) break;
    columns -= taken;
    bytes += character.size();
  }
  return bytes;
}

/// Returns where to break a line that is too long: at the last blank after its indentation,
/// otherwise where the line is full.
std::size_t break_in(std::string_view line, std::size_t columns) {
  const std::size_t full = bytes_of(line, columns);
  const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t blank = line.find_last_of(' ', full);
  return blank == std::string_view::npos || blank < start ? full : blank;
}

}  // namespace

std::optional<std::size_t> terminal_columns(int descriptor) {
  if (::isatty(descriptor) == 0) return std::nullopt;
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* variable = std::getenv("COLUMNS");
  const long columns = variable == nullptr ? 0 : std::strtol(variable, nullptr, 10);
  if (columns > 0) return static_cast<std::size_t>(columns);
  return std::nullopt;
}

std::optional<std::size_t> stderr_columns() {
  if (const auto own = terminal_columns(STDERR_FILENO)) return own;
  const std::string parent = fmt::format("/proc/{}/", ::getppid());
  std::string name;
  std::getline(std::ifstream(parent + "comm"), name);
  constexpr std::string_view launchers[] = {"mpirun", "mpiexec", "orterun", "prterun"};
  if (std::find(std::begin(launchers), std::end(launchers), name) == std::end(launchers))
    return std::nullopt;
  const FileDescriptor its_stderr(
      ::open((parent + "fd/2").c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  return its_stderr.get() < 0 ? std::nullopt : terminal_columns(its_stderr.get());
}

std::size_t display_width(std::string_view text) {
  if (is_printable_ascii(text)) return text.size();
  // {fmt} pads to a width in columns, of which a wide character takes two.
  const std::size_t most = 2 * text.size();
  return text.size() + most - fmt::formatted_size("{:{}}", text, most);
}

std::string wrap_text(std::string_view text, std::size_t columns, std::size_t indent) {
  constexpr std::size_t least = 20;  // a narrower text is not readable
  columns = std::max(columns, least);
  indent = std::min(indent, columns / 2);
  std::string result;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    while (display_width(line) > columns) {
      const std::size_t at = break_in(line, columns);
      result += line.substr(0, line.find_last_not_of(' ', at == 0 ? 0 : at - 1) + 1) + '\n';
      const std::size_t rest = std::min(line.find_first_not_of(' ', at), line.size());
      line = std::string(indent, ' ') + line.substr(rest);
    }
    result += line;
    if (end == text.size()) return result;
    result += '\n';
    text.remove_prefix(end + 1);
  }
}

std::string wrap_text_for(int descriptor, std::string_view text, std::size_t indent) {
  const auto columns = terminal_columns(descriptor);
  return columns ? wrap_text(text, *columns, indent) : std::string(text);
}

void print_line(std::string_view line, std::size_t indent) {
  fmt::print("{}\n", wrap_text_for(STDOUT_FILENO, escape_control_chars(line), indent));
}

std::vector<std::string> table_lines(std::string_view alignment,
                                     const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(alignment.size());
  for (const auto& row : rows)
    for (std::size_t column = 0; column < row.size(); ++column)
      widths.at(column) = std::max(widths.at(column), display_width(row[column]));
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string& line = lines.emplace_back();
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string padding(widths[column] - display_width(row[column]), ' ');
      if (column > 0) line += "  ";
      line += alignment[column] == 'r' ? padding + row[column] : row[column] + padding;
    }
    line.resize(line.find_last_not_of(' ') + 1);
  }
  return lines;
}

namespace {

void put(std::string_view text) { (void)std::fwrite(text.data(), 1, text.size(), stderr); }

/// Sink that formats messages as lines and passes them to `print`.
class Lines final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  Lines(const std::string& speaker, std::function<void(std::string)> print)
      : brief_(stderr_columns().has_value()), print_(std::move(print)) {
    const std::string who = speaker.empty() ? "" : fmt::format("[{}] ", speaker);
    const std::string pattern = brief_ ? "%H:%M:%S %v" : "%H:%M:%S.%e " + who + "%l: %v";
    set_formatter_(
        std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::local, ""));
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    std::string text = escape_control_chars({message.payload.data(), message.payload.size()});
    if (brief_ && message.level > LogLevel::info) {
      const auto level = spdlog::level::to_string_view(message.level);
      text = fmt::format("{}: {}", std::string_view(level.data(), level.size()), text);
    }
    spdlog::details::log_msg shown = message;
    shown.payload = text;
    spdlog::memory_buf_t line;
    formatter_->format(shown, line);
    constexpr std::size_t time_columns = 9;
    print_(wrap_text_for(STDERR_FILENO, {line.data(), line.size()}, time_columns));
  }
  void flush_() override {}

 private:
  bool brief_;  // true if stderr is a terminal
  std::function<void(std::string)> print_;
};

}  // namespace

LogLevel log_level(const std::string& name) {
  const auto level = spdlog::level::from_str(name);
  if (level == LogLevel::off && name != "off")
    throw_invalid_value("log-level", name,
                        {"trace", "debug", "info", "warning", "error", "critical", "off"});
  return level;
}

std::size_t progress_bar_width() {
  constexpr std::size_t default_columns = 80;
  // Some terminals wrap after a character in the last column.
  return stderr_columns().value_or(default_columns) - 1;
}

Console::Console(const std::string& level, const std::string& speaker)
    : Log({std::make_shared<Lines>(speaker, [this](std::string line) { print(std::move(line)); })},
          log_level(level)),
      thread_([this](const std::stop_token& stop) { print_loop(stop); }) {}

void Console::print(std::string line) {
  constexpr std::size_t most = 8192;
  {
    const std::scoped_lock lock(mutex_);
    if (lines_.size() == most) lines_.pop_front();
    lines_.push_back(std::move(line));
    bar_.reset();
  }
  changed_.notify_one();
}

void Console::show_bar(const std::string& text) {
  {
    const std::scoped_lock lock(mutex_);
    bar_ = text;
  }
  changed_.notify_one();
}

void Console::print_loop(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !lines_.empty() || bar_; })) {
    const auto lines = std::exchange(lines_, {});
    const auto bar = std::exchange(bar_, std::nullopt);
    lock.unlock();
    for (const std::string& line : lines) {
      draw("");
      put(line + "\n");
    }
    if (bar) draw(*bar);
    lock.lock();
  }
  draw("");
}

/// Replaces the visible bar. An empty text removes it.
void Console::draw(const std::string& bar) {
  if (!bar_visible_ && bar.empty()) return;
  put("\r\033[K");
  put(std::string_view(bar).substr(0, progress_bar_width()));
  bar_visible_ = !bar.empty();
}

}  // namespace wallheat
