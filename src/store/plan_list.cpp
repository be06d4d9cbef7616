#include "store/plan_list.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <unordered_map>

#include "core/plan_ids.hpp"
#include "io/checksum.hpp"

namespace wallheat::store {

std::string stored_id(std::string_view id) {
  if (id.size() <= max_id_length) return std::string(id);
  std::array<char, 16> end{};
  std::snprintf(end.data(), end.size(), "~%08x", crc32_of(std::as_bytes(std::span(id))));
  std::array<char, max_id_length + 1 - 9> beginning{};
  put_text(beginning, id);
  return get_text(beginning) + end.data();
}

TextList stored_ids(const std::filesystem::path& file, const TextList& ids) {
  const bool all_fit = std::all_of(ids.begin(), ids.end(),
                                   [](std::string_view id) { return id.size() <= max_id_length; });
  TextList stored;
  if (all_fit) stored = ids;
  for (std::size_t i = 0; i < ids.size() && !all_fit; ++i) stored.push_back(stored_id(ids[i]));
  IdList seen;
  seen.reserve(stored.size(), 0);
  for (const std::string_view id : stored) {
    const auto refuse = [&](const std::string& cause) {
      throw RunError(file.string() + " cannot hold the plan id \"" + std::string(id) + "\": it " +
                     cause);
    };
    if (id.empty() || id.find('\0') != std::string::npos) refuse("is empty or holds a NUL");
    if (!seen.add(id)) refuse("is named twice");
  }
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

std::optional<NewOrder> order_for(const std::filesystem::path& file, const View& view,
                                  const TextList& ids) {
  if (view.ids() == ids) return std::nullopt;
  std::unordered_map<std::string_view, std::uint32_t> index_of;
  for (std::size_t i = 0; i < ids.size(); ++i)
    index_of.emplace(ids[i], static_cast<std::uint32_t>(i));
  NewOrder order{ids, std::vector<std::uint32_t>(ids.size(), NewOrder::none)};
  std::vector<std::string> lost;
  view.for_each_row([&](const Row& row) {
    const bool says_nothing = status_of(row) == PlanStatus::pending && row.attempts == 0;
    if (says_nothing) return;  // nor is the id of a damaged row known for sure
    const auto found = index_of.find(text_in(row.id));
    if (found != index_of.end())
      order.old_index[found->second] = row.index;
    else if (is_answer(status_of(row)))
      lost.push_back(id_of(row));
  });
  if (!lost.empty())
    throw RunError(file.string() + " holds answers of plans that this run does not name (" +
                   few_of(lost) + "); name them too, or write to another file");
  return order;
}

}  // namespace wallheat::store
