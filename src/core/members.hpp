#pragma once

#include <cstddef>
#include <type_traits>

// The list of the members of a structure. Each structure that is sent, stored or printed member by
// member has one list, and for_each_member() is the only way to walk through it: messages, rows of
// files, tables, JSON and comparisons are derived from the list, so that they cannot disagree.

namespace wallheat {

/// A member of a structure. A list may consist of objects of another type that describe more of
/// each member; this type must have `name` and `of`, too. The list of PlanResult consists of
/// ResultColumn.
template <class Structure, class Value>
struct MemberOf {
  const char* name;
  Value Structure::*pointer;
  /// Returns a reference to the member of `object`.
  [[nodiscard]] constexpr auto& of(auto& object) const { return object.*pointer; }
};
template <class Structure, class Value>
MemberOf(const char*, Value Structure::*) -> MemberOf<Structure, Value>;

/// Lists members of a structure, in order. Write WALLHEAT_MEMBERS(Task, plan, id); in the namespace
/// of the structure, after its definition. This is a macro because C++20 has no other way to get
/// the names of members.
#define WALLHEAT_MEMBERS(Structure, ...)                                                        \
  template <class Visit>                                                                        \
  constexpr void visit_members(std::type_identity<Structure>, [[maybe_unused]] Visit&& visit) { \
    __VA_OPT__(WALLHEAT_RESCAN(WALLHEAT_VISIT_FIRST(Structure, __VA_ARGS__)))                   \
  }
// A macro does not expand inside itself. WALLHEAT_VISIT_FIRST therefore ends with
// WALLHEAT_VISIT_REST, which is separated from its parentheses. Each rescan of the text joins the
// two, which results in WALLHEAT_VISIT_FIRST again and so handles one more member. There are enough
// rescans for 64 members.
#define WALLHEAT_VISIT_FIRST(Structure, name, ...)      \
  visit(::wallheat::MemberOf{#name, &Structure::name}); \
  __VA_OPT__(WALLHEAT_VISIT_REST WALLHEAT_NO_ARGUMENTS(Structure, __VA_ARGS__))
#define WALLHEAT_VISIT_REST() WALLHEAT_VISIT_FIRST
#define WALLHEAT_NO_ARGUMENTS ()
#define WALLHEAT_RESCAN(...) \
  WALLHEAT_RESCAN_16(WALLHEAT_RESCAN_16(WALLHEAT_RESCAN_16(WALLHEAT_RESCAN_16(__VA_ARGS__))))
#define WALLHEAT_RESCAN_16(...) \
  WALLHEAT_RESCAN_4(WALLHEAT_RESCAN_4(WALLHEAT_RESCAN_4(WALLHEAT_RESCAN_4(__VA_ARGS__))))
#define WALLHEAT_RESCAN_4(...) \
  WALLHEAT_RESCAN_1(WALLHEAT_RESCAN_1(WALLHEAT_RESCAN_1(WALLHEAT_RESCAN_1(__VA_ARGS__))))
#define WALLHEAT_RESCAN_1(...) __VA_ARGS__

/// True if the members of the structure are listed.
template <class T>
concept HasMembers = requires(void (&visit)(...)) {
  visit_members(std::type_identity<T>{}, visit);
};

/// Calls visit(member) for each listed member, in order. `member.name` is its name, and
/// `member.of(object)` returns a reference to it.
template <HasMembers T>
constexpr void for_each_member(auto&& visit) {
  visit_members(std::type_identity<T>{}, visit);
}

/// Returns the size of a structure that has only the listed members, in this order. It differs from
/// sizeof(T) if the list lacks a member, unless that member fits into padding.
template <HasMembers T>
constexpr std::size_t size_of_members() {
  std::size_t size = 0;
  const auto align = [&](std::size_t to) { size = (size + to - 1) / to * to; };
  for_each_member<T>([&]<class Value>(const MemberOf<T, Value>&) {
    align(alignof(Value));
    size += sizeof(Value);
  });
  align(alignof(T));
  return size;
}

}  // namespace wallheat
