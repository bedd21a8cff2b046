#include "platform/sim/disk_image.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/units.h"

namespace ron::platform::sim {
namespace {

constexpr std::uint64_t kSector = 512;
constexpr std::uint64_t kPage = 4096;
// More than this is never held back: the oldest is written out, as a kernel's write-back does.
constexpr std::uint64_t kPendingBytes = 64 * base::kMiB;

// How a power cut treats one file: the extremes are as likely as the mixtures.
enum class Mood : std::uint8_t { LoseAll, KeepAll, TearSectors, TearPages };

Mood draw_mood(FastRandom& random) { return static_cast<Mood>(random.below(4)); }

void write_into(std::vector<std::byte>& image, std::uint64_t offset, base::ByteView bytes) {
  if (bytes.empty()) return;
  if (image.size() < offset + bytes.size()) image.resize(offset + bytes.size());
  std::memcpy(image.data() + offset, bytes.data(), bytes.size());
}

}  // namespace

DiskImage::DiskImage(std::uint64_t capacity_bytes)
    : capacity_(capacity_bytes), root_(std::make_shared<Inode>()) {
  root_->is_directory = true;
}

DiskImage::InodePtr DiskImage::create(const Place& place, bool is_directory) {
  auto inode = std::make_shared<Inode>();
  inode->id = next_id_++;
  inode->is_directory = is_directory;
  place.directory->names[place.name] = inode;
  name_changes_.push_back({nullptr, "", place.directory, place.name, inode});
  return inode;
}

int DiskImage::open(std::string_view path, OpenMode mode, InodePtr& out) {
  Place place;
  int error = find(path, place);
  if (error == 0) error = check_open(place, mode);
  if (error != 0) return error;
  if (place.inode == nullptr) place.inode = create(place, false);
  out = place.inode;
  ++out->open;
  return 0;
}

bool DiskImage::try_lock(Inode& inode, const void* owner, FileLock lock) {
  for (const auto& [other, held] : inode.locks) {
    const bool both_shared = held == FileLock::Shared && lock == FileLock::Shared;
    if (other != owner && !both_shared) return false;
  }
  inode.locks[owner] = lock;
  return true;
}

void DiskImage::close(Inode& inode) noexcept {
  --inode.open;
  release_if_gone(inode);
}

void DiskImage::release_if_gone(Inode& inode) noexcept {
  if (inode.links == 0 && inode.open == 0) used_ -= inode.bytes.size();
}

void DiskImage::unname(const InodePtr& inode) noexcept {
  --inode->links;
  release_if_gone(*inode);
}

int DiskImage::make_directory(std::string_view path) {
  Place place;
  const int error = find(path, place);
  if (error != 0) return error;
  if (place.inode != nullptr) return place.inode->is_directory ? 0 : EEXIST;
  create(place, true);
  return 0;
}

int DiskImage::list(std::string_view path, std::vector<DirectoryEntry>& out) const {
  InodePtr directory;
  const int error = find_directory(root_, path, directory);
  if (error != 0) return error;
  for (const auto& [name, inode] : directory->names) out.push_back({name, inode->is_directory});
  return 0;
}

int DiskImage::version(std::string_view path, FileVersion& out) const {
  Place place;
  const int error = find(path, place);
  if (error != 0) return error;
  if (place.inode == nullptr) return ENOENT;
  if (place.inode->is_directory) return EISDIR;
  const Inode& inode = *place.inode;
  out = {inode.id, inode.bytes.size(), static_cast<std::int64_t>(inode.changes)};
  return 0;
}

int DiskImage::rename(std::string_view from, std::string_view to) {
  Place source;
  Place target;
  int error = find(from, source);
  if (error == 0) error = find(to, target);
  if (error == 0) error = check_rename(root_, source, target);
  if (error != 0 || source.inode == target.inode) return error;
  if (target.inode != nullptr) unname(target.inode);
  source.directory->names.erase(source.name);
  target.directory->names[target.name] = source.inode;
  name_changes_.push_back(
      {source.directory, source.name, target.directory, target.name, source.inode});
  return 0;
}

int DiskImage::link(std::string_view from, std::string_view to) {
  Place source;
  Place target;
  int error = find(from, source);
  if (error == 0) error = find(to, target);
  if (error == 0) error = check_link(source, target);
  if (error != 0) return error;
  target.directory->names[target.name] = source.inode;
  ++source.inode->links;
  name_changes_.push_back({nullptr, "", target.directory, target.name, source.inode});
  return 0;
}

int DiskImage::remove(std::string_view path) {
  Place place;
  int error = find(path, place);
  if (error == 0) error = check_remove(root_, place);
  if (error != 0) return error;
  place.directory->names.erase(place.name);
  name_changes_.push_back({place.directory, place.name, nullptr, "", place.inode});
  unname(place.inode);
  return 0;
}

int DiskImage::sync_directory(std::string_view path) {
  InodePtr directory;
  const int error = find_directory(root_, path, directory);
  if (error != 0) return error;
  // A change of this directory takes along what happened to the same file before it.
  std::set<std::uint64_t> needed;
  std::vector<bool> chosen(name_changes_.size());
  for (std::size_t i = name_changes_.size(); i-- > 0;) {
    const NameChange& change = name_changes_[i];
    chosen[i] = change.from_directory == directory || change.to_directory == directory ||
                needed.contains(change.inode->id);
    if (chosen[i]) needed.insert(change.inode->id);
  }
  std::vector<NameChange> left;
  for (std::size_t i = 0; i < name_changes_.size(); ++i) {
    if (chosen[i]) {
      apply(name_changes_[i]);
    } else {
      left.push_back(std::move(name_changes_[i]));
    }
  }
  name_changes_ = std::move(left);
  return 0;
}

void DiskImage::apply(const NameChange& change) {
  if (change.from_directory != nullptr) {
    auto& names = change.from_directory->durable_names;
    const auto found = names.find(change.from);
    if (found != names.end() && found->second == change.inode) names.erase(found);
  }
  if (change.to_directory != nullptr) change.to_directory->durable_names[change.to] = change.inode;
}

std::size_t DiskImage::read(const Inode& inode, std::uint64_t offset,
                            base::MutableBytes into) const {
  if (offset >= inode.bytes.size()) return 0;
  const std::size_t bytes = std::min<std::size_t>(into.size(), inode.bytes.size() - offset);
  if (bytes != 0) std::memcpy(into.data(), inode.bytes.data() + offset, bytes);
  return bytes;
}

int DiskImage::resize(Inode& inode, std::uint64_t length) {
  const std::uint64_t grows = length > inode.bytes.size() ? length - inode.bytes.size() : 0;
  if (grows > capacity_ - std::min(used_, capacity_)) return ENOSPC;
  used_ = used_ - inode.bytes.size() + length;
  inode.bytes.resize(length);
  return 0;
}

int DiskImage::write(Inode& inode, std::uint64_t offset, base::ByteView bytes) {
  if (offset > UINT64_MAX - bytes.size()) return EFBIG;
  const std::uint64_t end = offset + bytes.size();
  if (end > inode.bytes.size()) {
    const int error = resize(inode, end);
    if (error != 0) return error;
  }
  write_into(inode.bytes, offset, bytes);
  // A drive puts another sector in the place of one that it is asked to write anew.
  std::erase_if(inode.bad_sectors, [&](std::uint64_t sector) {
    return sector * kSector >= offset && (sector + 1) * kSector <= end;
  });
  record(inode, {0, offset, {bytes.begin(), bytes.end()}, inode.bytes.size(), false});
  return 0;
}

int DiskImage::truncate(Inode& inode, std::uint64_t length) {
  const int error = resize(inode, length);
  if (error != 0) return error;
  record(inode, {0, 0, {}, length, true});
  return 0;
}

void DiskImage::record(Inode& inode, Change change) {
  change.number = ++inode.changes;
  inode.pending_bytes += change.bytes.size();
  inode.pending.push_back(std::move(change));
  if (inode.pending_bytes > kPendingBytes) {
    sync(inode, inode.pending[inode.pending.size() / 2].number);
  }
}

void DiskImage::sync(Inode& inode, std::uint64_t number) {
  auto change = inode.pending.begin();
  for (; change != inode.pending.end() && change->number <= number; ++change) {
    apply(inode, *change);
    inode.pending_bytes -= change->bytes.size();
  }
  inode.pending.erase(inode.pending.begin(), change);
}

void DiskImage::apply(Inode& inode, const Change& change) {
  if (!change.is_truncate) write_into(inode.durable, change.offset, change.bytes);
  inode.durable.resize(change.size_after);
}

void DiskImage::forget_pending(Inode& inode) noexcept {
  inode.pending.clear();
  inode.pending_bytes = 0;
}

int DiskImage::flip_bit(std::string_view path, std::uint64_t offset, unsigned bit) {
  Place place;
  const int error = find(path, place);
  if (error != 0) return error;
  if (place.inode == nullptr) return ENOENT;
  if (offset >= place.inode->bytes.size()) return EINVAL;
  flip_bit(*place.inode, offset, bit);
  return 0;
}

int DiskImage::break_sector(std::string_view path, std::uint64_t offset) {
  Place place;
  const int error = find(path, place);
  if (error != 0) return error;
  if (place.inode == nullptr) return ENOENT;
  if (offset >= place.inode->bytes.size()) return EINVAL;
  place.inode->bad_sectors.insert(offset / kSector);
  return 0;
}

int DiskImage::mend_sectors(std::string_view path) {
  Place place;
  const int error = find(path, place);
  if (error != 0) return error;
  if (place.inode == nullptr) return ENOENT;
  place.inode->bad_sectors.clear();
  return 0;
}

bool DiskImage::unreadable(const Inode& inode, std::uint64_t offset, std::size_t bytes) noexcept {
  const auto sector = inode.bad_sectors.lower_bound(offset / kSector);
  return sector != inode.bad_sectors.end() && *sector * kSector < offset + bytes;
}

void DiskImage::flip_bit(Inode& inode, std::uint64_t offset, unsigned bit) noexcept {
  const std::byte mask = std::byte{1} << (bit % 8);
  if (offset < inode.bytes.size()) inode.bytes[offset] ^= mask;
  if (offset < inode.durable.size()) inode.durable[offset] ^= mask;
}

std::uint64_t DiskImage::power_cut(FastRandom& random) {
  std::uint64_t damaged = lose_unsynced_names(random);
  used_ = 0;
  std::set<const Inode*> visited;
  damaged += lose_unsynced(*root_, random, visited);
  return damaged;
}

std::uint64_t DiskImage::lose_unsynced_names(FastRandom& random) {
  const Mood mood = draw_mood(random);
  std::uint64_t dropped = 0;
  std::set<std::uint64_t> lost;  // files whose later changes cannot have survived
  for (const NameChange& change : name_changes_) {
    const bool keep = mood == Mood::KeepAll || (mood != Mood::LoseAll && random.below(2) == 0);
    if (keep && !lost.contains(change.inode->id)) {
      apply(change);
      continue;
    }
    lost.insert(change.inode->id);
    ++dropped;
  }
  name_changes_.clear();
  return dropped;
}

// What the medium holds becomes what programs see, for this inode and all below it.
std::uint64_t DiskImage::lose_unsynced(Inode& inode, FastRandom& random,
                                       std::set<const Inode*>& visited) {
  if (!visited.insert(&inode).second) {
    ++inode.links;
    return 0;
  }
  inode.links = 1;
  inode.open = 0;
  inode.locks.clear();
  inode.names = inode.durable_names;
  std::uint64_t damaged = 0;
  for (const auto& [name, child] : inode.names) damaged += lose_unsynced(*child, random, visited);
  const Mood mood = draw_mood(random);
  const std::size_t count = inode.pending.size();
  std::size_t sized = random.below(count + 1);  // changes whose new size has survived
  if (mood == Mood::LoseAll) sized = 0;
  if (mood == Mood::KeepAll) sized = count;
  const std::uint64_t grain = mood == Mood::TearPages ? kPage : kSector;
  std::vector<std::byte> image = inode.durable;
  std::uint64_t size = image.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Change& change = inode.pending[i];
    if (i < sized) size = change.size_after;
    if (change.is_truncate && i < sized) image.resize(change.size_after);
    const std::uint64_t end = change.offset + change.bytes.size();
    bool whole = i < sized;
    for (std::uint64_t at = change.offset; at < end;) {
      const std::uint64_t next = std::min(end, (at / grain + 1) * grain);
      const bool keep = mood == Mood::KeepAll || (mood != Mood::LoseAll && random.below(2) == 0);
      if (keep) {
        write_into(image, at, base::ByteView(change.bytes).subspan(at - change.offset, next - at));
      }
      whole = whole && keep;
      at = next;
    }
    damaged += whole ? 0 : 1;
  }
  image.resize(size);
  inode.bytes = image;
  inode.durable = std::move(image);
  forget_pending(inode);
  used_ += inode.bytes.size();
  return damaged;
}

}  // namespace ron::platform::sim
