#include "io/program_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "core/file_descriptor.hpp"
#include "io/child_process.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

[[noreturn]] void refuse_memory(const std::string& program) {
  throw RunError(
      fmt::format("no memory for what {} reads or says: {}", program, std::strerror(errno)));
}

/// A file in memory.
FileDescriptor memory_file(const std::string& program) {
  FileDescriptor file(::memfd_create(program.c_str(), MFD_CLOEXEC));
  if (file.get() < 0) refuse_memory(program);
  return file;
}

void write_all(const std::string& program, int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) refuse_memory(program);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string all_of(const std::string& program, int file) {
  std::string text(static_cast<std::size_t>(std::max<off_t>(::lseek(file, 0, SEEK_END), 0)), '\0');
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t got = ::pread(file, text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (got <= 0)
      throw RunError(fmt::format("what {} said cannot be read: {}", program, std::strerror(errno)));
    at += static_cast<std::size_t>(got);
  }
  return text;
}

/// Prints on stderr what is in a pipe now. Nobody waits for more: what a program leaves running may
/// hold the other end for ever.
void pass_on(int pipe) {
  constexpr std::size_t capacity = 65536;  // of a pipe
  std::array<char, capacity> text{};
  const ssize_t got = ::read(pipe, text.data(), text.size());
  if (got > 0) (void)std::fwrite(text.data(), 1, static_cast<std::size_t>(got), stderr);
  (void)std::fflush(stderr);
}

}  // namespace

std::optional<ProgramOutput> output_of(const std::vector<std::string>& words,
                                       std::string_view input,
                                       const std::vector<std::string>& environment) {
  const std::string& program = words.front();
  const FileDescriptor in = memory_file(program);
  const FileDescriptor out = memory_file(program);
  const FileDescriptor messages = memory_file(program);
  write_all(program, in.get(), input);
  (void)::lseek(in.get(), 0, SEEK_SET);

  ProgramOutput output;
  try {
    ChildProcess child({program, words, in.get(), out.get(), messages.get(), {}, environment});
    while (!child.wait(std::chrono::hours(1))) {
    }
    output.status = child.succeeded() ? 0 : 1;
  } catch (const NoSuchProgram&) {
    return std::nullopt;
  }
  output.out = all_of(program, out.get());
  output.messages = all_of(program, messages.get());
  return output;
}

std::string failure_of(const std::vector<std::string>& words, std::string_view input,
                       std::chrono::seconds limit) {
  const std::string& program = words.front();
  const FileDescriptor in = memory_file(program);
  write_all(program, in.get(), input);
  (void)::lseek(in.get(), 0, SEEK_SET);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) refuse_memory(program);
  const FileDescriptor out(ends[0]);
  FileDescriptor said(ends[1]);
  (void)::fcntl(out.get(), F_SETFL, O_NONBLOCK);
  ChildProcess child({.program = program,
                      .words = words,
                      .in = in.get(),
                      .out = said.get(),
                      .messages = said.get(),
                      .own_group = true});
  said = FileDescriptor();
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + limit;
  bool ended = false;
  do {
    ended = child.wait(std::chrono::milliseconds(10));
    pass_on(out.get());
  } while (!ended && Clock::now() < deadline);
  if (!ended) return fmt::format("has not ended within {} s", limit.count());
  return child.succeeded() ? "" : child.ending();
}

}  // namespace wallheat
