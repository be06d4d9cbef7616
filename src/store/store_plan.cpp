#include "store/store_plan.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/plan_ids.hpp"
#include "io/deflate.hpp"

namespace wallheat::store {

std::string stored_id(std::string_view id) {
  if (id.size() <= max_id_length) return std::string(id);
  std::array<char, 16> end{};
  std::snprintf(end.data(), end.size(), "~%08x", crc32_of(std::as_bytes(std::span(id))));
  std::array<char, max_id_length + 1 - 9> start{};
  put_text(start, id);
  return std::string(text_in(start)) + end.data();
}

TextList stored_ids(const std::filesystem::path& file, const TextList& ids) {
  const bool all_fit = std::all_of(ids.begin(), ids.end(),
                                   [](std::string_view id) { return id.size() <= max_id_length; });
  TextList stored;
  if (all_fit) stored = ids;
  for (std::size_t i = 0; i < ids.size() && !all_fit; ++i) stored.push_back(stored_id(ids[i]));
  for (const std::string_view id : stored)
    if (id.empty() || id.find('\0') != std::string::npos)
      throw RunError(file.string() + " cannot hold the plan id \"" + std::string(id) +
                     "\": it is empty or holds a NUL");
  return stored;
}

std::string differences(const Campaign& campaign, const std::string& a, const Attributes& settings,
                        bool save_fields, const std::string& b) {
  std::string text;
  const auto compare = [&](const std::string& name, const std::string& first,
                           const std::string& second) {
    if (first != second)
      text += (text.empty() ? "" : "; ") + name + ": " + a + " " + first + ", " + b + " " + second;
  };
  const auto value_in = [](const Attributes& values, const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? "none" : found->second;
  };
  Attributes all = campaign.settings;
  all.insert(settings.begin(), settings.end());
  for (const auto& [name, value] : all)
    compare(name, value_in(campaign.settings, name), value_in(settings, name));
  const auto word = [](bool saved) { return saved ? "saved" : "not saved"; };
  compare("fields", word(campaign.save_fields), word(save_fields));
  return text;
}

void require_agreement(const std::filesystem::path& file, const Campaign& campaign,
                       const StorePlan& plan) {
  const auto found =
      differences(campaign, "the file has", plan.settings, plan.save_fields, "this run");
  if (!found.empty())
    throw RunError(file.string() + " was made with other settings: " + found +
                   "; give those of the file, or name another file with --out");
}

}  // namespace wallheat::store
