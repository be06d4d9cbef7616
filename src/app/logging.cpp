#include "app/logging.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <string_view>

#include "app/spelling.hpp"
#include "app/terminal.hpp"
#include "core/printable.hpp"

namespace wallheat {
namespace {

/// Below this the rank and the host leave too little of a line.
constexpr std::size_t narrow_columns = 100;

class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  StderrSink(StatusLine* line, bool narrow) : line_(line), narrow_(narrow) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    std::string said = printable({message.payload.data(), message.payload.size()});
    if (narrow_ && message.level > spdlog::level::info) {
      const auto level = spdlog::level::to_string_view(message.level);
      said = fmt::format("{}: {}", std::string_view(level.data(), level.size()), said);
    }
    spdlog::details::log_msg shown = message;
    shown.payload = said;
    spdlog::memory_buf_t text;
    formatter_->format(shown, text);
    constexpr std::size_t time_columns = 9;
    const std::string lines = folded_for(STDERR_FILENO, {text.data(), text.size()}, time_columns);
    if (line_ != nullptr) line_->clear();
    std::fwrite(lines.data(), 1, lines.size(), stderr);
  }
  void flush_() override { std::fflush(stderr); }

 private:
  StatusLine* line_;
  bool narrow_;
};

}  // namespace

std::size_t StatusLine::room() {
  constexpr std::size_t usual = 80;
  return terminal_columns(STDERR_FILENO).value_or(usual) -
         1;  // in the last column some terminals wrap
}

void StatusLine::show(const std::string& text) {
  fmt::print(stderr, "\r\033[K{}", text.substr(0, room()));
  std::fflush(stderr);
  shown_ = true;
}

void StatusLine::clear() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

std::shared_ptr<spdlog::logger> make_logger(const std::string& level, int rank,
                                            const std::string& host, StatusLine* line) {
  const auto parsed = spdlog::level::from_str(level);
  if (parsed == spdlog::level::off && level != "off")
    refuse_value("log-level", level,
                 {"trace", "debug", "info", "warning", "error", "critical", "off"});
  const bool narrow = terminal_columns(STDERR_FILENO).value_or(narrow_columns) < narrow_columns;
  auto logger =
      std::make_shared<spdlog::logger>("wallheat", std::make_shared<StderrSink>(line, narrow));
  logger->set_level(parsed);
  logger->flush_on(spdlog::level::trace);
  logger->set_pattern(narrow ? "%H:%M:%S %v"
                             : fmt::format("%H:%M:%S.%e [rank {} {}] %l: %v", rank, host));
  return logger;
}

}  // namespace wallheat
