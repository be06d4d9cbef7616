// Prints the rows of a result file: read_results FILE
#include <cstdio>

#include "wallheat/result_reader.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const wallheat::ResultReader results(argv[1]);
  for (const auto& row : results.rows()) {
    std::printf("%s %a %a\n", row.id.c_str(), row.statistics.mean_temp, row.statistics.std_temp);
  }
}
