// Names: what people call an object or a tree, and the references and keys that lead to one.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/object_id.h"
#include "base/result.h"

namespace ron::catalog {

inline constexpr std::size_t kMaxNameBytes = 1024;
inline constexpr std::size_t kMaxNamespaceBytes = 63;

// A name that keeps the rules: a namespace `[a-z0-9][a-z0-9._-]{0,62}`, then any number of `/` and
// a segment of UTF-8 without control characters or backslashes, none empty, `.` or `..`. The last
// segment does not end in `@` and digits, so that `docs/v2@3` is never a name of its own. At most
// kMaxNameBytes. Made by parse_name() only.
class Name {
 public:
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  // The part before the first slash.
  [[nodiscard]] std::string_view name_space() const noexcept {
    return std::string_view(text_).substr(0, text_.find('/'));
  }

  friend auto operator<=>(const Name&, const Name&) = default;

 private:
  friend base::Result<Name> parse_name(std::string_view text);
  explicit Name(std::string text) noexcept : text_(std::move(text)) {}

  std::string text_;
};

// Malformed says which rule is broken.
base::Result<Name> parse_name(std::string_view text);

// `docs/v2` or `docs/v2@3`: a name, as it is now or at one of its versions, which begin with 1.
struct NameRef {
  Name name;
  std::optional<std::uint64_t> version;

  [[nodiscard]] std::string text() const;
  friend bool operator==(const NameRef&, const NameRef&) = default;
};
base::Result<NameRef> parse_name_ref(std::string_view text);

// What can be resolved. No name begins with `b3:`, so a text is one or the other.
using Key = std::variant<NameRef, base::ObjectId>;
// BadAddress for what begins with `b3:` and is not an address, else Malformed.
base::Result<Key> parse_key(std::string_view text);
std::string print(const Key& key);

// Whether a name is `prefix` or stands below it: `docs` covers `docs` and `docs/v2`, not `docs2`.
// The empty prefix covers every name.
bool is_below(const Name& name, std::string_view prefix) noexcept;

// What a site may be called in URLs: `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`.
bool is_site_name(std::string_view text) noexcept;

// Percent-encodes all but unreserved characters (RFC 3986 §2.3) and `/`, so that the result can
// stand in the path of a URL or as the value of a query's parameter.
std::string encode_in_path(std::string_view text);
inline std::string encode_in_path(const Name& name) { return encode_in_path(name.text()); }

}  // namespace ron::catalog
