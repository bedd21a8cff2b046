// What a configuration key can hold: raw values as a layer wrote them, typed values after reading.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace ron::config {

// A value as a layer wrote it, before any type is applied. A plain tree; copies are independent.
// Word is text from the environment, a flag or a declared default: it has no quotes to tell 5 from
// "5", so any kind may read it. The other shapes come from TOML and are held to their type.
struct Raw {
  enum class Shape : std::uint8_t { Word, Boolean, Integer, Float, String, List, Table, Date };

  Shape shape = Shape::Word;
  std::string name;  // set when this is a member of a Table
  std::string text;  // Word and String
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0;
  std::vector<Raw> items;  // of a List, or members of a Table in file order
  std::uint32_t line = 0;  // 1 is the first; 0 when not from a file

  static Raw word(std::string text) {
    Raw raw;
    raw.text = std::move(text);
    return raw;
  }
};

// HOST:PORT. An IPv6 host is written in brackets and kept without them. The empty address (no host)
// means "not set" and is accepted only where a key says so.
struct Address {
  std::string host;
  std::uint16_t port = 0;

  [[nodiscard]] bool empty() const noexcept { return host.empty(); }
  friend bool operator==(const Address&, const Address&) = default;
};

// `127.0.0.1:8080`, `localhost:0`, `[::1]:8080`. Whether the host exists is not looked at.
base::Result<Address> parse_address(std::string_view text);
std::string print(const Address& address);

using TextList = std::vector<std::string>;
using CountMap = std::map<std::string, std::uint64_t>;

struct Value;
// Rows of an array of tables; each row has one value per declared field, in declaration order.
struct Records {
  std::vector<std::vector<Value>> rows;
};

// A value after reading: one alternative per Kind (an enum key holds the name it was given).
// Immutable once inside a Config.
struct Value {
  std::variant<bool, std::uint64_t, double, base::Size, base::Duration, base::Rate, std::string,
               TextList, Address, CountMap, Records>
      data;

  template <class T>
  [[nodiscard]] const T& as() const {
    return std::get<T>(data);
  }
};

bool operator==(const Records& a, const Records& b);
bool operator==(const Value& a, const Value& b);

// `text` as a TOML basic string, quotes included.
std::string toml_string(std::string_view text);
// At most `limit` bytes of `text` with everything that is not printable ASCII escaped: for showing
// untrusted text in a message or on a terminal.
std::string printable(std::string_view text, std::size_t limit = 96);
// The shortest decimal form that reads back as the same TOML float.
std::string print(double number);

}  // namespace ron::config
