#include "view/console.hpp"

#include <spdlog/async.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <mutex>
#include <string_view>

#include "core/printable.hpp"
#include "view/spelling.hpp"
#include "view/terminal.hpp"

namespace wallheat {
namespace {

// The names of the loggers tell the sink what their messages are.
constexpr const char* log_name = "wallheat";
constexpr const char* status_line_name = "status line";
constexpr const char* plain_line_name = "plain line";

class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  StderrSink(int rank, const std::string& host) : brief_(stderr_columns().has_value()) {
    set_pattern_(brief_ ? "%H:%M:%S %v"
                        : fmt::format("%H:%M:%S.%e [rank {} {}] %l: %v", rank, host));
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string_view name(message.logger_name.data(), message.logger_name.size());
    const std::string_view payload(message.payload.data(), message.payload.size());
    if (name == status_line_name) {
      draw(payload);
    } else {
      draw("");
      write(name == plain_line_name ? std::string(payload) + "\n" : log_line(message));
    }
    flush_();
  }
  void flush_() override { (void)std::fflush(stderr); }

 private:
  static void write(std::string_view text) {
    (void)std::fwrite(text.data(), 1, text.size(), stderr);
  }

  /// Instead of the status line that is there; an empty text only removes it.
  void draw(std::string_view text) {
    if (!drawn_ && text.empty()) return;
    write("\r\033[K");
    write(text.substr(0, StatusLine::room()));
    drawn_ = !text.empty();
  }

  std::string log_line(const spdlog::details::log_msg& message) {
    std::string said = printable({message.payload.data(), message.payload.size()});
    if (brief_ && message.level > spdlog::level::info) {
      const auto level = spdlog::level::to_string_view(message.level);
      said = fmt::format("{}: {}", std::string_view(level.data(), level.size()), said);
    }
    spdlog::details::log_msg shown = message;
    shown.payload = said;
    spdlog::memory_buf_t text;
    formatter_->format(shown, text);
    constexpr std::size_t time_columns = 9;
    return folded_for(STDERR_FILENO, {text.data(), text.size()}, time_columns);
  }

  bool brief_;  // at a terminal
  bool drawn_ = false;
};

/// Throws UsageError.
spdlog::level::level_enum level_named(const std::string& level) {
  const auto parsed = spdlog::level::from_str(level);
  if (parsed == spdlog::level::off && level != "off")
    refuse_value("log-level", level,
                 {"trace", "debug", "info", "warning", "error", "critical", "off"});
  return parsed;
}

}  // namespace

StatusLine::~StatusLine() { clear(); }
void StatusLine::show(const std::string& text) { drawer_->info("{}", text); }
void StatusLine::clear() { drawer_->info(""); }

std::size_t StatusLine::room() {
  constexpr std::size_t usual = 80;
  return stderr_columns().value_or(usual) - 1;  // in the last column some terminals wrap
}

std::shared_ptr<spdlog::logger> make_logger(const std::string& level, int rank,
                                            const std::string& host) {
  auto logger =
      std::make_shared<spdlog::logger>(log_name, std::make_shared<StderrSink>(rank, host));
  logger->set_level(level_named(level));
  return logger;
}

class Console::Impl {
 public:
  Impl(const std::string& level, int rank, const std::string& host)
      : sink(std::make_shared<StderrSink>(rank, host)),
        logger(made(log_name)),
        lines(made(plain_line_name)),
        line(made(status_line_name)) {
    logger->set_level(level_named(level));
  }

  std::shared_ptr<spdlog::logger> made(const char* name) const {
    return std::make_shared<spdlog::async_logger>(name, sink, printer,
                                                  spdlog::async_overflow_policy::overrun_oldest);
  }

  static constexpr std::size_t lines_in_memory = 8192;
  // They end from last to first: what the others said is printed, the printing thread ends, and
  // only then the sink that it writes to goes.
  std::shared_ptr<StderrSink> sink;
  std::shared_ptr<spdlog::details::thread_pool> printer =
      std::make_shared<spdlog::details::thread_pool>(lines_in_memory, 1);
  std::shared_ptr<spdlog::logger> logger;
  std::shared_ptr<spdlog::logger> lines;
  StatusLine line;
};

Console::Console(const std::string& level, int rank, const std::string& host)
    : impl_(std::make_unique<Impl>(level, rank, host)) {}
Console::~Console() = default;

const std::shared_ptr<spdlog::logger>& Console::logger() const { return impl_->logger; }
StatusLine& Console::line() { return impl_->line; }
void Console::print(const std::string& line) { impl_->lines->info("{}", line); }

}  // namespace wallheat
