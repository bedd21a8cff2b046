#include "chain/segment_table.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "chain/frame_scanner.h"

namespace ron::chain {

using base::Code;
using base::Result;
using platform::Task;

Result<FrameRun> SegmentTable::run(std::uint64_t number, std::size_t count,
                                   std::size_t max_bytes) const {
  assert(number >= first && number < next());
  const auto begin = static_cast<std::size_t>(number - first);
  if (offsets[begin] == kDamaged) {
    return base::fail(base::Error(Code::IntegrityFail, "frame " + std::to_string(number) +
                                                           " is damaged: its head does not check")
                          .with("frame", std::to_string(number)));
  }
  FrameRun run{file, first, offsets[begin], 0, 0};
  for (std::size_t i = begin; i < offsets.size() && run.frames < count; ++i) {
    if (offsets[i] == kDamaged) break;
    // What stands between this head and the next one that checks may be more than one frame.
    std::size_t behind = i + 1;
    while (behind < offsets.size() && offsets[behind] == kDamaged) ++behind;
    const std::uint64_t ends = std::min<std::uint64_t>(
        behind < offsets.size() ? offsets[behind] : end, offsets[i] + kMaxStoredFrameBytes);
    const auto bytes = static_cast<std::size_t>(ends - run.offset);
    if (run.frames != 0 && bytes > max_bytes) break;
    run.bytes = bytes;
    ++run.frames;
  }
  return run;
}

Task<Result<TablePtr>> read_table(std::shared_ptr<platform::File> file, LogIdentity log,
                                  std::uint64_t first, std::uint64_t until) {
  auto size = co_await file->size();
  if (!size) co_return base::fail(std::move(size.error()));
  const std::uint64_t most = std::min<std::uint64_t>(*size, UINT32_MAX);
  auto table = std::make_shared<SegmentTable>(first, file);
  FrameScanner scanner(std::move(file), log, first, kSegmentHeadBytes, most,
                       FrameScanner::Depth::Heads);
  for (;;) {
    auto found = co_await scanner.next();
    if (!found) co_return base::fail(std::move(found.error()));
    // What lies behind the end of the log has numbers that the next segment begins with.
    if (!*found || (*found)->head.number >= until) break;
    if ((*found)->head.number < table->next() || !(*found)->sound) continue;
    table->offsets.resize(static_cast<std::size_t>((*found)->head.number - first),
                          SegmentTable::kDamaged);
    table->offsets.push_back(static_cast<std::uint32_t>((*found)->offset));
    table->end = static_cast<std::uint32_t>((*found)->end());
  }
  table->offsets.resize(static_cast<std::size_t>(until - first), SegmentTable::kDamaged);
  co_return TablePtr(std::move(table));
}

TablePtr RecentTables::find(std::uint64_t first) {
  const auto found =
      std::ranges::find_if(tables_, [&](const TablePtr& table) { return table->first == first; });
  if (found == tables_.end()) return nullptr;
  std::rotate(tables_.begin(), found, found + 1);
  return tables_.front();
}

void RecentTables::put(TablePtr table) {
  forget(table->first);
  if (tables_.size() == kTables) tables_.pop_back();
  tables_.insert(tables_.begin(), std::move(table));
}

void RecentTables::forget(std::uint64_t first) {
  std::erase_if(tables_, [&](const TablePtr& table) { return table->first == first; });
}

}  // namespace ron::chain
