#include "view/console.hpp"

#include <fmt/chrono.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <vector>

#include "core/printable.hpp"
#include "view/spelling.hpp"
#include "view/terminal.hpp"

namespace wallheat {
namespace {

constexpr std::array level_names{"trace", "debug", "info", "warning", "error", "critical", "off"};

void put(std::string_view text) { (void)std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace

LogLevel log_level(const std::string& name) {
  for (std::size_t level = 0; level < level_names.size(); ++level)
    if (name == level_names.at(level)) return static_cast<LogLevel>(level);
  refuse_value("log-level", name, {level_names.begin(), level_names.end()});
}

std::size_t bar_room() {
  constexpr std::size_t usual = 80;
  return stderr_columns().value_or(usual) - 1;  // in the last column some terminals wrap
}

Console::Console(const std::string& level, int rank, const std::string& host)
    : Log(log_level(level)),
      brief_(stderr_columns().has_value()),
      origin_(fmt::format("[rank {} {}]", rank, host)),
      thread_([this](const std::stop_token& stop) { print_what_comes(stop); }) {}

void Console::write(LogLevel level, const std::string& sentence) {
  using namespace std::chrono;
  const auto now = system_clock::now();
  const std::string time = fmt::format("{:%H:%M:%S}", fmt::localtime(system_clock::to_time_t(now)));
  const auto ms = duration_cast<milliseconds>(now.time_since_epoch()).count() % 1000;
  const char* name = level_names.at(static_cast<std::size_t>(level));
  const std::string said = printable(sentence);
  if (!brief_) return print(fmt::format("{}.{:03} {} {}: {}", time, ms, origin_, name, said));
  const std::string warning = level > LogLevel::info ? fmt::format("{}: ", name) : "";
  print(folded_for(STDERR_FILENO, fmt::format("{} {}{}", time, warning, said), time.size() + 1));
}

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
