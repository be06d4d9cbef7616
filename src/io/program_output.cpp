#include "io/program_output.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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

/// One from which a program reads this text.
FileDescriptor file_with(const std::string& program, std::string_view text) {
  FileDescriptor file = memory_file(program);
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) refuse_memory(program);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  (void)::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string all_of(const std::string& program, const FileDescriptor& file) {
  const int fd = file.get();
  std::string text(static_cast<std::size_t>(std::max<off_t>(::lseek(fd, 0, SEEK_END), 0)), '\0');
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t got = ::pread(fd, text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (got <= 0)
      throw RunError(fmt::format("what {} said cannot be read: {}", program, std::strerror(errno)));
    at += static_cast<std::size_t>(got);
  }
  return text;
}

}  // namespace

std::optional<ProgramOutput> output_of(const std::vector<std::string>& words,
                                       std::string_view input,
                                       const std::vector<std::string>& environment) {
  const std::string& program = words.front();
  const FileDescriptor in = file_with(program, input);
  const FileDescriptor out = memory_file(program);
  const FileDescriptor messages = memory_file(program);
  try {
    ChildProcess child({program, words, in.get(), out.get(), messages.get(), {}, environment});
    while (!child.wait(std::chrono::hours(1))) {
    }
    return ProgramOutput{all_of(program, out), all_of(program, messages),
                         child.succeeded() ? 0 : 1};
  } catch (const NoSuchProgram&) {
    return std::nullopt;
  }
}

std::string failure_of(const std::vector<std::string>& words, std::string_view input,
                       std::chrono::seconds limit) {
  const std::string& program = words.front();
  const FileDescriptor in = file_with(program, input);
  const FileDescriptor output = memory_file(program);
  ChildProcess child({.program = program,
                      .words = words,
                      .in = in.get(),
                      .out = output.get(),
                      .messages = output.get(),
                      .own_group = true});
  const bool ended = child.wait(limit);
  const std::string text = all_of(program, output);
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
  if (!ended) return fmt::format("has not ended within {} s", limit.count());
  return child.succeeded() ? "" : child.ending();
}

}  // namespace wallheat
