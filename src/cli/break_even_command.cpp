#include <fmt/format.h>

#include "cli/commands.hpp"
#include "io/files.hpp"
#include "report/offload_report.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

Report offload_command(Options& options) {
  Offload offload;
  std::string sinfo;
  options.describe(
      "--bandwidth B --gpu G --cpu C [options]",
      "Computes how many operations per value are needed for a transfer to a GPU to pay off: n* = "
      "(bytes / B) / (1 / C - 1 / G) or more, for doubles and floats, one way and both ways. "
      "'wallheat bench --device gpu' measures the three values.",
      {"wallheat offload --bandwidth 15e9 --gpu 1e12 --cpu 1e9",
       "wallheat offload --bandwidth 15e9 --gpu 1e12 --cpu 1e9 --out offload.json"});
  options.add("bandwidth,b", value(offload.bytes_per_s, "B").above(0).required(),
              "transfer rate between host and GPU in bytes per second, such as 15e9");
  options.add("gpu,g", value(offload.gpu_per_s, "G").above(0).required(),
              "operations per second of the GPU, such as 1e12");
  options.add("cpu", value(offload.cpu_per_s, "C").above(0).required(),
              "operations per second of the CPU, such as 1e9");
  options.add(
      "sinfo", file(sinfo, FileRole::input),
      fmt::format(
          "output of \"sinfo -h -o '{}'\" (-: stdin): show the break-even point in "
          "operations per double for the nodes of each partition instead; --gpu and --cpu are "
          "then the values of one GPU and of one core",
          sinfo_format));
  options.parse();
  if (sinfo.empty()) return offload_report(offload);
  const std::vector<Partition> partitions = parse_sinfo(sinfo, read_text_file(sinfo));
  if (partitions.empty()) throw RunError(sinfo + " lists no partition that is up");
  return offload_report(offload, partitions);
}

}  // namespace wallheat
