#include "view/console.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "core/printable.hpp"
#include "view/spelling.hpp"
#include "view/terminal.hpp"

namespace wallheat {
namespace {

void put(std::string_view text) { (void)std::fwrite(text.data(), 1, text.size(), stderr); }

/// Makes lines of messages and gives them to be printed.
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
    std::string text = printable({message.payload.data(), message.payload.size()});
    if (brief_ && message.level > LogLevel::info) {
      const auto level = spdlog::level::to_string_view(message.level);
      text = fmt::format("{}: {}", std::string_view(level.data(), level.size()), text);
    }
    spdlog::details::log_msg shown = message;
    shown.payload = text;
    spdlog::memory_buf_t line;
    formatter_->format(shown, line);
    constexpr std::size_t time_columns = 9;
    print_(folded_for(STDERR_FILENO, {line.data(), line.size()}, time_columns));
  }
  void flush_() override {}

 private:
  bool brief_;  // at a terminal
  std::function<void(std::string)> print_;
};

}  // namespace

LogLevel log_level(const std::string& name) {
  const auto level = spdlog::level::from_str(name);
  if (level == LogLevel::off && name != "off")
    refuse_value("log-level", name,
                 {"trace", "debug", "info", "warning", "error", "critical", "off"});
  return level;
}

std::size_t bar_room() {
  constexpr std::size_t default_columns = 80;
  return stderr_columns().value_or(default_columns) - 1;  // in the last column some terminals wrap
}

Console::Console(const std::string& level, const std::string& speaker)
    : Log({std::make_shared<Lines>(speaker, [this](std::string line) { print(std::move(line)); })},
          log_level(level)),
      thread_([this](const std::stop_token& stop) { print_what_comes(stop); }) {}

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

void Console::print_what_comes(const std::stop_token& stop) {
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

/// Instead of the bar that is there; an empty text only removes it.
void Console::draw(const std::string& bar) {
  if (!drawn_ && bar.empty()) return;
  put("\r\033[K");
  put(std::string_view(bar).substr(0, bar_room()));
  drawn_ = !bar.empty();
}

}  // namespace wallheat
