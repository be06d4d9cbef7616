#include "view/output_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <span>
#include <streambuf>
#include <string>
#include <vector>

#include "core/system_limits.hpp"
#include "io/files.hpp"
#include "store/result_file_names.hpp"
#include "store/result_path.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace fs = std::filesystem;
namespace {

/// Returns true for a pipe or a device, which has no content that could be lost.
bool is_stream(const fs::path& file) {
  std::error_code unknown;
  const fs::file_status status = fs::status(file, unknown);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

void write_stream(const fs::path& file, const std::function<void(std::ostream& out)>& write) {
  std::ofstream stream(file, std::ios::binary);
  write(stream);
  stream.flush();
  if (!stream)
    throw RunError(
        fmt::format("{} cannot be written: {}", file.string(), system_error_text(errno)));
}

/// Stream buffer that appends to a file.
class Appending final : public std::streambuf {
 public:
  explicit Appending(File& file) : file_(file) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
  }

 private:
  int_type overflow(int_type letter) override {
    sync();
    if (traits_type::eq_int_type(letter, traits_type::eof())) return traits_type::not_eof(letter);
    return sputc(traits_type::to_char_type(letter));
  }
  int sync() override {
    file_.append(std::as_bytes(std::span(pbase(), pptr())));
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return 0;
  }

  File& file_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 18);
};

}  // namespace

void require_replaceable(const fs::path& file, bool overwrite, std::string_view magic) {
  if (is_stream(file)) return;
  const fs::path path = result_path(file);
  std::error_code missing;
  if (fs::is_directory(path, missing))
    throw RunError(path.string() + " is a directory; specify a file");
  if (!fs::is_directory(path.parent_path(), missing))
    throw RunError(fmt::format("{} cannot be written: directory {} does not exist", file.string(),
                               path.parent_path().string()));
  if (!fs::exists(path, missing) || fs::file_size(path) == 0) return;
  if (!overwrite)
    throw RunError(file.string() + " already exists; choose another file, or use --overwrite");
  const File in(path, O_RDONLY);
  std::string found(std::min<std::uint64_t>(in.size(), magic.size()), '\0');
  if (in.read_at(0, std::as_writable_bytes(std::span(found))) && magic.starts_with(found)) return;
  throw RunError(file.string() +
                 " was not written by this command; --overwrite will not replace it: choose "
                 "another name or remove it");
}

void write_output(const fs::path& file, std::string_view bytes) {
  write_output(file, [&](std::ostream& out) { out << bytes; });
}

void write_output(const fs::path& file, const std::function<void(std::ostream& out)>& write) {
  if (is_stream(file)) return write_stream(file, write);
  const fs::path path = result_path(file);
  const fs::path temporary = new_temporary_path(path);
  File out = File::create(temporary);
  try {
    copy_owner_and_mode(path, out);
    Appending buffer(out);
    std::ostream stream(&buffer);
    stream.exceptions(std::ios::badbit);  // rethrows exceptions of File
    write(stream);
    stream.flush();
    out.sync();
    rename_durably(temporary, path);
  } catch (...) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
}

}  // namespace wallheat
