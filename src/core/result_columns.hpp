#pragma once

#include "wallheat/plan_result.hpp"

namespace wallheat {

/// What a column of a result is for; see WALLHEAT_RESULT_COLUMNS.
enum class ColumnUse { kept, shown, answer };

/// A column that PlanResult has.
template <class Member>
struct ResultColumn {
  const char* name;
  ColumnUse use;
  Member of;  ///< of(result): a reference to the result's value
};
template <class Member>
ResultColumn(const char*, ColumnUse, Member) -> ResultColumn<Member>;

/// Calls visit(column) for each of them, in order.
template <class Visit>
constexpr void for_each_column(Visit&& visit) {
#define WALLHEAT_COLUMN(name, member, use)  \
  visit(ResultColumn{#name, ColumnUse::use, \
                     [](auto& result) -> decltype(auto) { return (result.member); }});
#define WALLHEAT_NUMBER(type, name, initial, use, meaning) WALLHEAT_COLUMN(name, name, use)
#define WALLHEAT_TEXT(bytes, name, use, meaning) WALLHEAT_COLUMN(name, name, use)
#define WALLHEAT_PART(type, name, part, use, meaning) WALLHEAT_COLUMN(name, part, use)
#define WALLHEAT_STORED(type, name, initial, meaning)
  WALLHEAT_RESULT_COLUMNS(WALLHEAT_NUMBER, WALLHEAT_TEXT, WALLHEAT_PART, WALLHEAT_STORED)
#undef WALLHEAT_COLUMN
#undef WALLHEAT_NUMBER
#undef WALLHEAT_TEXT
#undef WALLHEAT_PART
#undef WALLHEAT_STORED
}

}  // namespace wallheat
