#include "report/gnuplot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>

#include "core/file_descriptor.hpp"
#include "core/printable.hpp"
#include "view/spelling.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Colours that differ also in grey print and to colour-blind readers; a light grid, no frame.
constexpr std::string_view style = R"(set encoding utf8
set border 3 linecolor rgb '#686e7a'
set tics nomirror out
set grid ytics back linetype 1 linecolor rgb '#d0d4da' linewidth 1
set title font ',14'
set style fill solid 0.9 noborder
set linetype 1 linecolor rgb '#4a1c76' linewidth 2 pointtype 7
set linetype 2 linecolor rgb '#e96042' linewidth 2 pointtype 5
set linetype 3 linecolor rgb '#2a8a8a' linewidth 2 pointtype 9
set linetype 4 linecolor rgb '#8a8f99' linewidth 2 pointtype 13
set key top right reverse Left samplen 2 noautotitle
set datafile missing 'nan'
)";

std::string terminal(PlotFormat format, int width, int height) {
  switch (format) {
    case PlotFormat::png:
      return fmt::format("set terminal pngcairo noenhanced size {},{} font 'sans,11'\n", width,
                         height);
    case PlotFormat::svg:
      return fmt::format(
          "set terminal svg noenhanced size {},{} font 'sans-serif,13' background '#ffffff'\n",
          width, height);
    case PlotFormat::pdf:
      break;
  }
  return fmt::format("set terminal pdfcairo noenhanced size {:.3f}in,{:.3f}in font 'sans,11'\n",
                     width / 96.0, height / 96.0);
}

/// A file in memory.
FileDescriptor memory_file() {
  FileDescriptor file(::memfd_create("gnuplot", MFD_CLOEXEC));
  if (file.get() < 0) throw RunError(fmt::format("no memory for a plot: {}", std::strerror(errno)));
  return file;
}

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw RunError(fmt::format("no memory for a plot: {}", std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string all_of(int file) {
  std::string text;
  std::array<char, 65536> piece{};
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(file, piece.data(), piece.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw RunError(fmt::format("a plot cannot be read: {}", std::strerror(errno)));
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
    at += got;
  }
}

/// Runs gnuplot on a script; its output and messages go to files, so that nobody waits for a pipe.
std::string run_gnuplot(std::string_view script) {
  const FileDescriptor in = memory_file();
  const FileDescriptor out = memory_file();
  const FileDescriptor messages = memory_file();
  write_all(in.get(), script);
  (void)::lseek(in.get(), 0, SEEK_SET);

  posix_spawn_file_actions_t actions{};
  (void)::posix_spawn_file_actions_init(&actions);
  const auto forget = [](posix_spawn_file_actions_t* of) {
    (void)::posix_spawn_file_actions_destroy(of);
  };
  const std::unique_ptr<posix_spawn_file_actions_t, decltype(forget)> destroy(&actions, forget);
  (void)::posix_spawn_file_actions_adddup2(&actions, in.get(), STDIN_FILENO);
  (void)::posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
  (void)::posix_spawn_file_actions_adddup2(&actions, messages.get(), STDERR_FILENO);
  // Without the user's start-up files: a plot is the same for everybody.
  std::array<std::string, 2> words{"gnuplot", "--default-settings"};
  std::array<char*, 3> arguments{words[0].data(), words[1].data(), nullptr};
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments.data(), ::environ);
  if (failed == ENOENT)
    throw RunError("plots are drawn by gnuplot, which is not installed here (Debian: gnuplot-nox)");
  if (failed != 0)
    throw RunError(fmt::format("gnuplot cannot be started: {}", std::strerror(failed)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::string picture = all_of(out.get());
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || picture.empty())
    throw RunError("gnuplot failed: " + printable(all_of(messages.get())));
  return picture;
}

}  // namespace

PlotFormat plot_format(const std::string& option, const std::filesystem::path& file) {
  std::string ending = file.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  if (ending == ".png") return PlotFormat::png;
  if (ending == ".svg") return PlotFormat::svg;
  if (ending == ".pdf") return PlotFormat::pdf;
  throw UsageError(
      fmt::format("--{} draws PNG, SVG or PDF, so name a file that ends in .png, .svg "
                  "or .pdf, not {}",
                  option, file.string()));
}

std::string_view beginning_of(PlotFormat format) {
  switch (format) {
    case PlotFormat::png:
      return "\x89PNG\r\n\x1a\n";
    case PlotFormat::svg:
      return R"(<?xml version="1.0" encoding="utf-8")";
    case PlotFormat::pdf:
      break;
  }
  return "%PDF-";
}

std::string Plot::add_data(const std::vector<std::vector<double>>& rows) {
  std::string name = fmt::format("$data{}", ++blocks_);
  script_ += name + " << END_OF_DATA\n";
  for (const auto& row : rows) {
    for (const double value : row) script_ += fmt::format("{:.10g} ", value);
    script_ += '\n';
  }
  script_ += "END_OF_DATA\n";
  return name;
}

void Plot::add(std::string_view line) {
  script_ += line;
  script_ += '\n';
}

std::string Plot::quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char letter : printable(text)) {
    // gnuplot knows escapes in these quotes, and commands between backquotes.
    if (letter == '"' || letter == '\\' || letter == '`') {
      quoted += fmt::format("\\{:03o}", static_cast<unsigned char>(letter));
    } else {
      quoted += letter;
    }
  }
  return quoted + '"';
}

std::string Plot::draw(PlotFormat format, int width, int height) const {
  return run_gnuplot(terminal(format, width, height) + std::string(style) + script_);
}

}  // namespace wallheat
