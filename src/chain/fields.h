// Fields: the map of a document, read strictly. Unknown keys are refused by name, and every error
// says which field of what is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/value.h"

namespace ron::chain {

inline constexpr std::size_t kTimeChars = 40;     // of an RFC 3339 time
inline constexpr std::size_t kReasonChars = 512;  // of what people say about a change

// Text that people read: valid UTF-8 (checked when it was parsed) without control characters.
bool is_plain_text(std::string_view text) noexcept;

// A view: the document outlives it.
class Fields {
 public:
  // `what` names the map in errors, such as "a signer". Malformed if it is no map or has other keys
  // than `known`.
  static base::Result<Fields> of(const base::Value& value, std::string_view what,
                                 std::initializer_list<std::string_view> known);

  [[nodiscard]] bool has(std::string_view key) const { return value_->find(key) != nullptr; }
  // Required, each; has() asks whether an optional one is there.
  [[nodiscard]] base::Result<std::string> text(std::string_view key, std::size_t most_chars) const;
  [[nodiscard]] base::Result<std::uint64_t> number(std::string_view key) const;
  [[nodiscard]] base::Result<const base::Value::Array*> array(std::string_view key,
                                                              std::size_t most_items) const;
  [[nodiscard]] base::Result<const base::Value*> any(std::string_view key) const;

 private:
  Fields(const base::Value& value, std::string_view what) : value_(&value), what_(what) {}
  [[nodiscard]] base::Error wrong(std::string_view key, std::string_view must) const;

  const base::Value* value_;
  std::string_view what_;
};

}  // namespace ron::chain
