#include "pack/verified_file.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "b3/hash.h"
#include "platform/wait.h"
#include "runtime/waiting.h"
#include "runtime/within.h"

namespace ron::pack {
namespace {

using base::Code;
using base::Result;
using platform::Task;

// What a thread of the pool hashes before the next in line has it: a few milliseconds.
constexpr std::uint64_t kSliceGroups = 64;
constexpr platform::BlockingKind kHashSlice{"hash_file_slice", std::chrono::seconds(30)};

std::uint64_t length_of(b3::GroupRange range, std::uint64_t bytes) noexcept {
  return std::min(bytes, b3::group_offset(range.first + range.count)) -
         b3::group_offset(range.first);
}

std::unexpected<base::Error> changed_meanwhile() {
  return base::fail(Code::Malformed, "the file was changed while it was read");
}

}  // namespace

VerifiedFile::VerifiedFile(std::unique_ptr<platform::File> file, std::string path,
                           std::uint64_t bytes)
    : file_(std::move(file)), path_(std::move(path)), bytes_(bytes) {
  values_.resize(b3::group_count(bytes));
}

std::unexpected<base::Error> VerifiedFile::changed() const {
  return base::fail(Code::IntegrityFail, path_ + " is not what it was when it was opened");
}

Task<Result<std::shared_ptr<VerifiedFile>>> VerifiedFile::open(Place place, std::string path,
                                                               Progress progress) {
  const auto before = co_await place.disk->version(path);
  if (!before) co_return base::fail(before.error());
  auto file = co_await place.disk->open(path, {});
  if (!file) co_return base::fail(std::move(file.error()));
  const std::uint64_t bytes = before->bytes;
  if (bytes == 0) co_return base::fail(Code::Malformed, "the file is empty");
  const std::shared_ptr<VerifiedFile> made(new VerifiedFile(std::move(*file), path, bytes));
  const std::uint64_t groups = b3::group_count(bytes);
  for (std::uint64_t first = 0; first < groups; first += kSliceGroups) {
    const std::uint64_t count = std::min(kSliceGroups, groups - first);
    auto hashed = co_await place.blocking->run(
        kHashSlice, [made, first, count] { return made->hash_slice(first, count); });
    if (!hashed) co_return base::fail(std::move(hashed.error()));
    if (!*hashed) co_return base::fail(std::move(hashed->error()));
    if (progress) progress(std::min(bytes, b3::group_offset(first + count)), bytes);
  }
  const auto after = co_await place.disk->version(std::move(path));
  if (!after || *after != *before) co_return changed_meanwhile();
  auto finished = made->finish_hash();
  if (!finished) co_return base::fail(std::move(finished.error()));
  co_return made;
}

Result<void> VerifiedFile::hash_slice(std::uint64_t first, std::uint64_t groups) {
  base::Buffer slice(static_cast<std::size_t>(length_of({first, groups}, bytes_)));
  const auto got = file_->read_blocking(b3::group_offset(first), slice.span());
  if (!got) return base::fail(got.error());
  if (*got != slice.size()) return changed_meanwhile();
  if (values_.size() == 1) {
    hash_ = b3::hash(slice.view());
    values_[0].bytes = hash_.digest();
    return {};
  }
  b3::group_values(slice.view(), first,
                   std::span(values_).subspan(static_cast<std::size_t>(first),
                                              static_cast<std::size_t>(groups)));
  return {};
}

Result<void> VerifiedFile::finish_hash() {
  if (values_.size() == 1) return {};
  auto root = b3::root_of(bytes_, b3::kGroupBytes, values_);
  if (!root) return base::fail(std::move(root.error()));
  hash_ = *root;
  return {};
}

bool VerifiedFile::matches(b3::GroupRange range, base::ByteView bytes) const {
  if (bytes.size() != length_of(range, bytes_)) return false;
  // A single group is the root, which BLAKE3 hashes in another way.
  if (values_.size() == 1) return b3::hash(bytes) == hash_;
  for (std::uint64_t group = range.first; group < range.first + range.count; ++group) {
    const std::size_t length = b3::group_length(bytes_, group);
    const b3::ChainingValue value = b3::subtree(bytes.first(length), group * b3::kGroupChunks);
    if (value != values_[static_cast<std::size_t>(group)]) return false;
    bytes = bytes.subspan(length);
  }
  return true;
}

Task<Result<base::Buffer>> VerifiedFile::read_groups(b3::GroupRange range,
                                                     runtime::Deadline deadline) {
  const std::uint64_t offset = b3::group_offset(range.first);
  base::Buffer buffer(static_cast<std::size_t>(length_of(range, bytes_)));
  if (const auto there = file_->try_read_at(offset, buffer.span())) {
    buffer.resize(*there);
  } else {
    auto read = co_await runtime::within(deadline, file_->read_at(offset, std::move(buffer)));
    if (!read) co_return base::fail(std::move(read.error()));
    buffer = std::move(*read);
  }
  platform::Executor::current()->spend(buffer.size());
  if (!matches(range, buffer.view())) co_return changed();
  co_return buffer;
}

Task<Result<base::Buffer>> VerifiedFile::read(std::uint64_t offset, std::uint64_t length,
                                              runtime::Deadline deadline) {
  assert(offset <= bytes_ && length <= bytes_ - offset);
  base::Buffer out;
  for (std::uint64_t done = 0; done < length;) {
    if (runtime::turn_is_over()) co_await platform::Yield();
    if (done > 0 && deadline.passed()) {
      co_return base::fail(Code::Timeout, "the bytes were not read before the deadline");
    }
    const std::uint64_t at = offset + done;
    const auto range = b3::groups_covering(
        bytes_, at, std::min<std::uint64_t>(length - done, kReadBytes - at % b3::kGroupBytes));
    auto groups = co_await read_groups(range, deadline);
    if (!groups) co_return base::fail(std::move(groups.error()));
    const std::uint64_t skipped = at - b3::group_offset(range.first);
    const std::uint64_t taken = std::min(length - done, groups->size() - skipped);
    if (skipped == 0 && taken == length) {
      groups->resize(static_cast<std::size_t>(taken));
      co_return std::move(*groups);
    }
    if (done == 0) out = base::Buffer(static_cast<std::size_t>(length));
    std::memcpy(out.data() + done, groups->data() + skipped, static_cast<std::size_t>(taken));
    done += taken;
  }
  co_return out;
}

Result<void> VerifiedFile::fill(std::uint64_t offset, base::MutableBytes into) {
  if (offset > bytes_ || into.size() > bytes_ - offset) {
    return base::fail(Code::Malformed, "bytes past the end of the file");
  }
  while (!into.empty()) {
    const auto range = b3::groups_covering(
        bytes_, offset,
        std::min<std::uint64_t>(into.size(), kReadBytes - offset % b3::kGroupBytes));
    base::Buffer groups(static_cast<std::size_t>(length_of(range, bytes_)));
    const auto got = file_->read_blocking(b3::group_offset(range.first), groups.span());
    if (!got) return base::fail(got.error());
    if (*got != groups.size() || !matches(range, groups.view())) return changed();
    const auto skipped = static_cast<std::size_t>(offset - b3::group_offset(range.first));
    const std::size_t taken = std::min(into.size(), groups.size() - skipped);
    std::memcpy(into.data(), groups.data() + skipped, taken);
    into = into.subspan(taken);
    offset += taken;
  }
  return {};
}

Task<Result<base::Buffer>> read_some(std::shared_ptr<VerifiedFile> file, std::uint64_t offset,
                                     std::uint64_t length, runtime::Deadline deadline) {
  if (offset >= file->size() || length == 0) {
    co_return base::fail(Code::RangeNotSatisfiable, "nothing to read there");
  }
  // To the end of a group, so that the next read hashes nothing twice.
  const std::uint64_t most = VerifiedFile::kReadBytes - offset % b3::kGroupBytes;
  auto bytes =
      co_await file->read(offset, std::min({length, most, file->size() - offset}), deadline);
  co_return bytes;
}

}  // namespace ron::pack
