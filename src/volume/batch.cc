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
  head_.resize(place.head_bytes);
  encode(record, {seal_, place.segment, place.offset}, head_);
  append(head_);
  append(payload.view());
  append_zeros(
      static_cast<std::size_t>(place.stored_bytes() - place.head_bytes - place.payload_bytes));
  end_ += place.stored_bytes();
  auto applied = co_await draft_.apply(&record, place);
  co_return applied;
}

void Batch::answer_all(const base::Error* error) {
  for (auto& answer : answers_) answer(error);
  answers_.clear();
}

base::MutableBytes Batch::extend(std::size_t bytes) {
  if (chunk_used_ == chunk_.capacity()) {
    finish_chunk();
    chunk_ = base::Buffer(chunk_bytes_);
    chunk_bytes_ = std::min(2 * chunk_bytes_, kLargestChunkBytes);
  }
  const std::size_t room = std::min(bytes, chunk_.capacity() - chunk_used_);
  chunk_used_ += room;
  return {chunk_.data() + chunk_used_ - room, room};
}

void Batch::append(base::ByteView bytes) {
  while (!bytes.empty()) {
    const base::MutableBytes room = extend(bytes.size());
    std::memcpy(room.data(), bytes.data(), room.size());
    bytes = bytes.subspan(room.size());
  }
}

void Batch::append_zeros(std::size_t bytes) {
  while (bytes != 0) {
    const base::MutableBytes room = extend(bytes);
    std::memset(room.data(), 0, room.size());
    bytes -= room.size();
  }
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

std::vector<base::Buffer> Batch::take_pages() {
  append_zeros(static_cast<std::size_t>(next_page(end_) - end_));
  return take_pieces();
}

}  // namespace ron::volume
