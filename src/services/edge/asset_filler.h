// AssetFiller: from an origin to the table of URLs, the disk and memory. What a worker does.
//
// An asset is known only once its bytes are whole, hashed and durable; a fill that fails or is
// aborted leaves nothing behind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "platform/task.h"
#include "services/edge/asset.h"
#include "services/edge/asset_request.h"
#include "services/edge/asset_store.h"
#include "services/edge/asset_writer.h"
#include "services/edge/jobs.h"
#include "services/edge/parts.h"
#include "services/edge/url_table.h"

namespace ron::edge {

// What a fill came to, for all who waited for it.
struct Filled {
  std::uint64_t order = 0;  // whose it was
  Preferences asked{};      // what the origin was told
  // Why there is nothing else here. Another request may have got an asset all the same.
  std::optional<base::Error> error{};
  AssetPtr asset{};
  kit::RepresentationPtr body{};  // of a small one that is new
  volume::ObjectHandle object{};  // of a large one that is new
  bool is_revalidated = false;    // the origin said that the copy is still right

  // A request with these fields would have got the same.
  [[nodiscard]] bool fits(const Preferences& wanted) const {
    return error ? wanted == asked : asset->fits(wanted);
  }
};

struct FillOrder {
  std::uint64_t id = 0;
  AssetRequest wanted;
  FetchRequest fetch;
  AssetPtr copy{};       // to be checked with the origin; null: there is none
  bool may_keep = true;  // as far as the request is concerned
};

inline MemoryKey memory_key(const Asset& asset) noexcept { return {asset.serial, 0, 0}; }

// Any core.
class AssetFiller {
 public:
  // Without a store everything is in memory only.
  AssetFiller(const EdgeParts& parts, UrlTable& table, AssetStore* store)
      : parts_(parts), table_(table), store_(store) {}
  AssetFiller(const AssetFiller&) = delete;
  AssetFiller& operator=(const AssetFiller&) = delete;

  // What the origin says, or why it does not: as an error if that is so whatever a request says, as
  // Filled::error if it may be different for other requests. Amnesia when there is no disk and too
  // little memory. Cancel-safe.
  platform::Task<base::Result<FilledPtr>> fill(FillOrder order);

 private:
  platform::Task<base::Result<FilledPtr>> fill_to_disk(FillOrder order);
  platform::Task<base::Result<FilledPtr>> fill_to_memory(FillOrder order);
  platform::Task<base::Result<FilledPtr>> take_body(const FillOrder* order, Fetched* fetched,
                                                    AssetWriter* writer, std::string hold,
                                                    std::uint64_t purges);
  // A 304, 404 or 410: nothing but the table changes. `gone` is what it let go; nothing: it is not
  // kept.
  std::shared_ptr<Filled> take_word(const FillOrder& order, Fetched& fetched, std::uint64_t purges,
                                    std::optional<UrlTable::LetGo>& gone);
  // Memory and the table take it, unless there was a purge since it was asked for: then nothing.
  std::optional<UrlTable::LetGo> remember(const Filled& filled, std::uint64_t purges);
  AssetPtr make_asset(const FillOrder& order, Fetched& fetched, const AssetWriter::Body& body,
                      std::string hold);
  [[nodiscard]] base::Duration patience() const;

  EdgeParts parts_;
  UrlTable& table_;
  AssetStore* store_;
};

}  // namespace ron::edge
