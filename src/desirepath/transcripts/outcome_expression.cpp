#include "desirepath/transcripts/outcome_expression.h"

#include <algorithm>
#include <array>
#include <utility>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline transcripts {

namespace {

constexpr int deepest_nesting = 100;  // the parser recurses, and model files hold expressions too

enum class TokenKind { word, column, text, number, sign, end };
struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  std::size_t at = 0;  // in the expression, from 0
};

bool is_word_letter(char letter) {
  const auto code = static_cast<unsigned char>(letter);
  return std::isalnum(code) != 0 || letter == '_' || code >= 0x80;
}

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  const auto refuse = [&](std::size_t at, const char* what) {
    throw OptionError(concat("'", text, "': ", what, " (character ", at + 1, ")"));
  };
  const auto is_digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  std::size_t i = 0;
  while (i < text.size()) {
    const char letter = text[i];
    const std::size_t begin = i;
    if (letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r') {
      ++i;
    } else if (letter == '\'' || letter == '"') {
      std::string inside;
      for (++i;; ++i) {
        if (i >= text.size()) refuse(begin, "a quotation mark is never closed");
        if (text[i] == letter) {
          if (i + 1 >= text.size() || text[i + 1] != letter) break;
          ++i;  // two of them stand for one
        }
        inside += text[i];
      }
      ++i;
      tokens.push_back({letter == '"' ? TokenKind::column : TokenKind::text, inside, begin});
    } else if (is_digit(i) || ((letter == '-' || letter == '+' || letter == '.') && is_digit(i + 1)) ||
               (letter == '-' && i + 2 < text.size() && text[i + 1] == '.' && is_digit(i + 2))) {
      for (++i; i < text.size(); ++i) {
        const bool has_exponent_sign = (text[i] == '-' || text[i] == '+') && (text[i - 1] == 'e' || text[i - 1] == 'E');
        if (!is_word_letter(text[i]) && text[i] != '.' && !has_exponent_sign) break;
      }
      const std::string_view written = text.substr(begin, i - begin);
      if (!number_in<double>(written.front() == '+' ? written.substr(1) : written)) refuse(begin, "this is no number");
      tokens.push_back({TokenKind::number, std::string(written), begin});
    } else if (is_word_letter(letter)) {
      while (i < text.size() && is_word_letter(text[i]))
        ++i;
      tokens.push_back({TokenKind::word, std::string(text.substr(begin, i - begin)), begin});
    } else {
      constexpr std::array<std::string_view, 11> signs = {"<=", ">=", "<>", "!=", "==", "=", "<", ">", "(", ")", ","};
      const auto sign = std::ranges::find_if(signs, [&](auto known) { return text.substr(i).starts_with(known); });
      if (sign == signs.end()) refuse(begin, "this character has no meaning here");
      tokens.push_back({TokenKind::sign, std::string(*sign), begin});
      i += sign->size();
    }
  }
  tokens.push_back({TokenKind::end, "", text.size()});
  return tokens;
}

}  // namespace

/// Recursive descent: or < and < not < a condition on one column, or an expression in parentheses.
class OutcomeParser {
 public:
  explicit OutcomeParser(std::string_view text) : text_(text), tokens_(tokens_of(text)) {}

  OutcomeExpression parse() {
    either();
    if (next().kind != TokenKind::end) refuse("'and', 'or' or the end");
    return std::move(result_);
  }

 private:
  using Operation = OutcomeExpression::Operation;

  const Token& next() const { return tokens_[position_]; }
  [[noreturn]] void refuse(const char* expected) const {
    const Token& token = next();
    const std::string found = token.kind == TokenKind::end ? "at the end" : concat("at character ", token.at + 1);
    throw OptionError(concat("'", text_, "': expected ", expected, " ", found));
  }
  bool is_word(std::string_view word) const {
    return next().kind == TokenKind::word && lower_case(next().text) == word;
  }
  bool take_word(std::string_view word) {
    if (!is_word(word)) return false;
    ++position_;
    return true;
  }
  bool take_sign(std::string_view sign) {
    if (next().kind != TokenKind::sign || next().text != sign) return false;
    ++position_;
    return true;
  }
  void add(Operation operation) { result_.steps_.push_back({operation, 0, {}}); }

  void either() {
    both();
    while (take_word("or")) {
      both();
      add(Operation::disjunction);
    }
  }
  void both() {
    negated();
    while (take_word("and")) {
      negated();
      add(Operation::conjunction);
    }
  }
  void negated() {
    if (++depth_ > deepest_nesting) refuse("fewer parentheses");
    if (take_word("not")) {
      negated();
      add(Operation::negation);
    } else if (take_sign("(")) {
      either();
      if (!take_sign(")")) refuse("')'");
    } else {
      condition();
    }
    --depth_;
  }

  std::size_t column() {
    const bool reserved = is_word("and") || is_word("or") || is_word("in") || is_word("is") || is_word("null");
    if ((next().kind != TokenKind::word && next().kind != TokenKind::column) || reserved)
      refuse("the name of a column");
    const std::string name = tokens_[position_++].text;
    auto& columns = result_.columns_;
    const auto known =
        std::ranges::find(columns, lower_case(name), [](const auto& other) { return lower_case(other); });
    if (known != columns.end()) return static_cast<std::size_t>(known - columns.begin());
    columns.push_back(name);
    return columns.size() - 1;
  }
  OutcomeExpression::Literal literal() {
    const Token& token = next();
    if (token.kind != TokenKind::text && token.kind != TokenKind::number) refuse("a number or a text in single quotes");
    ++position_;
    if (token.kind == TokenKind::text) return {token.text, {}};
    return {token.text, number_in<double>(token.text.starts_with('+') ? token.text.substr(1) : token.text)};
  }

