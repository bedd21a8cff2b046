// What a version changes, and the payload that its signers approve.
//
// A payload is the deterministic CBOR of `{"change", "reason"?, "if_head"?}` exactly as it was
// proposed. Everything here is parsed strictly and is a plain value afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "base/units.h"
#include "base/value.h"
#include "chain/descriptor.h"
#include "chain/signers.h"

namespace ron::chain {

inline constexpr std::size_t kMaxPayloadBytes = base::kMiB;
inline constexpr std::size_t kMaxChangeItems = 1024;  // descriptors set, or removed

// A version and the hash of its entry.
struct Head {
  std::uint64_t version = 0;
  base::ObjectId hash;
  friend bool operator==(const Head&, const Head&) = default;
};
base::Value to_value(const Head& head);
base::Result<Head> parse_head(const base::Value& value);

// The first version: who may approve the next.
struct Genesis {
  SignerSet set;
};
// Descriptors that come, change or go. One that is to go and is not there is no error.
struct Update {
  std::vector<DescriptorPtr> set;
  std::vector<std::string> remove;  // type/id
};
// Other signers, or another threshold.
struct Rotate {
  SignerSet set;
};
// Signers whose approvals never count again, and who may not come back.
struct Revoke {
  std::vector<std::string> signers;
  std::string reason;
};
struct Change;
// Undoes what HEAD changed, and changes something else instead.
struct Supersede {
  std::uint64_t version = 0;  // HEAD's
  std::string reason;
  std::shared_ptr<const Change> change;
};

struct Change {
  std::variant<Genesis, Update, Rotate, Revoke, Supersede> what;

  template <class T>
  [[nodiscard]] const T* as() const noexcept {
    return std::get_if<T>(&what);
  }
  [[nodiscard]] std::string_view kind() const noexcept;
};

struct Payload {
  Change change;
  std::string reason;           // may be empty
  std::optional<Head> if_head;  // it may follow this version only
};

// Malformed says what is wrong.
base::Result<Payload> parse_payload(const base::Value& value);
// From the bytes that were signed.
base::Result<Payload> decode_payload(base::ByteView bytes);

// The value of a genesis payload.
base::Value genesis_value(const SignerSet& set);

}  // namespace ron::chain
