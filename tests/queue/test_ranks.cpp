#include <set>
#include <utility>
#include <vector>

#include "queue/ranks.hpp"
#include "support/matchers.hpp"

namespace wallheat {
namespace {

using std::chrono::milliseconds;

/// Keeps what is said. No peer takes anything before it is asked to.
class SilentLink final : public Link {
 public:
  explicit SilentLink(int size) : size_(size) {}
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return size_; }
  void send(int peer, Bytes) override { sent_.push_back(peer); }
  void send_sign_of_life(int peer, Bytes) override { told_.push_back(peer); }
  [[nodiscard]] std::optional<Envelope> receive(std::chrono::microseconds) override { return {}; }
  void flush(milliseconds) override {}

  [[nodiscard]] std::vector<int> told() { return std::exchange(told_, {}); }

 private:
  int size_;
  std::vector<int> sent_;
  std::vector<int> told_;
};

/// Its time passes when the test says so. It has no threads.
class ManualClock final : public Runtime {
 public:
  [[nodiscard]] Clock::time_point now() const override { return now_; }
  [[nodiscard]] std::unique_ptr<Condition> make_condition() override { return nullptr; }
  [[nodiscard]] std::unique_ptr<Thread> start_thread(
      std::function<void(const std::stop_token&)>) override {
    return nullptr;
  }
  Clock::time_point now_{std::chrono::hours{1}};
};

/// A timeout of 30 s, a sign of life a second.
class RanksTest : public testing::Test {
 protected:
  /// Who is told in so many seconds, in which all of `speaking` speak.
  std::multiset<int> told_within(int seconds, const std::vector<int>& speaking) {
    std::multiset<int> all;
    for (int second = 0; second < seconds; ++second) {
      for (const int rank : speaking) ranks_.heard(rank);
      clock_.now_ += std::chrono::seconds{1};
      for (const int rank : ranks_.time_passed(1)) silent_.push_back(rank);
      ranks_.tell_that_rank_0_lives();
      for (const int rank : link_.told()) all.insert(rank);
    }
    return all;
  }

  SilentLink link_{4};
  ManualClock clock_;
  Ranks ranks_{link_, Timeouts{30}, clock_};
  std::vector<int> silent_;
};

TEST_F(RanksTest, says_nothing_to_ranks_that_have_never_spoken) {
  EXPECT_THAT(told_within(1000, {}), IsEmpty());
  EXPECT_THAT(silent_, IsEmpty()) << "their start has a deadline of its own";
}

TEST_F(RanksTest, says_nothing_more_to_one_that_is_silent_whatever_it_was_at_before) {
  using Stage = Ranks::Stage;
  for (const Stage stage : {Stage::awaited, Stage::reported, Stage::placed, Stage::overdue,
                            Stage::working, Stage::leaving, Stage::left, Stage::refused}) {
    silent_.clear();
    ranks_.heard(1);
    ranks_.move(1, stage);
    (void)told_within(31, {2});
    EXPECT_THAT(silent_, ElementsAre(1));
    EXPECT_EQ(told_within(1000, {2}).count(1), 0U);
    EXPECT_THAT(silent_, ElementsAre(1)) << "said once";
    EXPECT_EQ(told_within(10, {1, 2}).count(1), 10U) << "it speaks again";
  }
}

TEST_F(RanksTest, takes_any_message_for_a_sign_of_life) {
  ranks_.heard(1);
  ranks_.tell_that_rank_0_lives();
  EXPECT_THAT(link_.told(), ElementsAre(1));
  for (int k = 0; k < 10; ++k) {
    clock_.now_ += milliseconds{600};
    ranks_.send(1, Retract{1});
    ranks_.tell_that_rank_0_lives();
    EXPECT_THAT(link_.told(), IsEmpty());
  }
}

}  // namespace
}  // namespace wallheat
