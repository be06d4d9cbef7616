#include "plans/zip_writer.hpp"

#include <algorithm>
#include <concepts>
#include <limits>

#include "io/deflate.hpp"
#include "plans/zip_archive.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using namespace zip_format;

// Version of the format that supports archives of any size.
constexpr std::uint16_t version_needed = 45;
// Constant, so that equal plans make equal archives.
constexpr std::uint16_t first_of_january_1980 = 33;

template <std::unsigned_integral Number>
void put(std::string& to, Number number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Writes the fields that local header and central header share.
void put_member(std::string& to, const ZipMember& member, std::uint16_t extra_bytes) {
  put(to, version_needed);
  put(to, std::uint16_t{0});  // flags
  put(to, deflated);
  put(to, std::uint16_t{0});  // time of day
  put(to, first_of_january_1980);
  put(to, member.crc32);
  put(to, static_cast<std::uint32_t>(member.packed.size()));
  put(to, member.size);
  put(to, static_cast<std::uint16_t>(member.name.size()));
  put(to, extra_bytes);
}

}  // namespace

ZipMember compress_member(std::string name, std::string_view bytes) {
  constexpr std::size_t max_bytes = std::numeric_limits<std::uint32_t>::max() - (1U << 20);
  if (bytes.size() > max_bytes) throw RunError(name + " is too large for a zip archive");
  const auto plain = std::as_bytes(std::span(bytes));
  return {std::move(name), deflate_raw(plain, CompressionLevel::best),
          static_cast<std::uint32_t>(plain.size()), crc32_of(plain)};
}

void ZipWriter::write(std::string_view bytes) {
  out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  offset_ += bytes.size();
}

void ZipWriter::add(const ZipMember& member) {
  constexpr std::size_t block_bytes = 1 << 20;
  constexpr std::size_t max_header_bytes = 46 + (1 << 16) + 12;
  if (directory_blocks_.empty() || directory_blocks_.back().size() > block_bytes - max_header_bytes)
    directory_blocks_.emplace_back().reserve(block_bytes);
  std::string& directory = directory_blocks_.back();
  const bool is_far = offset_ >= zip64_sentinel;
  directory += central_header_signature;
  put(directory, version_needed);  // version made by
  put_member(directory, member, is_far ? 12 : 0);
  directory.append(10, '\0');  // no comment, first disk, no attributes
  put(directory, is_far ? zip64_sentinel : static_cast<std::uint32_t>(offset_));
  directory += member.name;
  if (is_far) {
    put(directory, zip64_extra_id);
    put(directory, std::uint16_t{8});
    put(directory, offset_);
  }
  ++members_;

  std::string head(local_header_signature);
  put_member(head, member, 0);
  write(head + member.name);
  write({reinterpret_cast<const char*>(member.packed.data()), member.packed.size()});
}

void ZipWriter::finish() {
  const std::uint64_t directory_offset = offset_;
  for (const std::string& block : directory_blocks_) write(block);
  const std::uint64_t large_end_offset = offset_;
  const std::uint64_t directory_bytes = large_end_offset - directory_offset;
  std::string end(zip64_end_signature);
  put(end, std::uint64_t{zip64_end_bytes - 12});  // size of the rest of the record
  put(end, version_needed);
  put(end, version_needed);
  put(end, std::uint64_t{0});  // disks
  put(end, members_);
  put(end, members_);
  put(end, directory_bytes);
  put(end, directory_offset);
  end += zip64_locator_signature;
  put(end, std::uint32_t{0});
  put(end, large_end_offset);
  put(end, std::uint32_t{1});
  end += end_signature;
  put(end, std::uint32_t{0});
  const auto few = static_cast<std::uint16_t>(std::min<std::uint64_t>(members_, 0xffff));
  put(end, few);
  put(end, few);
  put(end, static_cast<std::uint32_t>(std::min<std::uint64_t>(directory_bytes, zip64_sentinel)));
  put(end, static_cast<std::uint32_t>(std::min<std::uint64_t>(directory_offset, zip64_sentinel)));
  put(end, std::uint16_t{0});  // no comment
  write(end);
  out_.flush();
}

}  // namespace wallheat
