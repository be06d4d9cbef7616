#include "report/row_expression.hpp"

#include <fmt/format.h>
#include <muParser.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "report/table_columns.hpp"
#include "view/spelling.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

template <class T>
constexpr bool is_text = std::is_same_v<std::remove_cvref_t<T>, std::string>;
/// A hash is no quantity.
template <class T>
constexpr bool is_number = !is_text<T> && !std::is_same_v<std::remove_cvref_t<T>, std::uint64_t>;

struct Text {
  std::string name;
  std::string value;
};

double contains(void* text, const char* word) {
  return static_cast<const Text*>(text)->value.find(word) == std::string::npos ? 0 : 1;
}

double both(double a, double b) { return a != 0 && b != 0 ? 1 : 0; }
double either(double a, double b) { return a != 0 || b != 0 ? 1 : 0; }
double negation(double a) { return a == 0 ? 1 : 0; }

/// The sentence of muParser without its full stop, and with "at position" left to us.
std::string reason_of(const mu::Parser::exception_type& error) {
  std::string reason = error.GetMsg();
  if (const auto position = reason.find(" at position"); position != std::string::npos)
    reason.resize(position);
  while (reason.ends_with('.')) reason.pop_back();
  return reason;
}

}  // namespace

template <class Record>
class Expression<Record>::Impl {
 public:
  Impl(const std::string& option, const std::string& formula) {
    for_each_column_of(static_cast<const Record*>(nullptr),
                       [&](const char* name, auto of) { declare(name, of); });
    for (const PlanStatus status :
         {PlanStatus::pending, PlanStatus::converged, PlanStatus::max_iterations, PlanStatus::empty,
          PlanStatus::failed})
      parser_.DefineConst(std::string(to_string(status)), static_cast<double>(status));
    parser_.DefineOprt("and", both, mu::prLAND, mu::oaLEFT, true);
    parser_.DefineOprt("or", either, mu::prLOR, mu::oaLEFT, true);
    parser_.DefineInfixOprt("!", negation, mu::prINFIX, true);
    parser_.DefineFun("not", negation, true);
    refuse_assignment(option, formula);
    try {
      parser_.SetExpr(formula);
      int values = 0;
      (void)parser_.Eval(values);
      if (values > 1)
        throw UsageError(fmt::format("--{} '{}' has {} values, but it must be one formula", option,
                                     formula, values));
    } catch (const mu::Parser::exception_type& error) {
      refuse(option, formula, error);
    }
  }

  double value(const Record& row) {
    for (const auto& take : takes_) take(row);
    return parser_.Eval();
  }

 private:
  template <class Of>
  void declare(const char* name, Of of) {
    using Type = decltype(of(std::declval<const Record&>()));
    names_.emplace_back(name);
    if constexpr (is_text<Type>) {
      Text& text = texts_.emplace_back(Text{name, ""});
      takes_.emplace_back([of, &text](const Record& row) { text.value = of(row); });
      parser_.DefineFunUserData(name, contains, &text, false);
    } else if constexpr (is_number<Type>) {
      double& number = numbers_.emplace_back(0);
      takes_.emplace_back(
          [of, &number](const Record& row) { number = static_cast<double>(of(row)); });
      parser_.DefineVar(name, &number);
    }
  }

  /// muParser would change a column with a single "=".
  static void refuse_assignment(const std::string& option, const std::string& formula) {
    bool in_text = false;
    for (std::size_t i = 0; i < formula.size(); ++i) {
      if (formula[i] == '"') in_text = !in_text;
      if (in_text) continue;
      const auto is = [&](std::size_t place, std::string_view characters) {
        return place < formula.size() && characters.find(formula[place]) != std::string_view::npos;
      };
      if (formula[i] == '=' && !is(i + 1, "=") && (i == 0 || !is(i - 1, "=<>!")))
        throw UsageError(
            fmt::format("--{} '{}': write == to compare, at character {}", option, formula, i + 1));
    }
  }

  [[noreturn]] void refuse(const std::string& option, const std::string& formula,
                           const mu::Parser::exception_type& error) const {
    const auto place = static_cast<std::size_t>(std::max(error.GetPos(), 0));
    std::string hint;
    if (error.GetCode() == mu::ecUNASSIGNABLE_TOKEN) {
      const std::string& name = error.GetToken();
      const bool is_text = std::ranges::find(texts_, name, &Text::name) != texts_.end();
      hint = is_text ? fmt::format("; {0} is text: {0}(\"abc\") is true where abc is in it", name)
                     : did_you_mean(name, names_);
    }
    throw UsageError(fmt::format("--{} '{}': {} at character {}{}", option, formula,
                                 reason_of(error), place + 1, hint));
  }

  mu::Parser parser_;
  std::deque<double> numbers_;  // these stay where they are
  std::deque<Text> texts_;
  std::vector<std::function<void(const Record&)>> takes_;  // a row's value into one of them
  std::vector<std::string> names_;
};

template <class Record>
Expression<Record>::Expression(const std::string& option, const std::string& formula)
    : impl_(std::make_unique<Impl>(option, formula)) {}
template <class Record>
Expression<Record>::Expression(Expression&&) noexcept = default;
template <class Record>
Expression<Record>& Expression<Record>::operator=(Expression&&) noexcept = default;
template <class Record>
Expression<Record>::~Expression() = default;

template <class Record>
double Expression<Record>::value(const Record& row) const {
  return impl_->value(row);
}

template <class Record>
bool Expression<Record>::holds(const Record& row) const {
  const double found = value(row);
  return found != 0 && !std::isnan(found);
}

template class Expression<PlanResult>;
template class Expression<RoomRow>;

}  // namespace wallheat
