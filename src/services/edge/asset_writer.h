// AssetWriter: the body of an origin's answer on its way to the disk, in constant memory.
//
// A body of at most base::limits::kDecodedBytes stays in memory until it is whole and is stored by
// one write. A larger one is an upload in parts. If its length is not known before its end, its
// parts are objects of their own until then, because an upload says its length when it begins.
//
// What may not be kept is never on disk, not even on its way: if it is larger than what is held in
// memory, it is refused with BodyCap.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "services/edge/asset_store.h"
#include "services/edge/fetch.h"

namespace ron::edge {

// One task; the store outlives it. What it has written is removed again unless keep() is called.
class AssetWriter final : public BodySink {
 public:
  // `may_keep` as far as the request is concerned; begin() asks the answer, too.
  AssetWriter(AssetStore& store, runtime::Semaphore::Permit place, std::string hold, bool may_keep);
  ~AssetWriter() override;

  platform::Task<base::Result<>> begin(const Fetched* head) override;
  platform::Task<base::Result<>> write(base::ByteView piece) override;

  struct Body {
    base::ObjectId address{};
    std::uint64_t length = 0;
    base::Buffer bytes{};    // of a small one; a large one is on disk only
    bool is_stored = false;  // durable
  };
  // After the fetch has succeeded: makes the body durable, a small one only if it is `wanted`. One
  // that the disk does not take is not stored, and if it is large, this fails. Cancel-safe.
  platform::Task<base::Result<Body>> finish(bool wanted);

  // The body was larger than what may not be kept can be.
  [[nodiscard]] bool refused() const noexcept { return refused_; }

  // The table has taken the asset and let go of others for it: the body stays.
  void keep(AssetPtr asset, std::vector<AssetPtr> gone);

 private:
  // A part of what is in memory goes to the disk.
  platform::Task<base::Result<>> pass_part_on(base::Buffer part);
  // Before the first byte of a large body: it has to be on disk to be sent.
  platform::Task<base::Result<>> find_room();
  platform::Task<base::Result<>> put(base::ObjectId address, base::Buffer bytes);
  platform::Task<base::Result<>> begin_upload(std::uint64_t length);
  platform::Task<base::Result<>> put_part(base::Buffer part);
  platform::Task<base::Result<>> move_spooled();
  platform::Task<base::Result<Body>> finish_small(bool wanted);
  void append(base::ByteView piece);
  base::Error refuse();
  // Everything so far was worth nothing.
  void start_over();

  AssetStore& store_;
  const std::string hold_;
  Change change_;  // has a place until it is submitted
  base::Buffer buffer_;
  std::uint64_t length_ = 0;
  std::uint64_t parts_ = 0;              // that the upload has
  std::vector<base::ObjectId> spooled_;  // parts of a body whose length is not known
  bool is_large_ = false;
  const bool request_allows_;
  bool may_keep_ = true;  // this answer
  bool refused_ = false;
};

}  // namespace ron::edge