  void condition() {
    const std::size_t its_column = column();
    const auto compare = [&](Operation operation, bool is_negated) {
      result_.steps_.push_back({operation, its_column, {literal()}});
      if (is_negated) add(Operation::negation);
    };
    if (take_word("is")) {
      const bool is_negated = take_word("not");
      if (!take_word("null")) refuse(is_negated ? "'null'" : "'null' or 'not null'");
      result_.steps_.push_back({Operation::is_null, its_column, {}});
      if (is_negated) add(Operation::negation);
    } else if (take_sign("=") || take_sign("==")) {
      compare(Operation::equal, false);
    } else if (take_sign("<>") || take_sign("!=")) {
      compare(Operation::equal, true);
    } else if (take_sign("<=")) {
      compare(Operation::at_most, false);
    } else if (take_sign("<")) {
      compare(Operation::less, false);
    } else if (take_sign(">=")) {
      compare(Operation::less, true);  // a missing value is neither less nor not less
    } else if (take_sign(">")) {
      compare(Operation::at_most, true);
    } else if (const bool is_negated = take_word("not"); take_word("in")) {
      if (!take_sign("(")) refuse("'('");
      result_.steps_.push_back({Operation::in, its_column, {}});
      do {
        result_.steps_.back().literals.push_back(literal());
      } while (take_sign(","));
      if (!take_sign(")")) refuse("',' or ')'");
      if (is_negated) add(Operation::negation);
    } else {
      refuse(is_negated ? "'in'" : "'is', 'in', '=', '<>', '<', '<=', '>' or '>='");
    }
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t position_ = 0;
  int depth_ = 0;
  OutcomeExpression result_;
};

OutcomeExpression OutcomeExpression::parse(std::string_view text) {
  return OutcomeParser(text).parse();
}

const Attribute* OutcomeExpression::find_column(const Cohort& cohort, std::string_view name) {
  const auto& attributes = cohort.attributes();
  auto found = std::ranges::find(attributes, name, &Attribute::name);
  if (found == attributes.end()) {
    found = std::ranges::find_if(attributes,
                                 [&](const Attribute& own) { return lower_case(own.name) == lower_case(name); });
  }
  return found == attributes.end() ? nullptr : &*found;
}

OutcomeExpression::Truth OutcomeExpression::holds(const Step& step, const std::string& value) {
  const auto number = number_in<double>(value);
  const auto compared = [&](const Literal& literal, auto compare) -> Truth {
    if (!literal.number) return compare(value.compare(literal.text), 0);
    return number ? Truth(compare(*number, *literal.number)) : std::nullopt;
  };
  switch (step.operation) {
    case Operation::is_null:
      return false;
    case Operation::equal:
      return compared(step.literals.front(), [](auto a, auto b) { return a == b; });
    case Operation::less:
      return compared(step.literals.front(), [](auto a, auto b) { return a < b; });
    case Operation::at_most:
      return compared(step.literals.front(), [](auto a, auto b) { return a <= b; });
    case Operation::in: {
      Truth any = false;
      for (const Literal& literal : step.literals) {
        const Truth equal = compared(literal, [](auto a, auto b) { return a == b; });
        if (equal == true) return true;
        if (!equal) any = std::nullopt;
      }
      return any;
    }
    default:
      return std::nullopt;
  }
}

std::vector<std::optional<bool>> OutcomeExpression::evaluate(const Cohort& cohort) const {
  std::vector<std::optional<bool>> result(static_cast<std::size_t>(cohort.student_count()));
  std::vector<const Attribute*> attributes;
  for (const std::string& column : columns_) {
    attributes.push_back(find_column(cohort, column));
    if (attributes.back() == nullptr) return result;
  }
  // What a condition on one column says of each of its values; a column has far fewer values than students.
  std::vector<std::vector<Truth>> of_code(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].operation >= Operation::negation) continue;
    for (const std::string& value : attributes[steps_[i].column]->values)
      of_code[i].push_back(holds(steps_[i], value));
  }
  std::vector<Truth> stack;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    const bool is_over = periods_are_over(cohort, s);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Operation operation = steps_[i].operation;
      if (operation < Operation::negation) {
        const Id code = attributes[steps_[i].column]->codes[static_cast<std::size_t>(s)];
        Truth truth = code >= 0 ? of_code[i][static_cast<std::size_t>(code)] : std::nullopt;
        if (operation == Operation::is_null && code < 0 && is_over) truth = true;
        if (operation != Operation::is_null && !is_over) truth = std::nullopt;  // the value may still change
        stack.push_back(truth);
      } else if (operation == Operation::negation) {
        if (stack.back()) stack.back() = !*stack.back();
      } else {
        const Truth right = stack.back();
        stack.pop_back();
        const bool decides = operation == Operation::disjunction;  // true decides "or", false decides "and"
        Truth& left = stack.back();
        left = left == decides || right == decides ? Truth(decides) : !left || !right ? std::nullopt : Truth(!decides);
      }
    }
    const Truth truth = stack.back();
    stack.clear();
    result[static_cast<std::size_t>(s)] = is_over ? truth.value_or(false) : truth;
  }
  return result;
}

}  // namespace desirepath::inline transcripts
