// Batch: what one synchronisation makes durable: records laid out for the log, the changes they
// make to the index, and the answers that wait for both.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "platform/task.h"
#include "volume/index.h"
#include "volume/record.h"
#include "volume/segment.h"
#include "volume/volume.h"

namespace ron::volume {

// One task at a time. Small payloads are copied behind their heads; large ones are taken as they
// are.
class Batch {
 public:
  // The log ends at `after`, durably. The first record will stand there, or at the next page.
  Batch(Draft draft, Seal seal, LogPosition after, bool at_next_page)
      : draft_(std::move(draft)),
        seal_(seal),
        durable_before_(after.offset),
        start_{after.segment, at_next_page ? next_page(after.offset) : after.offset},
        end_(start_.offset) {}

  [[nodiscard]] Draft& draft() noexcept { return draft_; }
  [[nodiscard]] const Draft& draft() const noexcept { return draft_; }
  [[nodiscard]] std::uint64_t segment() const noexcept { return start_.segment; }
  [[nodiscard]] LogPosition start() const noexcept { return start_; }
  [[nodiscard]] LogPosition end() const noexcept { return {start_.segment, end_}; }
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }
  [[nodiscard]] bool has_records() const noexcept { return records_ != 0; }
  // The record is part of this batch: not on the medium yet.
  [[nodiscard]] bool holds(const Place& place) const noexcept {
    return place.segment == start_.segment && place.offset >= start_.offset;
  }

  // Appends the record and applies it to the draft. A sequence of 0 means the next one. After an
  // error the batch is worth nothing.
  platform::Task<base::Result<void>> add(Record record, base::Buffer payload);

  // The value is sent when the batch is durable, or the error when it failed.
  template <class T>
  void answer(Reply<T> reply, base::Result<T> value) {
    answers_.push_back(
        [to = std::move(reply), what = std::move(value)](const base::Error* error) mutable {
          if (error != nullptr) what = base::fail(*error);
          std::move(to).send(std::move(what));
        });
  }
  void answer_all(const base::Error* error);

  // What to write at start().
  [[nodiscard]] std::vector<base::Buffer> take_pieces();

 private:
  static constexpr std::size_t kCopyBytes = 64 * base::kKiB;  // larger payloads are not copied
  static constexpr std::size_t kFirstChunkBytes = 8 * base::kKiB;
  static constexpr std::size_t kLargestChunkBytes = 1 * base::kMiB;

  base::MutableBytes extend(std::size_t bytes);
  void finish_chunk();

  Draft draft_;
  Seal seal_;
  std::uint64_t durable_before_;
  LogPosition start_;
  std::uint64_t end_;
  std::uint64_t records_ = 0;
  std::vector<base::Buffer> pieces_;
  base::Buffer chunk_;
  std::size_t chunk_used_ = 0;
  std::size_t chunk_bytes_ = kFirstChunkBytes;
  std::vector<std::move_only_function<void(const base::Error*)>>
      answers_;  // at most kBatchCommands
};

// The same bytes in whole pages, filled up with zeros, as a direct file wants them. Copies all: for
// a thread that may take its time.
std::vector<base::Buffer> in_pages(std::vector<base::Buffer> pieces);

}  // namespace ron::volume
