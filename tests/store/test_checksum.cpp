#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <vector>

#include "io/checksum.hpp"

namespace wallheat {
namespace {

std::uint32_t of_zlib(std::span<const std::byte> bytes, std::uint32_t before = 0) {
  return static_cast<std::uint32_t>(
      ::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

TEST(Checksum, is_that_of_zlib_for_all_lengths_and_places) {
  std::mt19937 random(1);
  std::vector<std::byte> all(5000);
  for (std::byte& byte : all) byte = static_cast<std::byte>(random());
  const std::span<const std::byte> bytes(all);
  for (std::size_t length = 0; length < 700; ++length) {
    const std::size_t first = random() % 300;
    const auto part = bytes.subspan(first, length);
    const std::uint32_t before = length % 3 == 0 ? 0 : random();
    const std::uint32_t expected = length == 0 ? before : of_zlib(part, before);
    ASSERT_EQ(crc32_of(part, before), expected) << length << " bytes from " << first;
  }
  EXPECT_EQ(crc32_of(bytes), of_zlib(bytes));
  EXPECT_EQ(crc32_of(bytes.subspan(777), crc32_of(bytes.first(777))), of_zlib(bytes));
  EXPECT_EQ(crc32_of(std::as_bytes(std::span("123456789").first(9))), 0xCBF43926U);
}

}  // namespace
}  // namespace wallheat
