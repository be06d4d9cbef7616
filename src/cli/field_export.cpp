#include "cli/field_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/options.hpp"
#include "core/npy.hpp"
#include "report/vtk_files.hpp"
#include "store/results/result_path.hpp"
#include "view/output_file.hpp"
#include "wallheat/error.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {
namespace fs = std::filesystem;
namespace {

struct FieldFormat {
  std::string (*bytes_of)(const Grid<double>&) = nullptr;
  std::string_view beginning;
};

}  // namespace

void export_field(const std::string& file, const std::string& id, const std::string& format,
                  const std::string& output, bool overwrite) {
  const auto chosen = choose<FieldFormat>(
      "format", format.empty() ? "npy" : format,
      {{"npy", {npy::bytes_of, npy::beginning}}, {"vti", {vti_of, vti_beginning}}});
  if (output.empty()) throw UsageError("--field needs --out: a field is no text");
  require_replaceable(output, overwrite, chosen.beginning);
  const ResultReader reader(file);
  const auto& rows = reader.rows();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const PlanResult& each) { return each.id == id; });
  if (row == rows.end()) throw RunError(fmt::format("{} has no plan \"{}\"", file, id));
  const auto stored = reader.field(static_cast<std::size_t>(row - rows.begin()));
  if (!stored)
    throw RunError(
        fmt::format("{} has no field of plan \"{}\", which is {}: run with --save-fields", file, id,
                    to_string(row->status)));
  write_output(output, chosen.bytes_of(*stored));
}

void export_xdmf(const std::string& file, const std::string& output, bool overwrite) {
  if (output.empty())
    throw UsageError(
        "--format xdmf needs --out: the XDMF file names the result file as seen "
        "from where it lies");
  require_replaceable(output, overwrite, xdmf_beginning);
  const auto places = field_places(file);
  if (places.empty()) throw RunError(fmt::format("{} has no field: run with --save-fields", file));
  const fs::path seen_from = result_path(output).parent_path();
  write_output(output, xdmf_of(places, fs::relative(result_path(file), seen_from)));
}

}  // namespace wallheat
