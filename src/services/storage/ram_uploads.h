// RamUploads: the uploads of amnesia mode, and who may do what to one of them when.
//
// Any thread. Every method is atomic under one mutex, but for commit(), which lets it go while the
// object is made. Whoever commits takes the bytes of the parts out under the mutex; the numbers and
// values of the parts, which everyone may look at, stay as they are until the upload is gone. So
// nobody meets an upload that is half committed, and one whose commit failed is what it was before.
//
// The policies let models/ run this code under every schedule: Sync names a Mutex, Bytes has
// size(), Reply has send(Result<Added>).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "volume/volume.h"

namespace ron::storage {

// A commit is remembered until its upload would have expired, so that it can be repeated; of very
// many the oldest uploads are forgotten first.
inline constexpr std::size_t kRememberedCommits = 8192;

template <class Sync, class Bytes, class Reply>
class RamUploads {
 public:
  using Added = volume::Added;
  using UploadId = volume::UploadId;

  struct Part {
    b3::ChainingValue value;
    Bytes bytes;  // with whoever commits, while somebody does
  };
  using Parts = std::map<std::uint64_t, Part>;
  struct Open {
    volume::Upload upload;
    Parts parts;  // nobody changes them while the upload is being committed
    bool committing = false;
    std::vector<Bytes> taken;    // for the one who commits alone
    std::vector<Reply> waiting;  // of those who commit it, too
  };
  using OpenPtr = std::unique_ptr<Open>;

  // What declares the mutex, if it has to be declared.
  template <class... Decl>
  explicit RamUploads(const Decl&... decl) : mutex_(decl...) {}

  // False: the name is taken.
  bool begin(volume::Upload upload) {
    auto open = std::make_unique<Open>();
    open->upload = std::move(upload);
    std::string key(open->upload.id.text());
    const std::lock_guard guard(mutex_);
    return !committed_.contains(key) && open_.try_emplace(std::move(key), std::move(open)).second;
  }

  // What the part took the place of is the caller's to free.
  struct Kept {
    b3::ChainingValue value;
    std::optional<Bytes> replaced;
  };
  base::Result<Kept> keep(const UploadId& id, std::uint64_t number, Bytes bytes,
                          b3::ChainingValue value, std::int64_t now_unix_s) {
    const std::lock_guard guard(mutex_);
    Open* const open = find_open(id, now_unix_s);
    if (open == nullptr) return base::fail(no_upload());
    if (number >= open->upload.parts() || bytes.size() != open->upload.part_length(number)) {
      return base::fail(base::Code::Malformed, "the upload has no such part of that length");
    }
    const auto before = open->parts.find(number);
    if (before == open->parts.end()) {
      if (open->committing) return base::fail(being_committed());
      open->parts.emplace(number, Part{value, std::move(bytes)});
      return Kept{value, std::nullopt};
    }
    // A repetition changes nothing, also for the one who commits.
    if (before->second.value == value) return Kept{value, std::move(bytes)};
    if (open->committing) return base::fail(being_committed());
    std::swap(before->second.bytes, bytes);
    before->second.value = value;
    return Kept{value, std::move(bytes)};
  }

  // An upload whose parts are all there, for the one who commits it.
  struct Claimed {
    const volume::Upload& upload;
    const Parts& parts;         // their values
    std::vector<Bytes>& bytes;  // of the parts in order
  };
  // Has `make` publish the object: base::Result<Added>(Claimed), without the mutex. When it fails
  // it leaves the bytes as they were. Whoever commits the upload meanwhile gets the same answer,
  // and so does whoever commits it again.
  template <class Make>
  void commit(const UploadId& id, std::int64_t now_unix_s, Reply reply, Make make) {
    base::Result<Open*> claimed = nullptr;
    std::optional<Added> before;
    {
      const std::lock_guard guard(mutex_);
      before = find_committed(id, now_unix_s);
      if (!before) claimed = claim(id, now_unix_s);
      if (claimed && *claimed != nullptr && (*claimed)->committing) {
        (*claimed)->waiting.push_back(std::move(reply));
        return;
      }
      if (claimed && *claimed != nullptr) take_bytes(**claimed);
    }
    if (before) return static_cast<void>(std::move(reply).send(*before));
    if (!claimed) return static_cast<void>(std::move(reply).send(base::fail(claimed.error())));
    Open& open = **claimed;
    base::Result<Added> added = make(Claimed{open.upload, open.parts, open.taken});
    std::vector<Reply> waiting = added ? end(open, *added) : give_back(open);
    static_cast<void>(std::move(reply).send(added));
    if (added) added->is_new = false;
    for (Reply& other : waiting) static_cast<void>(std::move(other).send(added));
  }

  // What the upload was committed as.
  std::optional<Added> committed(const UploadId& id, std::int64_t now_unix_s) const {
    const std::lock_guard guard(mutex_);
    return find_committed(id, now_unix_s);
  }

