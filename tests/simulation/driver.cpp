#include "simulation/driver.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <deque>
#include <exception>

#include "simulation/random.hpp"

namespace wallheat::simulation {
namespace {

constexpr unsigned hanging_after_s = 300;  // a seed
constexpr std::uint64_t twice_every = 64;  // one seed in so many is told twice

std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void say(int pipe, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto written = ::write(pipe, text.data() + at, text.size() - at);
    if (written <= 0) ::_exit(3);
    at += static_cast<std::size_t>(written);
  }
}

/// In the child: says where it is, and what came of it.
void take_here(Seeds seeds, const Step& step, int pipe) {
  Outcome sum;
  Reached reached;
  for (auto seed = seeds.first; seed < seeds.second; ++seed) {
    say(pipe, "seed " + std::to_string(seed) + '\n');
    ::alarm(hanging_after_s);
    try {
      const Outcome outcome = step(seed, reached);
      Reached ignored;
      if (seed % twice_every == 0 && step(seed, ignored).hash != outcome.hash)
        throw Violation("a seed is always the same story", "two runs of it differ");
      sum.amount += outcome.amount;
      sum.events += outcome.events;
      sum.hash = mixed(sum.hash, outcome.hash);
    } catch (const Violation& violation) {
      return say(pipe, "failure " + in_one_line(violation.invariant) + '\n' +
                           in_one_line(violation.what()) + '\n');
    }
  }
  std::ostringstream text;
  text.precision(17);
  text << "outcome " << sum.amount << ' ' << sum.events << ' ' << sum.hash << '\n';
  for (const auto& [state, count] : reached) text << count << ' ' << state << '\n';
  say(pipe, text.str());
}

struct Child {
  pid_t pid;
  int pipe;
};

Child start(Seeds seeds, const Step& step) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("there is no pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("there is no further process");
  if (child == 0) {
    try {
      take_here(seeds, step, ends[1]);
    } catch (const std::exception& error) {
      std::cerr << error.what() << std::endl;
      ::_exit(3);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  return {child, ends[0]};
}

Block finish(const Child& child) {
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::read(child.pipe, part.data(), part.size())) != 0;) {
    if (got < 0 && errno != EINTR) break;
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
  }
  ::close(child.pipe);
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  Block block;
  std::uint64_t seed = 0;
  std::istringstream in(text);
  for (std::string word, line; in >> word;) {
    if (word == "seed") {
      in >> seed;
    } else if (word == "failure") {
      auto& failure = block.failure.emplace();
      failure.seed = seed;
      std::getline(in >> std::ws, failure.invariant);
      std::getline(in, failure.details);
    } else if (word == "outcome") {
      in >> block.outcome.amount >> block.outcome.events >> block.outcome.hash;
    } else {
      std::getline(in >> std::ws, line);
      block.reached[line] = std::stoull(word);
    }
  }
  if (status == 0) return block;
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  block.failure = {seed, signal == SIGALRM ? "a hang" : "a crash of the program",
                   "status " + std::to_string(status)};
  return block;
}

}  // namespace

Block take(Seeds seeds, std::uint64_t block_size, std::size_t jobs, const Step& step) {
  Block sum;
  std::deque<Child> children;
  for (auto next = seeds.first; next < seeds.second || !children.empty();) {
    while (!sum.failure && next < seeds.second && children.size() < jobs) {
      const auto end = std::min(next + block_size, seeds.second);
      std::cout.flush();
      children.push_back(start({next, end}, step));
      next = end;
    }
    if (children.empty()) break;
    const Block block = finish(children.front());
    children.pop_front();
    if (sum.failure) continue;
    sum.failure = block.failure;
    sum.outcome.amount += block.outcome.amount;
    sum.outcome.events += block.outcome.events;
    sum.outcome.hash = mixed(sum.outcome.hash, block.outcome.hash);
    for (const auto& [state, count] : block.reached) sum.reached[state] += count;
  }
  return sum;
}

}  // namespace wallheat::simulation
