#include "services/storage/upload_table.h"

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
  if (entries_.size() >= max_open()) {
    std::erase_if(entries_, [now_unix_s](const Entries::value_type& entry) {
      return entry.second.open.upload.expires_unix_s <= now_unix_s;
    });
  }
  if (entries_.size() >= max_open()) return;
  entries_.try_emplace(std::move(key), Entry{std::move(upload), std::move(reservation)});
}

void UploadTable::drop(const volume::UploadId& id) {
  const std::lock_guard guard(lock_);
  const auto found = entries_.find(id.text());
  if (found != entries_.end()) entries_.erase(found);
}

}  // namespace ron::storage
