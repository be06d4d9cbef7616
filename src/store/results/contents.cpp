#include "store/results/contents.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <unordered_map>

#include "store/results/field_codec.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace {

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

void check_ids(const std::filesystem::path& file, const std::vector<std::string>& ids) {
  std::unordered_map<std::string_view, std::size_t> seen;
  for (const auto& id : ids) {
    const std::string start = file.string() + " cannot hold the plan id " + quoted(id) + ": ";
    if (id.empty() || id.find('\0') != std::string::npos) {
      throw RunError(start + "it is empty or holds a NUL");
    }
    if (id.size() > max_id_length) {
      throw RunError(start + "it is longer than " + std::to_string(max_id_length) + " bytes");
    }
    if (!seen.emplace(id, seen.size()).second) throw RunError(start + "it is named twice");
  }
}

}  // namespace

void refuse_version(const std::filesystem::path& file, std::int64_t found) {
  throw RunError(file.string() + " has format version " + std::to_string(found) +
                 ", but this wallheat knows version " + std::to_string(format_version) +
                 " only; use the " + (found < format_version ? "older" : "newer") +
                 " wallheat that wrote it, or solve anew into another file");
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

void Findings::add_lost(const std::string& noun, const std::string& what,
                        const std::vector<std::size_t>& rows, const Contents& contents) {
  if (rows.empty()) return;
  std::vector<std::string> ids;
  for (const auto i : rows) ids.push_back(id_of(contents.rows[i]));
  sentences.push_back(count_were(rows.size(), noun) + " " + what +
                      "; pending again: " + few_of(ids));
  lost.insert(lost.end(), rows.begin(), rows.end());
}

void Findings::add_lost_with_log(std::vector<std::size_t> rows, const Contents& contents) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  std::erase_if(rows, [&](std::size_t i) {
    return status_of(contents.rows[i]) != PlanStatus::pending ||
           std::find(lost.begin(), lost.end(), i) != lost.end();
  });
  add_lost("row", "lost with a damaged part of the log", rows, contents);
}

std::string new_file_id() {
  std::random_device random;
  std::string id;
  constexpr std::string_view digits = "0123456789abcdef";
  for (int word = 0; word < 4; ++word) {
    auto bits = random();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4) id += digits[bits & 15];
  }
  return id;
}

Capacities capacities_for(const StorePlan& plan, const std::vector<Row>& kept) {
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

Contents contents_for(const std::filesystem::path& file, const StorePlan& plan) {
  check_ids(file, plan.ids);
  Contents contents;
  contents.settings = plan.settings;
  contents.save_fields = plan.save_fields;
  contents.capacities = capacities_for(plan, {});
  contents.rows.reserve(plan.ids.size());
  for (const auto& id : plan.ids) contents.rows.push_back(pending_row(contents.rows.size(), id));
  contents.addresses.assign(plan.ids.size(), -1);
  return contents;
}

bool includes(const Attributes& all, const Attributes& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

std::string differences(const Contents& contents, const std::string& a, const Attributes& settings,
                        bool save_fields, const std::string& b) {
  std::string text;
  const auto differs = [&](const std::string& name, const std::string& first,
                           const std::string& second) {
    text += (text.empty() ? "" : "; ") + name + ": " + a + " " + first + ", " + b + " " + second;
  };
  for (const auto& [name, value] : contents.settings) {
    const auto other = settings.find(name);
    if (other == settings.end()) {
      differs(name, value, "none");
    } else if (other->second != value) {
      differs(name, value, other->second);
    }
  }
  for (const auto& [name, value] : settings) {
    if (!contents.settings.contains(name)) differs(name, "none", value);
  }
  if (contents.save_fields != save_fields) {
    const auto word = [](bool saved) { return saved ? "saved" : "not saved"; };
    differs("fields", word(contents.save_fields), word(save_fields));
  }
  return text;
}

void require_agreement(const std::filesystem::path& file, const Contents& contents,
                       const StorePlan& plan) {
  const auto found =
      differences(contents, "the file has", plan.settings, plan.save_fields, "this run");
  if (!found.empty())
    throw RunError(file.string() + " was made with other settings: " + found +
                   "; give those of the file, or name another file with --out");
}

bool needs_new_layout(const Contents& contents, const StorePlan& plan) {
  if (contents.rows.size() != plan.ids.size()) return true;
  for (std::size_t i = 0; i < plan.ids.size(); ++i) {
    if (id_of(contents.rows[i]) != plan.ids[i]) return true;
  }
  return std::ranges::any_of(capacities_for(plan, contents.rows), [&](const auto& needed) {
    const auto room = contents.capacities.find(needed.first);
    return room == contents.capacities.end() || room->second < needed.second;
  });
}

Contents rearranged(const std::filesystem::path& file, Contents old, const StorePlan& plan) {
  auto fresh = contents_for(file, plan);
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < plan.ids.size(); ++i) places.emplace(plan.ids[i], i);

  std::vector<std::string> lost;
  for (std::size_t i = 0; i < old.rows.size(); ++i) {
    auto& row = old.rows[i];
    const auto id = id_of(row);
    const auto place = places.find(id);
    if (place == places.end()) {
      if (is_answer(status_of(row))) lost.push_back(id);
      continue;
    }
    row.index = static_cast<std::uint32_t>(place->second);
    seal(row);
    fresh.rows[place->second] = row;
    fresh.addresses[place->second] = old.addresses[i];
  }
  if (!lost.empty()) {
    throw RunError(file.string() + " holds answers of plans that this run does not name (" +
                   few_of(lost) + "); name them too, or write to another file");
  }
  fresh.file_id = std::move(old.file_id);
  fresh.succeeds = std::move(old.succeeds);
  fresh.sessions = std::move(old.sessions);
  fresh.capacities = capacities_for(plan, fresh.rows);
  return fresh;
}

void forget_row(Contents& contents, std::size_t i) {
  contents.rows[i] = pending_row(i, id_of(contents.rows[i]));
  contents.addresses[i] = -1;
}

}  // namespace wallheat::store
