// wallheat for those who call it thousands of times: each command runs in a fork of this process,
// which is loaded and linked once. Without words it reads requests from stdin: the folder to run
// in, the file for stdout, that for stderr, and the words, each ended by a NUL, and an empty one at
// the end. To each it answers with a line: the exit status, or, below 0, the signal that ended it.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

int program_main(int argc, char** argv);  // that of src/main.cpp

namespace {

bool read_request(std::vector<std::string>& request) {
  request.clear();
  for (std::string word; std::getline(std::cin, word, '\0');) {
    if (word.empty()) return true;
    request.push_back(word);
  }
  return false;
}

bool redirect(int to, const std::string& file, int flags) {
  const int fd = ::open(file.c_str(), flags | O_CLOEXEC, 0666);
  return fd >= 0 && ::dup2(fd, to) == to;
}

[[noreturn]] void serve(std::vector<std::string>& request, char* program) {
  const int output = O_WRONLY | O_CREAT | O_TRUNC;
  if (::chdir(request[0].c_str()) != 0 || !redirect(STDIN_FILENO, "/dev/null", O_RDONLY) ||
      !redirect(STDOUT_FILENO, request[1], output) ||
      !redirect(STDERR_FILENO, request[2], output)) {
    std::perror("program_server");
    std::_Exit(EXIT_FAILURE);
  }
  std::vector<char*> words{program};
  for (std::size_t k = 3; k < request.size(); ++k) words.push_back(request[k].data());
  words.push_back(nullptr);
  std::exit(program_main(static_cast<int>(words.size()) - 1, words.data()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return program_main(argc, argv);  // a solver process that a run has started
  for (std::vector<std::string> request; read_request(request);) {
    if (request.size() < 4) return EXIT_FAILURE;
    const pid_t child = ::fork();
    if (child < 0) return EXIT_FAILURE;
    if (child == 0) serve(request, argv[0]);
    int status = 0;
    if (::waitpid(child, &status, 0) != child) return EXIT_FAILURE;
    std::cout << (WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status)) << std::endl;
  }
}
