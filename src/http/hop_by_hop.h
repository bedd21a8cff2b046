// Which fields of a message go on to the next hop (RFC 9110, 7.6.1), for whoever forwards one.
//
// Dropped are Connection and every field it names, Keep-Alive, Proxy-*, TE, Trailer,
// Transfer-Encoding and Upgrade. So are the fields that the next hop's writer makes from the
// message's structure, Content-Length and in a request Host and Expect: what is left can be handed
// to render() (message.h) or Client::send as it is, and is written anew, never copied as bytes.
//
// Pure functions over views; nothing allocates.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/limits.h"
#include "http/fields.h"

namespace ron::http {

// The name alone says that the field is for the next hop only. `name` must be a token.
bool is_hop_by_hop(std::string_view name) noexcept;

enum class MessageKind : std::uint8_t { Request, Response };

// The fields of one message that are forwarded, in their order; with room for a few of the
// forwarder's own. Views live as long as those of the message.
class ForwardedFields {
 public:
  static constexpr std::size_t kOwnFields = 8;

  // At most base::limits::kHeadFields of them, which no parsed head exceeds.
  ForwardedFields(MessageKind kind, std::span<const Field> received) noexcept;

  [[nodiscard]] std::span<const Field> fields() const noexcept { return {fields_.data(), count_}; }

  // A field of the forwarder's own, kOwnFields at most. Views must live as long.
  void add(std::string_view name, std::string_view value) noexcept;
  // Every line of the field; for one that the forwarder says in its own words.
  void remove(std::string_view name) noexcept;
  // Every line whose name it is true for.
  template <class IsUnwanted>
  void remove_if(IsUnwanted is_unwanted) noexcept {
    const auto end = fields_.begin() + static_cast<std::ptrdiff_t>(count_);
    const auto kept = std::remove_if(fields_.begin(), end,
                                     [&](const Field& field) { return is_unwanted(field.name); });
    count_ = static_cast<std::size_t>(kept - fields_.begin());
  }

 private:
  std::size_t count_ = 0;
  std::size_t own_ = 0;
  // Not cleared, which would cost more than filling the few that are used: the first count_ count.
  union {
    std::array<Field, base::limits::kHeadFields + kOwnFields> fields_;
  };
};

}  // namespace ron::http
