#include "cli/drawing_record.hpp"

#include <fmt/format.h>

#include <sstream>

#include "plans/plan_source.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr const char* hash_key = "input_hash";
constexpr const char* cell_size_key = "cell_size_m";

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace

std::string encode_drawing_record(DrawingRecord record, std::uint64_t plan_hash) {
  record.report.add_json_fact(cell_size_key, record.cell_metres);
  record.report.add_json_fact(hash_key, hash_text(plan_hash));
  std::ostringstream text;
  write_json(record.report, text);
  return text.str();
}

std::optional<DrawingRecord> read_drawing_record(const std::filesystem::path& plans,
                                                 const std::string& id) {
  const auto text = read_sidecar_text(plans, drawing_record_name(id));
  if (!text) return std::nullopt;
  const std::string name = sidecar_text_name(plans, drawing_record_name(id));
  const std::string remedy =
      "; create the plan again with 'wallheat generate --from', or remove the file";
  DrawingRecord record;
  try {
    record.report = parse_report(name, *text);
  } catch (const RunError& error) {
    throw RunError(error.what() + remedy);
  }
  if (value_of(record.report, hash_key) !=
      Value(hash_text(plan_hash(open_plan_source(plans, ListingMode::lazy)->load(id)))))
    throw RunError(name + " describes another plan than the files next to it" + remedy);
  const Value metres = value_of(record.report, cell_size_key);
  if (metres.is_known()) {
    const auto* const integer = std::get_if<std::int64_t>(&metres);
    record.cell_metres =
        integer != nullptr ? static_cast<double>(*integer) : std::get<double>(metres);
  }
  return record;
}

}  // namespace wallheat
