#include "services/storage/upload_table.h"

#include <algorithm>
#include <utility>

#include "services/storage/wires.h"

namespace ron::storage {

UploadTable::UploadTable(std::uint64_t max_open) : max_open_(max_open), lock_(kUploadsLock) {}

std::optional<OpenUpload> UploadTable::find(const volume::UploadId& id, std::int64_t now_unix_s) {
  const std::lock_guard guard(lock_);
  const auto found = entries_.find(id.text());
  if (found == entries_.end()) return std::nullopt;
  if (found->second.open.upload.expires_unix_s > now_unix_s) return found->second.open;
  entries_.erase(found);
  return std::nullopt;
}

void UploadTable::add(OpenUpload upload, Quotas::Reservation reservation, std::int64_t now_unix_s) {
  std::string key(upload.upload.id.text());
  const std::lock_guard guard(lock_);
  if (entries_.size() >= max_open()) erase_expired(now_unix_s);
  if (entries_.size() >= max_open()) return;
  const std::int64_t expires_s = upload.upload.expires_unix_s;
  first_expiry_s_ = std::min(first_expiry_s_.load(std::memory_order_relaxed), expires_s);
  entries_.try_emplace(std::move(key), Entry{std::move(upload), std::move(reservation)});
}

void UploadTable::drop_expired(std::int64_t now_unix_s) {
  if (first_expiry_s_.load(std::memory_order_relaxed) > now_unix_s) return;
  const std::lock_guard guard(lock_);
  erase_expired(now_unix_s);
}

void UploadTable::erase_expired(std::int64_t now_unix_s) {
  std::int64_t first_s = INT64_MAX;
  for (auto at = entries_.begin(); at != entries_.end();) {
    const std::int64_t expires_s = at->second.open.upload.expires_unix_s;
    if (expires_s <= now_unix_s) {
      at = entries_.erase(at);
      continue;
    }
    first_s = std::min(first_s, expires_s);
    ++at;
  }
  first_expiry_s_.store(first_s, std::memory_order_relaxed);
}

void UploadTable::drop(const volume::UploadId& id) {
  const std::lock_guard guard(lock_);
  const auto found = entries_.find(id.text());
  if (found != entries_.end()) entries_.erase(found);
}

}  // namespace ron::storage
