#include "store/results/snapshot.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>

#include "io/checksum.hpp"
#include "store/field_codec.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace {

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

void check_ids(const std::filesystem::path& file, const TextList& ids) {
  IdList seen;
  for (const std::string_view id : ids) {
    const auto refuse = [&](const std::string& cause) {
      throw RunError(file.string() + " cannot hold the plan id " + quoted(std::string(id)) + ": " +
                     cause);
    };
    if (id.empty() || id.find('\0') != std::string::npos) {
      refuse("it is empty or holds a NUL");
    }
    if (id.size() > max_id_length) {
      refuse("it is longer than " + std::to_string(max_id_length) + " bytes");
    }
    if (!seen.add(id)) refuse("it is named twice");
  }
}

/// The room that a plan needs, if fields that are there already are kept beside it.
Capacities capacities_for(const StorePlan& plan, const RowList& kept) {
  Capacities capacities;
  if (!plan.save_fields) return capacities;
  for (std::size_t i = 0; i < plan.ids.size(); ++i) {
    const auto planned = i < plan.shapes.size() ? plan.shapes[i] : GridShape{};
    const bool has_field_to_keep = planned.rows > 0 && planned.cols > 0;
    if (has_field_to_keep && too_large_to_keep(planned).empty()) ++capacities[planned];
    // A plan whose input changed its shape keeps its old field until the new one is stored.
    if (i < kept.size() && has_field(kept[i]) && shape_of(kept[i]) != planned) {
      ++capacities[shape_of(kept[i])];
    }
  }
  return capacities;
}

}  // namespace

void refuse_version(const std::filesystem::path& file, std::int64_t found) {
  throw RunError(file.string() + " has format version " + std::to_string(found) +
                 ", but this wallheat knows version " + std::to_string(format_version) +
                 " only; use the wallheat that wrote it, or solve anew into another file");
}

std::string count_were(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? " was" : "s were");
}

std::string few_of(const std::vector<std::string>& ids) {
  constexpr std::size_t few = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(few, ids.size()); ++i) {
    text += (i == 0 ? "" : ", ") + quoted(ids[i]);
  }
  return ids.size() > few ? text + " and " + std::to_string(ids.size() - few) + " more" : text;
}

void DamageReport::add_lost(const std::string& noun, const std::string& what,
                            const std::vector<std::size_t>& rows, const Snapshot& snapshot) {
  if (rows.empty()) return;
  std::vector<std::string> ids;
  ids.reserve(rows.size());
  for (const auto i : rows) ids.push_back(id_of(snapshot.rows[i]));
  sentences.push_back(count_were(rows.size(), noun) + " " + what +
                      "; pending again: " + few_of(ids));
  lost.insert(lost.end(), rows.begin(), rows.end());
}

void DamageReport::add_lost_with_log(std::vector<std::size_t> rows, const Snapshot& snapshot) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  std::erase_if(rows, [&](std::size_t i) {
    return status_of(snapshot.rows[i]) != PlanStatus::pending ||
           std::find(lost.begin(), lost.end(), i) != lost.end();
  });
  add_lost("row", "lost with a damaged part of the log", rows, snapshot);
}

std::string new_file_id(System& system) {
  std::string id;
  constexpr std::string_view digits = "0123456789abcdef";
  for (int word = 0; word < 4; ++word) {
    auto bits = system.random();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4) id += digits[bits & 15];
  }
  return id;
}

Snapshot snapshot_for(const std::filesystem::path& file, const StorePlan& plan) {
  check_ids(file, plan.ids);
  Snapshot snapshot;
  snapshot.settings = plan.settings;
  snapshot.save_fields = plan.save_fields;
  snapshot.capacities = capacities_for(plan, {});
  snapshot.ids = plan.ids;
  snapshot.rows = RowList(std::make_shared<RowsInLog>(plan.ids));
  snapshot.offsets.assign(plan.ids.size(), -1);
  return snapshot;
}

