#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/result_store.hpp"
#include "support/temporary_directory.hpp"

namespace wallheat {
namespace {

void write_results(const std::filesystem::path& file, std::size_t plans, bool killed) {
  StorePlan plan;
  plan.settings = {{"solver", "jacobi"},
                   {"solver_version", "?"},
                   {"max_iterations", "20000"},
                   {"tolerance", "1e-4"}};
  std::vector<PlanResult> rows(plans);
  for (std::size_t i = 0; i < plans; ++i) {
    PlanResult& row = rows[i];
    row.index = static_cast<std::uint32_t>(i);
    plan.ids.push_back(row.id = "plan " + std::to_string(i));
    row.status = PlanStatus::converged;
    row.rows = row.cols = 16;
    row.interior_cells = row.iterations = 1 + static_cast<std::int64_t>(i % 200);
    row.last_delta = 1e-5;
    row.statistics = {15 + 1e-5 * static_cast<double>(i), 2, 60, 10};
    row.host = "host";
    row.device = row.solver = "jacobi";
    row.thread = 0;
    row.started_s = static_cast<double>(i);
    row.seconds = row.predicted_s = 1;
    row.phases.read_s = row.phases.solve_s = 0.25F;
  }
  auto store = ResultStore::create(file, plan, {}, true);
  store.store(rows);
  if (killed) ::_exit(testing::Test::HasFailure() ? 1 : 0);
  store.close({{"seconds", std::to_string(plans)}, {"threads", "1"}});
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_measured = false;
#else
constexpr bool is_measured = true;
#endif

/// The most memory that the program takes, in KiB. In small pages: what huge ones round to 2 MB
/// would count 25 times.
long memory_of(std::vector<std::string> words) {
  words.insert(words.begin(), WALLHEAT_PROGRAM);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  int status = 0;
  struct rusage used {};
  EXPECT_EQ(::wait4(child, &status, 0, &used), child);
  EXPECT_EQ(status, 0) << words[1];
  return used.ru_maxrss;
}

TEST(Memory, of_a_million_plans_is_less_than_300_mb) {
  if (!is_measured) GTEST_SKIP() << "a sanitizer takes memory of its own";
  const TemporaryDirectory directory;
  const std::string few = (directory / "few.h5").string();
  const std::string many = (directory / "many.h5").string();
  const std::string out = (directory / "out").string();
  constexpr std::size_t plans = 40'000;
  // What a process has before it becomes another program counts as that one's, so this one stays
  // small.
  const auto write = [&](const std::string& file, std::size_t count, bool killed) {
    const pid_t writer = ::fork();
    if (writer == 0) {
      write_results(file, count, killed);
      ::_exit(HasFailure() ? 1 : 0);
    }
    int status = 1;
    ASSERT_EQ(::waitpid(writer, &status, 0), writer);
    ASSERT_EQ(status, 0);
  };
  for (const bool killed : {false, true}) {
    for (const std::string& file : {few, many}) {
      std::filesystem::remove(file);
      write(file, file == few ? 100 : plans, killed);
    }
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"list"},
          {"list", "--sort", "-id", "--json"},
          {"summary", "--page", out + ".html", "--overwrite"},
          {"trace", "--out", out + ".json", "--overwrite"},
          {"compare"},
          {"summary"},
          {"verify", "--sample", "0"}}) {
      const auto with = [&](const std::string& file) {
        std::vector<std::string> words = command;
        words.insert(words.begin() + 1, file);
        if (command.front() == "compare") words.push_back(file);
        return memory_of(words);
      };
      // The system rounds what a process has, and what it rounds counts 25 times.
      long needed = 0;
      for (int attempt = 0; attempt < 3 && (attempt == 0 || needed >= 300'000); ++attempt) {
        const long base = with(few);
        needed = base + (with(many) - base) * (1'000'000 / static_cast<long>(plans));
      }
      EXPECT_LT(needed, 300'000) << command.front() << (killed ? " of a killed run" : "");
    }
  }
}

}  // namespace
}  // namespace wallheat
