// Value as JSON (RFC 8259): a strict parser and the printer.
#include <algorithm>
#include <charconv>

#include "base/encoding.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/value.h"

namespace ron::base {
namespace {

static_assert(Value::kMaxDepth < JsonWriter::kMaxDepth);

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes a document from the front of a text. The first failure is kept, and what is returned after
// it means nothing.
class JsonParser {
 public:
  JsonParser(std::string_view text, ValueLimits limits) : text_(text), limits_(limits) {}

  Result<Value> document() {
    Value value = item(0);
    skip_space();
    if (ok() && at_ < text_.size()) refuse("something follows the document");
    if (ok()) return value;
    return fail(Code::Malformed,
                "the JSON is refused at byte " + std::to_string(failed_at_) + ": " + why_);
  }

 private:
  [[nodiscard]] bool ok() const { return why_ == nullptr; }

  void refuse_at(std::size_t at, const char* why) {
    if (!ok()) return;
    why_ = why;
    failed_at_ = at;
  }
  void refuse(const char* why) { refuse_at(at_, why); }
  // For a byte that cannot stand here: the end is no byte, and says more.
  void refuse_unexpected(const char* why) {
    refuse(at_ == text_.size() ? "the document ends too early" : why);
  }

  // '\0' at the end; a zero byte in the text is accepted nowhere either.
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool take(char c) {
    if (!ok() || at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").contains(text_[at_])) ++at_;
  }

  Value item(std::size_t depth) {
    skip_space();
    if (limits_.items == 0) refuse("the document has too many items");
    if (!ok()) return {};
    --limits_.items;
    switch (peek()) {
      case '{':
        return object(depth + 1);
      case '[':
        return array(depth + 1);
      case '"':
        return string();
      case 't':
        return literal("true", true);
      case 'f':
        return literal("false", false);
      case 'n':
        return literal("null", nullptr);
      default:
        return number();
    }
  }

  Value literal(std::string_view word, Value value) {
    if (!text_.substr(at_).starts_with(word)) {
      refuse("a value was expected");
      return {};
    }
    at_ += word.size();
    return value;
  }

  Value array(std::size_t depth) {
    if (depth > limits_.depth) refuse("arrays and objects are nested too deeply");
    take('[');
    Value::Array items;
    skip_space();
    if (take(']')) return items;
    while (ok()) {
      items.push_back(item(depth));
      skip_space();
      if (take(']')) break;
      if (!take(',')) refuse_unexpected("a comma or a closing bracket was expected");
    }
    return items;
  }

  Value object(std::size_t depth) {
    if (depth > limits_.depth) refuse("arrays and objects are nested too deeply");
    take('{');
    Value::Map pairs;
    skip_space();
    if (take('}')) return pairs;
    while (ok()) {
      pair(pairs, depth);
      skip_space();
      if (take('}')) break;
      if (!take(',')) refuse_unexpected("a comma or a closing brace was expected");
    }
    return pairs;
  }

  void pair(Value::Map& pairs, std::size_t depth) {
    skip_space();
    const std::size_t start = at_;
    if (peek() != '"') refuse_unexpected("a key in quotes was expected");
    std::string key = string();
    if (ok() && pairs.contains(key)) refuse_at(start, "an object has the same key twice");
    skip_space();
    if (ok() && !take(':')) refuse_unexpected("a colon was expected");
    if (!ok()) return;
    Value value = item(depth);
    pairs.emplace(std::move(key), std::move(value));
  }

  Value number() {
    const std::size_t start = at_;
    const bool negative = take('-');
    const std::size_t first_digit = at_;
    while (is_digit(peek())) ++at_;
    const std::string_view digits = text_.substr(first_digit, at_ - first_digit);
    if (digits.empty()) {
      refuse_unexpected(negative ? "a digit was expected" : "a value was expected");
      return {};
    }
    if (digits.size() > 1 && digits.front() == '0') {
      refuse_at(start, "a number has a leading zero");
      return {};
    }
    if (std::string_view(".eE").contains(peek())) {
      refuse_at(start, "a number with a fraction or an exponent is not accepted");
      return {};
    }
    if (negative && digits != "0") return integer<std::int64_t>(start);
    return integer<std::uint64_t>(first_digit);
  }

  // The number from `start` up to here.
  template <class Integer>
  Value integer(std::size_t start) {
    Integer number = 0;
    const auto [end, status] = std::from_chars(text_.data() + start, text_.data() + at_, number);
    if (status != std::errc{}) {
      refuse_at(start, "a number does not fit 64 bits");
      return {};
    }
    return number;
  }

  std::string string() {
    std::string out;
    take('"');
    while (ok() && !take('"')) {
      if (take('\\')) {
        escape(out);
        continue;
      }
      const std::string_view rest = text_.substr(at_);
      const std::size_t length = rest.empty() ? 0 : utf8_length(rest);
      if (length == 0) refuse_unexpected("a text is not UTF-8");
      if (length == 1 && static_cast<unsigned char>(rest.front()) < 0x20) {
        refuse("a control character in a text has to be escaped");
      }
      out += rest.substr(0, length);
      at_ += length;
    }
    return out;
  }

  // What follows a backslash.
  void escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (take('u')) {
      append_utf8(out, code_point());
      return;
    }
    const std::size_t which = kLetters.find(peek());
    if (which == std::string_view::npos) {
      refuse_unexpected("this escape does not exist");
      return;
    }
    out += kMeanings[which];
    ++at_;
  }

