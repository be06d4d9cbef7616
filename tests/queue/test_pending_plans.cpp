#include <gtest/gtest.h>

#include <random>
#include <set>

#include "queue/pending_plans.hpp"

namespace wallheat {
namespace {

using Key = PendingPlans::Key;

TEST(PendingPlans, puts_the_untroubled_before_the_troubled_and_long_before_short) {
  PendingPlans plans;
  for (const Key& key :
       {Key{1, 0, 9e9}, Key{0, 1, 0}, Key{0, 2, 1e6}, Key{0, 3, 1e9}, Key{0, 4, 1e9}})
    plans.insert(key);
  std::vector<std::uint32_t> order;
  while (!plans.empty()) {
    const Key first = *plans.at_or_after({-1, 0, 0});
    order.push_back(first.position);
    EXPECT_TRUE(plans.erase(first));
    EXPECT_FALSE(plans.erase(first)) << "it is gone";
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{3, 4, 2, 1, 0}));
}

TEST(PendingPlans, is_a_sorted_set_whatever_is_done_in_whatever_order) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    std::mt19937 random(seed);
    PendingPlans plans;
    std::set<Key> truth;
    const auto any_key = [&] {
      return Key{static_cast<std::int32_t>(random() % 2),
                 static_cast<std::uint32_t>(random() % 500), static_cast<double>(random() % 20)};
    };
    if (seed % 2 == 0) {  // as a run begins: in order, and many
      for (std::uint32_t position = 0; position < 2000; ++position) {
        plans.insert({0, position, 0});
        truth.insert({0, position, 0});
      }
    }
    for (int step = 0; step < 20'000; ++step) {
      const Key key = any_key();
      if (random() % 2 == 0) {
        if (truth.insert(key).second) plans.insert(key);
      } else {
        ASSERT_EQ(plans.erase(key), truth.erase(key) > 0) << "seed " << seed;
      }
      const Key from = any_key();
      const auto expected = truth.lower_bound(from);
      const Key* const found = plans.at_or_after(from);
      ASSERT_EQ(found == nullptr, expected == truth.end()) << "seed " << seed;
      if (found != nullptr) {
        ASSERT_EQ(*found, *expected) << "seed " << seed;
      }
      ASSERT_EQ(plans.empty(), truth.empty());
    }
  }
}

}  // namespace
}  // namespace wallheat
