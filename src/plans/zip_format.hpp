#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// Zip archives, of which all numbers are little-endian: members, each after a local header, then a
// list of them, whose entries say more, then an end that says where the list is.
// The format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
namespace wallheat::zip_format {

/// What the parts begin with.
inline constexpr std::string_view local_mark = "PK\x03\x04";
inline constexpr std::string_view entry_mark = "PK\x01\x02";
inline constexpr std::string_view large_end_mark = "PK\x06\x06";
inline constexpr std::string_view locator_mark = "PK\x06\x07";  ///< says where the large end is
inline constexpr std::string_view end_mark = "PK\x05\x06";

/// Bytes of the parts without names, extra fields and comments.
inline constexpr std::size_t local_bytes = 30;
inline constexpr std::size_t entry_bytes = 46;
inline constexpr std::size_t large_end_bytes = 56;
inline constexpr std::size_t locator_bytes = 20;
inline constexpr std::size_t end_bytes = 22;
inline constexpr std::size_t longest_comment = 65535;

/// Methods of compression.
inline constexpr std::uint16_t stored = 0;
inline constexpr std::uint16_t deflated = 8;

/// A 32-bit number that stands for a 64-bit one in the extra field of this kind.
inline constexpr std::uint32_t in_extra_field = 0xffffffff;
inline constexpr std::uint16_t large_numbers = 1;

}  // namespace wallheat::zip_format
