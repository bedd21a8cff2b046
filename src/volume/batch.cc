#include "volume/batch.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace ron::volume {

platform::Task<base::Result<void>> Batch::add(Record record, base::Buffer payload) {
  assert(payload.size() == record.payload_bytes);
  if (record.sequence == 0) record.sequence = draft_.take_sequence();
  record.durable_before = durable_before_;
  const Place place{start_.segment, end_, static_cast<std::uint32_t>(record.head_bytes()),
                    record.payload_bytes};
  encode(record, {seal_, place.segment, place.offset}, extend(place.head_bytes));
  const std::size_t padding =
      static_cast<std::size_t>(place.stored_bytes() - place.head_bytes - place.payload_bytes);
  if (payload.size() > kCopyBytes) {
    finish_chunk();
    pieces_.push_back(std::move(payload));
  } else if (payload.size() > 0) {
    std::memcpy(extend(payload.size()).data(), payload.data(), payload.size());
  }
  std::ranges::fill(extend(padding), std::byte{0});
  end_ += place.stored_bytes();
  ++records_;
  auto applied = co_await draft_.apply(&record, place);
  co_return applied;
}

void Batch::answer_all(const base::Error* error) {
  for (auto& answer : answers_) answer(error);
  answers_.clear();
}

base::MutableBytes Batch::extend(std::size_t bytes) {
  if (chunk_.capacity() - chunk_used_ < bytes) {
    finish_chunk();
    chunk_ = base::Buffer(std::max(bytes, chunk_bytes_));
    chunk_bytes_ = std::min(2 * chunk_bytes_, kLargestChunkBytes);
  }
  const base::MutableBytes room(chunk_.data() + chunk_used_, bytes);
  chunk_used_ += bytes;
  return room;
}

void Batch::finish_chunk() {
  if (chunk_used_ == 0) return;
  chunk_.resize(chunk_used_);
  pieces_.push_back(std::exchange(chunk_, {}));
  chunk_used_ = 0;
}

std::vector<base::Buffer> Batch::take_pieces() {
  finish_chunk();
  return std::exchange(pieces_, {});
}

std::vector<base::Buffer> in_pages(std::vector<base::Buffer> pieces) {
  constexpr std::size_t kMostBytes = 1 * base::kMiB;
  static_assert(kMostBytes % base::Buffer::kPageBytes == 0);
  std::uint64_t left = 0;
  for (const base::Buffer& piece : pieces) left += piece.size();
  left = next_page(left);
  std::vector<base::Buffer> pages;
  std::size_t used = 0;  // of the last one
  for (base::Buffer& held : pieces) {
    const base::Buffer piece = std::move(held);  // its memory goes as soon as it is copied
    for (base::ByteView bytes = piece.view(); !bytes.empty();) {
      if (pages.empty() || used == pages.back().size()) {
        pages.emplace_back(static_cast<std::size_t>(std::min<std::uint64_t>(left, kMostBytes)));
        left -= pages.back().size();
        used = 0;
      }
      const std::size_t now = std::min(bytes.size(), pages.back().size() - used);
      std::memcpy(pages.back().data() + used, bytes.data(), now);
      used += now;
      bytes = bytes.subspan(now);
    }
  }
  if (!pages.empty()) std::ranges::fill(pages.back().span().subspan(used), std::byte{0});
  return pages;
}

}  // namespace ron::volume
