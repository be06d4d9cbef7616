#include "plans/zip_archive.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>

#include "io/deflate.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using namespace zip_format;
using Bytes = std::span<const std::byte>;

/// Returns a number at an offset, which the caller knows to be within `bytes`.
template <class Number>
Number number_at(Bytes bytes, std::size_t at) {
  Number number = 0;
  std::memcpy(&number, bytes.subspan(at, sizeof number).data(), sizeof number);
  return number;
}

std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Returns the lengths of the variable parts of a central header: name, extra fields, comment.
std::array<std::size_t, 3> tail_of(Bytes entry) {
  return {number_at<std::uint16_t>(entry, 28), number_at<std::uint16_t>(entry, 30),
          number_at<std::uint16_t>(entry, 32)};
}

/// Sets the numbers that do not fit into 32 bits from the extra fields. Returns false if one is
/// missing.
bool read_zip64_extra(ZipArchive::Member& member, Bytes extra) {
  std::vector<std::uint64_t*> wanted;
  for (std::uint64_t* number : {&member.size, &member.compressed_size, &member.offset})
    if (*number == zip64_sentinel) wanted.push_back(number);
  while (!wanted.empty() && extra.size() >= 4) {
    const auto kind = number_at<std::uint16_t>(extra, 0);
    const Bytes field = extra.subspan(4).first(
        std::min<std::size_t>(number_at<std::uint16_t>(extra, 2), extra.size() - 4));
    if (kind == zip64_extra_id) {
      if (field.size() < 8 * wanted.size()) return false;
      for (std::size_t k = 0; k < wanted.size(); ++k)
        *wanted[k] = number_at<std::uint64_t>(field, 8 * k);
      return true;
    }
    extra = extra.subspan(4 + field.size());
  }
  return wanted.empty();
}

/// Returns the name of a member with slashes. Archives that were made on Windows may have
/// backslashes, although the format does not allow them.
std::string member_name(Bytes bytes) {
  std::string name(as_text(bytes));
  std::ranges::replace(name, '\\', '/');
  return name;
}

/// Sets the fields of a member from its central header. `entry` must be as long as its length
/// fields state. Throws RunError if the header is damaged.
void fill(ZipArchive::Member& member, Bytes entry, std::uint64_t entry_offset) {
  const auto [name, extra, comment] = tail_of(entry);
  member.name = member_name(entry.subspan(central_header_bytes, name));
  member.entry_offset = entry_offset;
  member.encrypted = (number_at<std::uint16_t>(entry, 8) & 1) != 0;
  member.method = number_at<std::uint16_t>(entry, 10);
  member.crc32 = number_at<std::uint32_t>(entry, 16);
  member.compressed_size = number_at<std::uint32_t>(entry, 20);
  member.size = number_at<std::uint32_t>(entry, 24);
  member.offset = number_at<std::uint32_t>(entry, 42);
  if (!read_zip64_extra(member, entry.subspan(central_header_bytes + name, extra)))
    throw RunError("its central directory is damaged");
}

/// Throws RunError unless the name is that of a file below the folder into which the archive is
/// unpacked.
void require_inside(std::string_view name) {
  bool inside = !name.empty() && name.find('\0') == std::string_view::npos;
  std::string_view rest = name;
  while (inside && !rest.empty()) {
    const auto part = rest.substr(0, rest.find('/'));
    inside = !part.empty() && part != "..";
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  }
  if (!inside)
    throw RunError("it has a member '" + std::string(name) + "', whose path leaves the directory");
}

[[noreturn]] void fail_to_use(const std::filesystem::path& archive, const std::string& cause) {
  throw RunError(archive.string() + ": invalid zip archive: " + cause +
                 "; create it again, and test it with 'zip -T'");
}

}  // namespace

ZipArchive::ZipArchive(const std::filesystem::path& path) try : path_(path), file_(path) {
  find_central_directory();
} catch (const InputError& error) {
  throw RunError(error.what());
} catch (const RunError& error) {
  fail_to_use(path, error.what());
}

void ZipArchive::find_central_directory() {
  // The end record has a fixed size and a comment. The locator of a zip64 end record may precede
  // it.
  const std::uint64_t tail_bytes =
      std::min<std::uint64_t>(file_.size(), locator_bytes + end_bytes + max_comment_bytes);
  const std::uint64_t tail_offset = file_.size() - tail_bytes;
  const std::vector<std::byte> tail = file_.read_range(tail_offset, tail_bytes);
  std::size_t at = as_text(tail).rfind(end_signature);
  while (at != std::string_view::npos &&
         (tail.size() - at < end_bytes ||
          number_at<std::uint16_t>(tail, at + 20) != tail.size() - at - end_bytes))
    at = at == 0 ? std::string_view::npos : as_text(tail).rfind(end_signature, at - 1);
  if (at == std::string_view::npos)
    throw RunError("it does not end with a central directory; it may be truncated");
  members_ = number_at<std::uint16_t>(tail, at + 10);
  directory_bytes_ = number_at<std::uint32_t>(tail, at + 12);
  directory_offset_ = number_at<std::uint32_t>(tail, at + 16);
  std::uint64_t list_end = tail_offset + at;
  if (at >= locator_bytes &&
      as_text(tail).substr(at - locator_bytes).starts_with(zip64_locator_signature)) {
    list_end = number_at<std::uint64_t>(tail, at - locator_bytes + 8);
    if (list_end > file_.size() || file_.size() - list_end < zip64_end_bytes)
      throw RunError("its central directory is damaged");
    const std::vector<std::byte> end = file_.read_range(list_end, zip64_end_bytes);
    if (!as_text(end).starts_with(zip64_end_signature))
      throw RunError("its central directory is damaged");
    members_ = number_at<std::uint64_t>(end, 32);
    directory_bytes_ = number_at<std::uint64_t>(end, 40);
    directory_offset_ = number_at<std::uint64_t>(end, 48);
  }
  if (directory_offset_ > list_end || directory_bytes_ != list_end - directory_offset_)
    throw RunError("its central directory has the wrong offset; a part may be missing");
  if (members_ > directory_bytes_ / central_header_bytes)
    throw RunError("its central directory is damaged");
}

