#include "pack/sqlite_pages.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pack/sqlite_files.h"

namespace ron::pack {
namespace {

using base::Code;
using base::Result;

constexpr std::size_t kHeaderBytes = 100;  // of the database, at the front of page 1
// Of a page: its type, …, the number of its cells, …, the page of what is behind the last of them,
// then two bytes for each cell that say where it is.
constexpr std::size_t kCellCountAt = 3;
constexpr std::size_t kLastChildAt = 8;
constexpr std::size_t kCellsAt = 12;
// The types of pages that lead to others; their cells begin with the number of one.
constexpr unsigned kInteriorIndex = 2;
constexpr unsigned kInteriorTable = 5;

std::unexpected<base::Error> malformed(std::string why) {
  return base::fail(Code::Malformed, std::move(why));
}

std::uint32_t big_endian(base::ByteView bytes) noexcept {
  std::uint32_t value = 0;
  for (const std::byte byte : bytes) value = value << 8U | static_cast<std::uint32_t>(byte);
  return value;
}

// One walk through trees. The stack has the other children of each page above, and so no more than
// the cells of kMostLevels pages.
class Walk {
 public:
  Walk(const SqlitePages& layout, std::shared_ptr<Source> source)
      : layout_(layout),
        files_(std::move(source)),
        seen_(std::size_t{layout.pages} + 1),
        page_(layout.page_bytes) {}

  Result<void> tree(std::uint32_t root, const base::StopToken& stop) {
    add(root, 1);
    while (!stack_.empty()) {
      if (stop.requested()) return base::fail(stop.error());
      const auto [number, level] = stack_.back();
      stack_.pop_back();
      if (level > SqlitePages::kMostLevels) {
        return malformed("the database is damaged: a tree has more than " +
                         std::to_string(SqlitePages::kMostLevels) + " levels");
      }
      if (seen_[number]) {
        return malformed("the database is damaged: two pages lead to page " +
                         std::to_string(number));
      }
      seen_[number] = true;
      auto added = add_children(number, level);
      if (!added) return added;
    }
    return {};
  }

 private:
  struct Next {
    std::uint32_t number;
    unsigned level;
  };

  // Those that are not in the file lead nowhere.
  void add(std::uint32_t number, unsigned level) {
    if (number >= 1 && number <= layout_.pages) stack_.push_back({number, level});
  }

  Result<void> add_children(std::uint32_t number, unsigned level) {
    const std::size_t head = number == 1 ? kHeaderBytes : 0;
    const std::uint64_t at = std::uint64_t{number - 1} * layout_.page_bytes;
    // Most are leaves, and of those this byte is enough.
    std::array<std::byte, 1> type{};
    if (auto read = fill(at + head, type); !read) return read;
    const auto kind = std::to_integer<unsigned>(type[0]);
    if (kind != kInteriorIndex && kind != kInteriorTable) return {};
    if (auto read = fill(at, page_); !read) return read;
    const base::ByteView page(page_);
    const std::size_t said = big_endian(page.subspan(head + kCellCountAt, 2));
    const std::size_t cells = std::min(said, (page.size() - head - kCellsAt) / 2);
    for (std::size_t i = 0; i < cells; ++i) {
      const std::size_t cell = big_endian(page.subspan(head + kCellsAt + 2 * i, 2));
      if (cell + 4 <= page.size()) add(big_endian(page.subspan(cell, 4)), level + 1);
    }
    add(big_endian(page.subspan(head + kLastChildAt, 4)), level + 1);
    return {};
  }

  // Through groups that are kept, since pages are smaller than what a source verifies.
  Result<void> fill(std::uint64_t offset, base::MutableBytes into) {
    if (files_.read(offset, into) == SQLITE_OK) return {};
    return base::fail(files_.failure.value_or(
        base::Error{Code::Malformed, "the database is damaged: a page is not in the file"}));
  }

  const SqlitePages& layout_;
  SqliteFiles files_;
  std::vector<bool> seen_;
  std::vector<std::byte> page_;
  std::vector<Next> stack_;
};

}  // namespace

Result<SqlitePages> SqlitePages::of(Source& source) {
  std::array<std::byte, kHeaderBytes> bytes{};
  if (source.size() < bytes.size()) return malformed("it ends within the header of SQLite");
  auto read = source.fill(0, bytes);
  if (!read) return base::fail(std::move(read.error()));
  const auto header = base::ByteView(bytes);
  const std::uint32_t stored = big_endian(header.subspan(16, 2));
  const std::uint32_t page = stored == 1 ? 65536 : stored;
  if (!std::has_single_bit(page) || page < 512) {
    return malformed("pages of " + std::to_string(page) + " bytes");
  }
  const std::uint32_t pages = big_endian(header.subspan(28, 4));
  // Written by a version that did not keep the number up to date: then it means nothing.
  const bool counts = big_endian(header.subspan(24, 4)) == big_endian(header.subspan(92, 4));
  const std::uint64_t there = source.size() / page;
  if (counts && pages > there) {
    return malformed("the database has " + std::to_string(pages) + " pages of " +
                     std::to_string(page) + " bytes, and the file is shorter");
  }
  constexpr std::uint64_t kMostPages = std::numeric_limits<std::uint32_t>::max() - 1;
  return SqlitePages{page, static_cast<std::uint32_t>(std::min(there, kMostPages))};
}

Result<void> SqlitePages::check_levels(std::shared_ptr<Source> source,
                                       std::span<const std::uint32_t> roots,
                                       const base::StopToken& stop) const {
  Walk walk(*this, std::move(source));
  for (const std::uint32_t root : roots) {
    auto walked = walk.tree(root, stop);
    if (!walked) return walked;
  }
  return {};
}

}  // namespace ron::pack
