// Descriptor: one thing the registry knows of: a node, a service, a region or a placement. Every
// type has its known fields; others are refused, so that a misspelt one is never approved unseen.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "base/value.h"

namespace ron::chain {

struct Descriptor {
  std::string type;
  std::string id;
  base::Value value;      // all of it, `type` and `id` included
  std::size_t bytes = 0;  // of its deterministic CBOR

  [[nodiscard]] std::string key() const { return type + "/" + id; }
  friend bool operator==(const Descriptor&, const Descriptor&) = default;
};
// A placement with two full lists of ids, rounded up.
inline constexpr std::size_t kMaxDescriptorBytes = 10 * base::kKiB;
using DescriptorPtr = std::shared_ptr<const Descriptor>;

// Malformed says which field is wrong.
base::Result<Descriptor> parse_descriptor(const base::Value& value);
// `type/id` with a known type.
base::Result<std::string> parse_descriptor_key(std::string_view text);
bool is_descriptor_type(std::string_view type) noexcept;
// [a-z0-9][a-z0-9._-]{0,62}
bool is_descriptor_id(std::string_view id) noexcept;

}  // namespace ron::chain