void ZipArchive::for_each_member(const std::function<void(const Member&)>& visit) const try {
  constexpr std::uint64_t longest_entry = central_header_bytes + 3 * 65535;
  constexpr std::uint64_t window_bytes = 8 * longest_entry;
  std::vector<std::byte> window;
  std::uint64_t window_at = 0;
  std::uint64_t count = 0;
  Member member;
  for (std::uint64_t entry_offset = 0; entry_offset < directory_bytes_; ++count) {
    const std::uint64_t left = directory_bytes_ - entry_offset;
    if (entry_offset + std::min(left, longest_entry) > window_at + window.size()) {
      window_at = entry_offset;
      window = file_.read_range(directory_offset_ + entry_offset, std::min(left, window_bytes));
    }
    const Bytes rest = Bytes(window).subspan(entry_offset - window_at);
    if (rest.size() < central_header_bytes || !as_text(rest).starts_with(central_header_signature))
      throw RunError("its central directory is damaged");
    const auto [name, extra, comment] = tail_of(rest);
    const std::size_t length = central_header_bytes + name + extra + comment;
    if (rest.size() < length) throw RunError("its central directory is damaged");
    fill(member, rest.first(length), entry_offset);
    require_inside(member.name);
    visit(member);
    entry_offset += length;
  }
  if (count != members_) throw RunError("its central directory is damaged");
} catch (const InputError& error) {
  throw RunError(error.what());
} catch (const RunError& error) {
  fail_to_use(path_, error.what());
}

ZipArchive::Member ZipArchive::member_at(std::uint64_t entry_offset) const {
  const auto changed = [&] {
    return InputError(path_.string() + ": its central directory has changed since it was opened");
  };
  if (entry_offset > directory_bytes_ || directory_bytes_ - entry_offset < central_header_bytes)
    throw changed();
  std::vector<std::byte> entry =
      file_.read_range(directory_offset_ + entry_offset, central_header_bytes);
  const auto [name, extra, comment] = tail_of(entry);
  const std::size_t length = central_header_bytes + name + extra;
  if (!as_text(entry).starts_with(central_header_signature) ||
      directory_bytes_ - entry_offset < length)
    throw changed();
  entry.resize(length);
  file_.read_at(directory_offset_ + entry_offset + central_header_bytes,
                std::span(entry).subspan(central_header_bytes));
  try {
    Member member;
    fill(member, entry, entry_offset);
    return member;
  } catch (const RunError&) {
    throw changed();
  }
}

NamedBytes ZipArchive::read(const Member& member) const {
  NamedBytes held{path_.string() + ": " + member.name, {}};
  const auto refuse = [&](const std::string& cause) { throw InputError(held.name + " " + cause); };
  const auto part = [&](std::uint64_t offset, std::uint64_t count) {
    if (offset > file_.size() || count > file_.size() - offset)
      refuse("is damaged: it is longer than the archive");
    return file_.read_range(offset, count);
  };
  if (member.encrypted) refuse("is encrypted; create the archive without a password");
  if (member.method != stored && member.method != deflated)
    refuse("uses compression method " + std::to_string(member.method) +
           ", which is not supported; create the archive with deflate");
  const std::vector<std::byte> head = part(member.offset, local_header_bytes);
  const std::uint64_t name_at = member.offset + local_header_bytes;
  const auto name_bytes = number_at<std::uint16_t>(head, 26);
  if (!as_text(head).starts_with(local_header_signature) ||
      member_name(part(name_at, name_bytes)) != member.name)
    refuse("is damaged: it is not at the offset in the central directory");
  std::vector<std::byte> packed =
      part(name_at + name_bytes + number_at<std::uint16_t>(head, 28), member.compressed_size);
  if (member.method == stored) {
    held.bytes = std::move(packed);
  } else {
    if (member.size > max_inflated_size(packed.size()))
      refuse("is damaged: its size is impossible");
    held.bytes.resize(member.size);
    if (!inflate_raw(packed, held.bytes)) refuse("is damaged: it cannot be decompressed");
  }
  if (held.bytes.size() != member.size || crc32_of(held.bytes) != member.crc32)
    refuse("is damaged: its checksum does not match");
  return held;
}

}  // namespace wallheat