  // What follows \u; a character beyond U+FFFF is a pair of surrogates. U+FFFD after a failure.
  char32_t code_point() {
    constexpr char32_t kReplacement = 0xFFFD;
    const std::size_t start = at_ - 2;
    const char32_t unit = hex_unit();
    if (!ok()) return kReplacement;
    if (unit < 0xD800 || unit > 0xDFFF) return unit;
    char32_t low = 0;
    if (unit <= 0xDBFF && take('\\') && take('u')) low = hex_unit();
    if (low < 0xDC00 || low > 0xDFFF) {
      refuse_at(start, "a surrogate stands alone");
      return kReplacement;
    }
    return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
  }

  char32_t hex_unit() {
    char32_t unit = 0;
    for (int i = 0; i < 4; ++i) {
      const int digit = hex_digit(peek());
      if (digit < 0) {
        refuse_unexpected("four hex digits were expected");
        return 0;
      }
      unit = unit * 16 + static_cast<char32_t>(digit);
      ++at_;
    }
    return unit;
  }

  std::string_view text_;
  ValueLimits limits_;  // items: how many may still come
  std::size_t at_ = 0;
  const char* why_ = nullptr;  // null: nothing failed so far
  std::size_t failed_at_ = 0;
};

void print(JsonWriter& json, const Value& value) {
  switch (value.kind()) {
    case Value::Kind::Null:
      json.null();
      return;
    case Value::Kind::Bool:
      json.value(*value.boolean());
      return;
    case Value::Kind::Unsigned:
      json.value(*value.unsigned_number());
      return;
    case Value::Kind::Negative:
      json.value(*value.negative_number());
      return;
    case Value::Kind::Text:
      json.value(*value.text());
      return;
    case Value::Kind::Bytes:
      json.value(to_base64(*value.bytes()));
      return;
    case Value::Kind::Array:
      json.begin_array();
      for (const Value& item : *value.array()) print(json, item);
      json.end_array();
      return;
    case Value::Kind::Map:
      json.begin_object();
      for (const auto& [key, item] : *value.map()) {
        json.key(key);
        print(json, item);
      }
      json.end_object();
      return;
  }
}

}  // namespace

std::string print_json(const Value& value) {
  std::string out;
  JsonWriter json(out);
  print(json, value);
  return out;
}

Result<Value> parse_json(std::string_view text, ValueLimits limits) {
  limits.depth = std::min(limits.depth, Value::kMaxDepth);
  return JsonParser(text, limits).document();
}

}  // namespace ron::base