  base::Result<volume::UploadState> find(const UploadId& id, std::int64_t now_unix_s) const {
    const std::lock_guard guard(mutex_);
    volume::UploadState state;
    if (const auto done = committed_.find(id.text()); done != committed_.end()) {
      if (done->second.upload.expires_unix_s <= now_unix_s) return base::fail(no_upload());
      state.upload = done->second.upload;
      state.committed = done->second.address;
      return state;
    }
    const Open* const open = find_open(id, now_unix_s);
    if (open == nullptr) return base::fail(no_upload());
    state.upload = open->upload;
    for (const auto& [number, part] : open->parts) {
      if (state.arrived.empty() || state.arrived.back().last + 1 != number) {
        state.arrived.push_back({number, number});
      } else {
        state.arrived.back().last = number;
      }
    }
    return state;
  }

  // What was open is the caller's to free.
  base::Result<OpenPtr> abort(const UploadId& id) {
    const std::lock_guard guard(mutex_);
    const auto found = open_.find(id.text());
    if (found == open_.end()) return base::fail(no_upload());
    if (found->second->committing) return base::fail(being_committed());
    OpenPtr aborted = std::move(found->second);
    open_.erase(found);
    return aborted;
  }

  // Likewise.
  std::vector<OpenPtr> take_expired(std::int64_t now_unix_s) {
    std::vector<OpenPtr> expired;
    const std::lock_guard guard(mutex_);
    for (auto at = open_.begin(); at != open_.end();) {
      const bool over = at->second->upload.expires_unix_s <= now_unix_s && !at->second->committing;
      if (over) expired.push_back(std::move(at->second));
      at = over ? open_.erase(at) : std::next(at);
    }
    return expired;
  }

  [[nodiscard]] std::size_t count_open() const {
    const std::lock_guard guard(mutex_);
    return open_.size();
  }

 private:
  struct Committed {
    volume::Upload upload;
    base::ObjectId address;
  };

  static base::Error no_upload() { return {base::Code::NotFound, "there is no such upload"}; }
  static base::Error being_committed() {
    return {base::Code::PreconditionFailed, "the upload is being committed"};
  }

  // All below: under the mutex, but for end() and give_back(), which take it.

  Open* find_open(const UploadId& id, std::int64_t now_unix_s) const {
    const auto found = open_.find(id.text());
    if (found == open_.end()) return nullptr;
    return found->second->upload.expires_unix_s > now_unix_s ? found->second.get() : nullptr;
  }

  std::optional<Added> find_committed(const UploadId& id, std::int64_t now_unix_s) const {
    const auto found = committed_.find(id.text());
    if (found == committed_.end()) return std::nullopt;
    const Committed& done = found->second;
    if (done.upload.expires_unix_s <= now_unix_s) return std::nullopt;
    return Added{done.address, done.upload.length, false};
  }

  base::Result<Open*> claim(const UploadId& id, std::int64_t now_unix_s) const {
    Open* const open = find_open(id, now_unix_s);
    if (open == nullptr) return base::fail(no_upload());
    std::uint64_t first_missing = 0;
    for (const auto& [number, part] : open->parts) {
      if (number != first_missing) break;
      ++first_missing;
    }
    if (first_missing == open->upload.parts()) return open;
    return base::fail(base::Error(base::Code::PreconditionFailed, "parts of the upload are missing")
                          .with("first_missing", std::to_string(first_missing)));
  }

  void take_bytes(Open& open) {
    open.committing = true;
    open.taken.reserve(open.parts.size());
    for (auto& [number, part] : open.parts) open.taken.push_back(std::move(part.bytes));
  }

  std::vector<Reply> give_back(Open& open) {
    const std::lock_guard guard(mutex_);
    auto bytes = open.taken.begin();
    for (auto& [number, part] : open.parts) part.bytes = std::move(*bytes++);
    open.taken.clear();
    open.committing = false;
    return std::exchange(open.waiting, {});
  }

  // Ids are in order of time: the first is the one that expires first.
  std::vector<Reply> end(Open& open, const Added& added) {
    const std::string key(open.upload.id.text());
    OpenPtr ended;  // freed after the mutex is let go
    const std::lock_guard guard(mutex_);
    const auto found = open_.find(key);
    ended = std::move(found->second);
    open_.erase(found);
    committed_.insert_or_assign(key, Committed{ended->upload, added.id});
    if (committed_.size() > kRememberedCommits) committed_.erase(committed_.begin());
    return std::move(ended->waiting);
  }

  mutable typename Sync::Mutex mutex_;
  // Guarded by mutex_. By the text of their ids.
  std::map<std::string, OpenPtr, std::less<>> open_;
  std::map<std::string, Committed, std::less<>> committed_;
};

}  // namespace ron::storage
