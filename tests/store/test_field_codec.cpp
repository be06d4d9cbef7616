#include <random>

#include "store_fixture.hpp"

namespace wallheat::store_test {
namespace {

TEST(FieldCodec, gives_back_every_bit) {
  std::mt19937_64 random(1);
  for (const GridShape shape : {GridShape{1, 1}, {1, 2}, {7, 9}, {64, 33}, {512, 512}}) {
    Grid<double> field(shape.rows, shape.cols);
    for (auto& cell : field.cells) {
      do {
        cell = std::bit_cast<double>(random());
      } while (std::isnan(cell));
    }
    EXPECT_EQ(decompress_field(compress_field(field), shape), field);
  }
}

TEST(FieldCodec, makes_smooth_fields_smaller) {
  EXPECT_LT(compress_field(make_field(3, {512, 512})).size(), 512u * 512 * 8 * 9 / 10);
}

TEST(FieldCodec, refuses_damaged_bytes_and_wrong_shapes) {
  const auto chunk = compress_field(make_field(3, {16, 16}));
  const auto broken = [&](std::vector<std::byte> bytes, GridShape shape) {
    return refusal([&] { (void)decompress_field(bytes, shape); });
  };
  EXPECT_EQ(broken(chunk, {16, 16}), "(accepted)");
  EXPECT_THAT(broken(chunk, {16, 17}), HasSubstr("damaged"));
  EXPECT_THAT(broken(chunk, {16, 15}), HasSubstr("damaged"));
  EXPECT_THAT(broken(chunk, {0, 16}), HasSubstr("damaged"));
  EXPECT_THAT(broken(chunk, {1ULL << 62, 16}), HasSubstr("damaged"));
  EXPECT_THAT(broken(chunk, {1ULL << 32, 1ULL << 32}), HasSubstr("damaged"));
  EXPECT_THAT(broken({}, {16, 16}), HasSubstr("damaged"));
  for (std::size_t size = 0; size < chunk.size(); size += 7) {
    EXPECT_THAT(broken({chunk.begin(), chunk.begin() + static_cast<long>(size)}, {16, 16}),
                HasSubstr("damaged"));
  }
}

}  // namespace
}  // namespace wallheat::store_test
