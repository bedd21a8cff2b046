// JSON output: an escaper and an appending writer. JSON is read by parse_json() of value.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ron::base {

// Appends `text` as a quoted JSON string. Bytes that are not UTF-8 become U+FFFD, so that the
// output is valid JSON whatever the input was.
void append_json_string(std::string& out, std::string_view text);

// JsonWriter: appends one JSON document to a string it does not own; commas are its business.
// Calls must nest (checked by assertion): a key before each value in an object, every begin with
// its end. One thread; keeps no memory besides the output. Nesting is bounded by kMaxDepth.
class JsonWriter {
 public:
  static constexpr std::size_t kMaxDepth = 64;

  explicit JsonWriter(std::string& out) noexcept : out_(out) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  // Without this overload a literal would be taken for a bool.
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool flag);
  JsonWriter& value(std::uint64_t number);
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(std::uint32_t number) { return value(std::uint64_t{number}); }
  JsonWriter& value(int number) { return value(static_cast<std::int64_t>(number)); }
  // JSON has no infinities and no NaN: those are written as null.
  JsonWriter& value(double number);
  JsonWriter& null();

  // True when every begin has met its end.
  [[nodiscard]] bool complete() const noexcept { return depth_ == 0 && !after_key_; }

 private:
  void separate();
  void open(char bracket);
  void close(char bracket);

  std::string& out_;
  std::size_t depth_ = 0;
  std::uint64_t has_items_ = 0;  // bit d: the container at depth d holds something already
  bool after_key_ = false;
};

}  // namespace ron::base
