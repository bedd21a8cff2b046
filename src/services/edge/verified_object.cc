#include "services/edge/verified_object.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <utility>

#include "b3/geometry.h"

namespace ron::edge {

using base::Code;
using base::fail;
using base::Result;

static_assert(ObjectVerifier::kPieceBytes % b3::kGroupBytes == 0);

bool VerifiedObject::has(std::uint64_t offset, base::ByteView bytes) const {
  if (offset % b3::kGroupBytes != 0 || offset > length || bytes.size() > length - offset) {
    return false;
  }
  const std::uint64_t first = offset / b3::kGroupBytes;
  std::vector<b3::ChainingValue> found(b3::group_count(bytes.size()));
  b3::group_values(bytes, first, found);
  return std::ranges::equal(found, std::span(groups).subspan(first, found.size()));
}

ObjectVerifier::ObjectVerifier(std::uint64_t length)
    : object_(std::make_shared<VerifiedObject>()), piece_(kPieceBytes) {
  assert(length > b3::kGroupBytes);
  object_->length = length;
  object_->groups.reserve(b3::group_count(length));
}

Result<> ObjectVerifier::append(base::ByteView bytes) {
  if (bytes.size() > object_->length - hashed_ - filled_) {
    return fail(Code::IntegrityFail, "an object's bytes are more than it has");
  }
  while (!bytes.empty()) {
    const std::size_t taken = std::min(bytes.size(), kPieceBytes - filled_);
    std::memcpy(piece_.span().data() + filled_, bytes.data(), taken);
    filled_ += taken;
    bytes = bytes.subspan(taken);
    if (filled_ == kPieceBytes) hash_piece();
  }
  return {};
}

void ObjectVerifier::hash_piece() {
  const std::size_t before = object_->groups.size();
  object_->groups.resize(before + b3::group_count(filled_));
  b3::group_values(piece_.view().first(filled_), before,
                   std::span(object_->groups).subspan(before));
  hashed_ += std::exchange(filled_, 0);
}

Result<VerifiedPtr> ObjectVerifier::finish(const base::ObjectId& address) {
  if (filled_ > 0) hash_piece();
  if (hashed_ != object_->length) {
    return fail(Code::IntegrityFail, "an object's bytes are fewer than it has");
  }
  const auto found = b3::root_of(object_->length, b3::kGroupBytes, object_->groups);
  if (!found) return fail(found.error());
  if (*found != address) {
    return fail(Code::IntegrityFail, "the origin's bytes do not match their address");
  }
  return VerifiedPtr(std::move(object_));
}

}  // namespace ron::edge
