#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "store/merge.hpp"
#include "store/repair.hpp"
#include "store/result_store.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/results.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store_test {

/// Starts a process that runs `work`, and ends with 0, with 1 if a test in it failed, or with 3 if
/// `work` throws.
template <class Work>
pid_t start_child(Work work) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    work();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "child: %s\n", error.what());
    ::_exit(3);
  }
}

/// The status of waitpid.
inline int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// Runs gtest assertions in a process of their own, which may change its rights or limits.
template <class Work>
int in_a_process(Work work) {
  return wait_for(start_child(work));
}

/// Runs `work` in a process that is killed as soon as it calls what it is given.
template <class Work>
void run_and_kill(Work work) {
  const auto die = [] { ::kill(::getpid(), SIGKILL); };
  const int status = in_a_process([&] { work(die); });
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "status " << status;
}

/// The sentence of the RunError that `step` throws; "(no error)" if it throws none.
template <class Step>
std::string refusal(Step step) {
  return error_message_of<RunError>(step);
}

/// The sentence with which a store of a file is refused; "(no error)" if it is not.
inline std::string refusal_of_store(const std::filesystem::path& file, OpenMode mode,
                                    const StorePlan& plan) {
  return refusal([&] { const ResultStore store({file, mode}, plan, {}); });
}

inline std::vector<PlanResult> restored(const ResultStore& store) {
  std::vector<PlanResult> results;
  store.for_each_restored([&](const PlanResult& result) { results.push_back(result); });
  return results;
}

/// How many answers there are; each must be right, with its field and, if the file has any, its
/// rooms.
inline std::size_t right_answers(const std::filesystem::path& file, const TestPlan& plan) {
  const ResultReader reader(file);
  EXPECT_EQ(reader.count(), plan.ids.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < plan.ids.size(); ++i) {
    const PlanResult row = reader.row(i);
    if (!is_answer(row.status)) continue;
    ++count;
    const PlanResult expected = make_result(plan, i);
    EXPECT_TRUE(same(row, expected)) << "row " << i;
    if (reader.has_rooms()) {
      EXPECT_EQ(rooms_in(reader, i), expected.rooms) << "row " << i;
    }
    const auto field = reader.field(i);
    EXPECT_EQ(field.has_value(), plan.save_fields) << "row " << i;
    if (field) {
      EXPECT_EQ(*field, field_of(plan, i)) << "row " << i;
    }
  }
  return count;
}

/// Rows [0, stored) hold the plans' answers, and the others are pending.
inline void expect_contents(const std::filesystem::path& file, const TestPlan& plan,
                            std::size_t stored) {
  EXPECT_EQ(right_answers(file, plan), stored);
  const ResultReader reader(file);
  EXPECT_EQ(reader.has_rooms(), plan.settings.contains("rooms_door"));
  for (std::size_t i = 0; i < plan.ids.size(); ++i) {
    ASSERT_EQ(is_answer(reader.row(i).status), i < stored) << "row " << i;
    ASSERT_TRUE(i < stored || same(reader.row(i), pending(plan, i))) << "row " << i;
  }
}

inline std::size_t files_in(const std::filesystem::path& directory) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(directory), {}));
}

/// An empty directory, and the names of what will be in it.
class StoreTest : public testing::Test {
 protected:
  /// Made and closed by a session.
  void make_closed(const TestPlan& plan, std::size_t stored) { make(plan, stored, true); }
  /// By a session that was stopped before all was done: its journal is left.
  void make_stopped(const TestPlan& plan, std::size_t stored) { make(plan, stored, false); }
  /// Batches of one row, in a process that is then killed.
  void make_killed(const TestPlan& plan, std::size_t stored) { make_killed(file, plan, stored); }
  static void make_killed(const std::filesystem::path& path, const TestPlan& plan,
                          std::size_t stored) {
    run_and_kill([&](auto die) {
      ResultStore store({path, OpenMode::overwrite}, plan, {});
      for (std::size_t i = 0; i < stored; ++i) store.store(make_results(plan, i, i + 1));
      die();
    });
  }
  /// A session that stores the rows [begin, end), and what was damaged when it was opened.
  std::vector<std::string> resume_with(const TestPlan& plan, std::size_t begin, std::size_t end,
                                       bool finished = true) {
    ResultStore store({file, OpenMode::resume}, plan, {});
    auto damage = store.damage();
    store.store(make_results(plan, begin, end));
    store.close({}, finished);
    return damage;
  }
  /// A look, a resume, a merge and a repair of the file are refused so, and change nothing.
  void expect_refused(const TestPlan& plan,
                      const testing::Matcher<const std::string&>& sentence) const {
    const auto before = read_bytes(file);
    const std::size_t files = files_in(directory);
    EXPECT_THAT(refusal([&] { ResultReader reader(file); }), sentence);
    EXPECT_THAT(refusal_of_store(file, OpenMode::resume, plan), sentence);
    EXPECT_THAT(refusal([&] { (void)merge_results(directory / "all.h5", {file}, {}); }), sentence);
    EXPECT_THAT(refusal([&] { (void)repair_results(file); }), sentence);
    EXPECT_EQ(read_bytes(file), before);
    EXPECT_EQ(files_in(directory), files);
  }
  static void flip(const std::filesystem::path& path, std::size_t at) {
    auto bytes = read_bytes(path);
    ASSERT_LT(at, bytes.size());
    bytes[at] ^= 1;
    write_bytes(path, bytes);
  }
  /// Flips a bit of a row that was stored, of its field, or of one of its rooms.
  void damage_row(const TestPlan& plan, std::size_t index, std::size_t byte = 140) const {
    flip(file, row_at(read_bytes(file), plan, index) + byte);
  }
  void damage_field(const TestPlan& plan, std::size_t index) const {
    const auto field = make_result(plan, index).field;
    flip_in_bytes(field.data(), field.size(), 9);
  }
  void damage_room(const TestPlan& plan, std::size_t index, std::size_t room) const {
    const double mean = make_result(plan, index).rooms[room].mean_temp;
    flip_in_bytes(&mean, sizeof mean, 0);
  }

  const TemporaryDirectory temporary;
  const std::filesystem::path directory = temporary.path();
  const std::filesystem::path file = directory / "results.h5";
  const std::filesystem::path journal = directory / "results.h5.wal0";
  const std::filesystem::path lock = directory / "results.h5.lock";

 private:
  void make(const TestPlan& plan, std::size_t stored, bool finished) {
    ResultStore store({file, OpenMode::overwrite}, plan, {{"host", "first"}});
    store.store(make_results(plan, 0, stored));
    store.close({}, finished);
  }
  void flip_in_bytes(const void* bytes, std::size_t size, std::size_t byte) const {
    const std::string_view text(static_cast<const char*>(bytes), size);
    flip(file, read_bytes(file).find(text) + byte);
  }
};

}  // namespace wallheat::store_test