bool includes(const Attributes& all, const Attributes& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

std::string differences(const Snapshot& snapshot, const std::string& a, const Attributes& settings,
                        bool save_fields, const std::string& b) {
  std::string text;
  const auto differs = [&](const std::string& name, const std::string& first,
                           const std::string& second) {
    text += (text.empty() ? "" : "; ") + name + ": " + a + " " + first + ", " + b + " " + second;
  };
  for (const auto& [name, value] : snapshot.settings) {
    const auto other = settings.find(name);
    if (other == settings.end()) {
      differs(name, value, "none");
    } else if (other->second != value) {
      differs(name, value, other->second);
    }
  }
  for (const auto& [name, value] : settings) {
    if (!snapshot.settings.contains(name)) differs(name, "none", value);
  }
  if (snapshot.save_fields != save_fields) {
    const auto word = [](bool saved) { return saved ? "saved" : "not saved"; };
    differs("fields", word(snapshot.save_fields), word(save_fields));
  }
  return text;
}

void require_agreement(const std::filesystem::path& file, const Snapshot& snapshot,
                       const StorePlan& plan) {
  const auto found =
      differences(snapshot, "the file has", plan.settings, plan.save_fields, "this run");
  if (!found.empty())
    throw RunError(file.string() + " was made with other settings: " + found +
                   "; give those of the file, or name another file with --out");
}

bool needs_new_layout(const Snapshot& snapshot, const StorePlan& plan) {
  if (snapshot.ids != plan.ids) return true;
  const auto capacities = capacities_for(plan, snapshot.rows);
  return std::any_of(capacities.begin(), capacities.end(), [&](const auto& capacity) {
    const auto room = snapshot.capacities.find(capacity.first);
    return room == snapshot.capacities.end() || room->second < capacity.second;
  });
}

Snapshot rearranged(const std::filesystem::path& file, Snapshot old, const StorePlan& plan) {
  auto fresh = snapshot_for(file, plan);
  std::unordered_map<std::string_view, std::size_t> indices;
  for (std::size_t i = 0; i < plan.ids.size(); ++i) indices.emplace(plan.ids[i], i);

  std::vector<std::string> lost;
  std::vector<std::size_t> old_index(plan.ids.size());
  for (Row row : old.rows) {
    const std::size_t i = row.index;
    const auto id = id_of(row);
    const auto index = indices.find(id);
    if (index == indices.end()) {
      if (is_answer(status_of(row))) lost.push_back(id);
      continue;
    }
    row.index = static_cast<std::uint32_t>(index->second);
    seal(row);
    fresh.rows.set(index->second, row);
    fresh.offsets[index->second] = old.offsets[i];
    old_index[index->second] = i;
  }
  if (!lost.empty()) {
    throw RunError(file.string() + " holds answers of plans that this run does not name (" +
                   few_of(lost) + "); name them too, or write to another file");
  }
  fresh.file_id = std::move(old.file_id);
  fresh.succeeds = std::move(old.succeeds);
  fresh.sessions = std::move(old.sessions);
  fresh.capacities = capacities_for(plan, fresh.rows);
  if (old.rooms_of)
    fresh.rooms_of = [of = std::move(old.rooms_of), old_index = std::move(old_index)](
                         std::size_t i) { return sealed_rooms(of(old_index[i]), i); };
  return fresh;
}

void SharedFields::look_at(std::size_t i, const Row& row, Offset offset) {
  share(i, by_slot_[shape_of(row)].try_emplace(row.field_slot, i).first->second);
  if (offset >= 0) share(i, by_offset_.try_emplace(offset, i).first->second);
}

void SharedFields::share(std::size_t i, std::size_t other) {
  if (i != other) rows_.insert({i, other});
}

bool read_chunk(const PosixFile& source, Offset offset, const Row& row,
                std::vector<std::byte>& chunk) {
  if (offset < 0 || row.field_bytes <= 0) return false;
  if (static_cast<std::uint64_t>(row.field_bytes) > source.size()) return false;
  chunk.resize(static_cast<std::size_t>(row.field_bytes));
  return source.read_at(static_cast<std::uint64_t>(offset), chunk) &&
         crc32_of(chunk) == row.field_crc32;
}

void forget_row(Snapshot& snapshot, std::size_t i) {
  snapshot.rows.set(i, pending_row(i, id_of(snapshot.rows[i])));
  snapshot.offsets[i] = -1;
}

std::vector<std::size_t> all_rows(const Snapshot& snapshot) {
  std::vector<std::size_t> rows(snapshot.rows.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

void forget_damaged_fields(const std::optional<PosixFile>& raw, Snapshot& snapshot,
                           DamageReport& damage) {
  if (!snapshot.save_fields) return;
  std::vector<std::size_t> damaged;
  std::vector<std::byte> chunk;
  for (const Row& row : snapshot.rows) {
    if (has_field(row) && (!raw || !read_chunk(*raw, snapshot.offsets[row.index], row, chunk)))
      damaged.push_back(row.index);
  }
  for (const std::size_t row : damaged) forget_row(snapshot, row);
  damage.add_lost("field", "damaged", damaged, snapshot);
}

}  // namespace wallheat::store
