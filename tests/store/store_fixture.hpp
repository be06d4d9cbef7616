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

/// Starts a child process that runs `work`. The exit status is 0; 1 if an assertion failed; 3 if
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

/// Waits until the child ends. Returns its status as waitpid() reports it.
inline int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// Runs gtest assertions in a child process, which may change its permissions or limits.
template <class Work>
int run_in_child(Work work) {
  return wait_for(start_child(work));
}

/// Runs `work` in a child process. `work` receives a function that kills this process.
template <class Work>
void run_and_kill(Work work) {
  const auto die = [] { ::kill(::getpid(), SIGKILL); };
  const int status = run_in_child([&] { work(die); });
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "status " << status;
}

/// Returns the message of the RunError that `step` throws, or "(no error)".
template <class Step>
std::string error_message(Step step) {
  return error_message_of<RunError>(step);
}

/// Returns the error message of opening a result file for writing, or "(no error)".
inline std::string error_message_of_opening(const std::filesystem::path& file, OpenMode mode,
                                            const ResultFileSpec& plan) {
  return error_message([&] { const ResultStore store({file, mode}, plan, {}); });
}

inline std::vector<PlanResult> restored(const ResultStore& store) {
  std::vector<PlanResult> results;
  store.for_each_existing_row([&](const PlanResult& result) { results.push_back(result); });
  return results;
}

/// Returns the number of solved plans. Expects that each result is correct, with its field and, if
/// the file has rooms, its rooms.
inline std::size_t count_correct_results(const std::filesystem::path& file, const TestPlan& plan) {
  const ResultReader reader(file);
  EXPECT_EQ(reader.count(), plan.ids.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < plan.ids.size(); ++i) {
    const PlanResult row = reader.row(i);
    if (!is_solved(row.status)) continue;
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

/// Expects that the rows [0, stored) contain the correct results and that all others are pending.
inline void expect_contents(const std::filesystem::path& file, const TestPlan& plan,
                            std::size_t stored) {
  EXPECT_EQ(count_correct_results(file, plan), stored);
  const ResultReader reader(file);
  EXPECT_EQ(reader.has_rooms(), plan.settings.contains("rooms_door"));
  for (std::size_t i = 0; i < plan.ids.size(); ++i) {
    ASSERT_EQ(is_solved(reader.row(i).status), i < stored) << "row " << i;
    ASSERT_TRUE(i < stored || same(reader.row(i), pending(plan, i))) << "row " << i;
  }
}

inline std::size_t files_in(const std::filesystem::path& directory) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(directory), {}));
}

/// An empty directory and the paths of the files that the tests create in it.
class StoreTest : public testing::Test {
 protected:
  /// Creates a file in a session that is finished.
  void make_closed(const TestPlan& plan, std::size_t stored) { make(plan, stored, true); }
  /// Creates a file in a session that is stopped before the last result; its journal remains.
  void make_stopped(const TestPlan& plan, std::size_t stored) { make(plan, stored, false); }
  /// Creates a file in a process that is killed after it has stored batches of one result.
  void make_killed(const TestPlan& plan, std::size_t stored) { make_killed(file, plan, stored); }
  static void make_killed(const std::filesystem::path& path, const TestPlan& plan,
                          std::size_t stored) {
    run_and_kill([&](auto die) {
      ResultStore store({path, OpenMode::overwrite}, plan, {});
      for (std::size_t i = 0; i < stored; ++i) store.store(make_results(plan, i, i + 1));
      die();
    });
  }
  /// Stores the results [begin, end) in a new session. Returns the damage that opening reported.
  std::vector<std::string> resume_with(const TestPlan& plan, std::size_t begin, std::size_t end,
                                       bool finished = true) {
    ResultStore store({file, OpenMode::resume}, plan, {});
    auto damage = store.warnings();
    store.store(make_results(plan, begin, end));
    store.close({}, finished);
    return damage;
  }
  /// Expects that reading, resuming, merging and repairing the file fail with such a message and
  /// change no file.
  void expect_errors(const TestPlan& plan, const Facts& facts) const {
    const auto before = read_bytes(file);
    const std::size_t files = files_in(directory);
    EXPECT_THAT(error_message([&] { ResultReader reader(file); }), Mentions(facts));
    EXPECT_THAT(error_message_of_opening(file, OpenMode::resume, plan), Mentions(facts));
    EXPECT_THAT(error_message([&] { (void)merge_results(directory / "all.h5", {file}, {}); }),
                Mentions(facts));
    EXPECT_THAT(error_message([&] { (void)repair_results(file); }), Mentions(facts));
    EXPECT_EQ(read_bytes(file), before);
    EXPECT_EQ(files_in(directory), files);
  }
  static void flip(const std::filesystem::path& path, std::size_t at) {
    auto bytes = read_bytes(path);
    ASSERT_LT(at, bytes.size());
    bytes[at] ^= 1;
    write_bytes(path, bytes);
  }
  /// Flips a bit of a stored row.
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
