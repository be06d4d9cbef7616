#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "store/results/row_list.hpp"

namespace wallheat::store {
namespace {

bool same(const Row& a, const Row& b) { return std::memcmp(&a, &b, sizeof(Row)) == 0; }

/// Bytes of any kind, as a failing disk gives them: from nothing but zeros to none.
Row any_row(std::mt19937& random) {
  Row row{};
  auto* bytes = reinterpret_cast<unsigned char*>(&row);
  const unsigned zeros_of_ten = random() % 11;
  for (std::size_t i = 0; i < sizeof row;) {
    const bool zero = random() % 10 < zeros_of_ten;
    for (std::size_t run = 1 + random() % 12; run > 0 && i < sizeof row; --run, ++i)
      bytes[i] = zero ? 0 : static_cast<unsigned char>(random());
  }
  return row;
}

TEST(RowList, gives_back_each_row_bit_for_bit_whatever_was_set_before) {
  std::mt19937 random(1);
  RowList list;
  std::vector<Row> truth;
  for (int i = 0; i < 300; ++i) {
    truth.push_back(any_row(random));
    list.push_back(truth.back());
  }
  for (int change = 0; change < 2000; ++change) {
    const std::size_t i = random() % truth.size();
    truth[i] = any_row(random);
    list.set(i, truth[i]);
    ASSERT_TRUE(same(list[i], truth[i]));
  }
  ASSERT_EQ(list.size(), truth.size());
  std::size_t i = 0;
  for (const Row& row : list) ASSERT_TRUE(same(row, truth[i++])) << "row " << i - 1;
  const RowList copy = list;
  list.set(7, Row{});
  EXPECT_TRUE(same(copy[7], truth[7])) << "a copy is one";
}

TEST(RowList, of_a_source_gives_its_rows_until_one_is_set) {
  TextList ids;
  const std::size_t count = 1000;
  for (std::size_t i = 0; i < count; ++i) ids.push_back("plan " + std::to_string(i));
  RowList list(std::make_shared<RowsInLog>(ids));
  const auto expect_rows = [&](const RowList& rows, std::size_t changed) {
    ASSERT_EQ(rows.size(), count);
    std::size_t i = 0;
    for (const Row& row : rows) {
      ASSERT_TRUE(same(row, pending_row(i, i == changed ? "another" : ids[i]))) << "row " << i;
      ASSERT_TRUE(same(rows[i], row));
      ++i;
    }
    EXPECT_EQ(i, count);
  };
  expect_rows(list, count);
  const RowList before = list;
  list.set(700, pending_row(700, "another"));
  expect_rows(list, 700);
  expect_rows(before, count);
}

}  // namespace
}  // namespace wallheat::store
