// KeyValue: an ordered map on disk, for indexes that can be made again from a log.
//
// Writes are atomic per batch and become durable in order: after a crash the map is as it was after
// some batch, never earlier than the last flush(). It keeps no log of its own, so whoever needs
// more than that writes its own log and its position in it with every batch. Keys compare as bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "platform/task.h"

namespace ron::platform {

// Changes that happen together, in the order they were added. A plain value.
struct KeyValueBatch {
  struct Change {
    std::string key;
    std::optional<std::string> value;  // none: erase
  };
  std::vector<Change> changes;

  void put(std::string key, std::string value) {
    changes.push_back({std::move(key), std::move(value)});
  }
  void erase(std::string key) { changes.push_back({std::move(key), std::nullopt}); }
  [[nodiscard]] bool empty() const noexcept { return changes.empty(); }
};

using KeyValuePair = std::pair<std::string, std::string>;

// Errors: IntegrityFail (the map is damaged there), StorageFull, StorageBusy (I/O error). Any
// executor of the host may use it; writes come from one at a time.
class KeyValue {
 public:
  KeyValue() = default;
  KeyValue(const KeyValue&) = delete;
  KeyValue& operator=(const KeyValue&) = delete;
  virtual ~KeyValue() = default;

  enum class Found : std::uint8_t { Yes, No, Unknown };
  // What memory alone can tell: Unknown when the disk would have to be asked. Never waits; `value`
  // is filled on Yes and keeps its capacity.
  virtual base::Result<Found> try_get(std::string_view key, std::string& value) = 0;
  // Cancel-safe.
  virtual Task<base::Result<std::optional<std::string>>> get(std::string key) = 0;
  // Up to `limit` pairs with `from` <= key < `until` in order; an empty `until` means no end.
  // Sees one moment of the map. Cancel-safe.
  virtual Task<base::Result<std::vector<KeyValuePair>>> scan(std::string from, std::string until,
                                                             std::size_t limit) = 0;
  // Visible to everyone when it returns; durable after a later flush(). Not cancel-safe: an aborted
  // write may still happen.
  virtual Task<base::Result<void>> write(KeyValueBatch batch) = 0;
  // Everything written before is durable when it returns. Not cancel-safe.
  virtual Task<base::Result<void>> flush() = 0;
  // Memory it takes for itself.
  [[nodiscard]] virtual std::uint64_t memory_bytes() const = 0;
};

struct KeyValueOptions {
  std::uint64_t cache_bytes = 0;  // for blocks read from disk
};

// Where maps come from. A map must be destroyed before its path is opened or removed again.
class KeyValues {
 public:
  KeyValues() = default;
  KeyValues(const KeyValues&) = delete;
  KeyValues& operator=(const KeyValues&) = delete;
  virtual ~KeyValues() = default;

  // Creates the map if there is none at `path`. IntegrityFail if it is damaged beyond opening.
  virtual Task<base::Result<std::unique_ptr<KeyValue>>> open(std::string path,
                                                             KeyValueOptions options) = 0;
  // Removes all of it; fine if there is none.
  virtual Task<base::Result<void>> destroy(std::string path) = 0;
};

}  // namespace ron::platform
