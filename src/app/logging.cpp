#include "app/logging.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>

#include <cstdio>
#include <mutex>

#include "wallheat/error.hpp"

namespace wallheat {
namespace {

class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit StderrSink(StatusLine* line) : line_(line) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    if (line_ != nullptr) line_->clear();
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
  void flush_() override { std::fflush(stderr); }

 private:
  StatusLine* line_;
};

}  // namespace

void StatusLine::show(const std::string& text) {
  fmt::print(stderr, "\r\033[K{}", text);
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
  if (parsed == spdlog::level::off && level != "off") {
    throw UsageError(
        "--log-level must be trace, debug, info, warning, error, critical or off, not '" + level +
        "'");
  }
  auto logger = std::make_shared<spdlog::logger>("wallheat", std::make_shared<StderrSink>(line));
  logger->set_level(parsed);
  logger->flush_on(spdlog::level::trace);
  logger->set_pattern(fmt::format("%H:%M:%S.%e [rank {} {}] %l: %v", rank, host));
  return logger;
}

}  // namespace wallheat
