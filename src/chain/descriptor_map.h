// DescriptorMap: descriptors by their key, as an immutable value that costs a pointer to copy.
//
// A copy shares everything with the original. An Edit replaces only the chunks that it touches, so
// a reader that holds an older map goes on reading it, on any thread, while a newer one is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chain/descriptor.h"

namespace ron::chain {

class DescriptorMap {
 public:
  using value_type = std::pair<const std::string, DescriptorPtr>;
  // More than this are split in two.
  static constexpr std::size_t kChunkItems = 128;

 private:
  using Item = std::shared_ptr<const value_type>;
  // Never empty; changed only by the edit that made it.
  struct Chunk {
    std::uint64_t made_by = 0;
    std::vector<Item> items;  // by key
  };
  using Root = std::vector<std::shared_ptr<Chunk>>;  // by the keys of their items

 public:
  class ConstIterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = DescriptorMap::value_type;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type*;
    using reference = const value_type&;

    ConstIterator() = default;
    reference operator*() const noexcept { return *(*root_)[chunk_]->items[item_]; }
    pointer operator->() const noexcept { return &**this; }
    ConstIterator& operator++() noexcept {
      if (++item_ == (*root_)[chunk_]->items.size()) {
        ++chunk_;
        item_ = 0;
      }
      return *this;
    }
    ConstIterator operator++(int) noexcept {
      const ConstIterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const ConstIterator& a, const ConstIterator& b) noexcept {
      return a.chunk_ == b.chunk_ && a.item_ == b.item_;
    }

   private:
    friend class DescriptorMap;
    ConstIterator(const Root* root, std::size_t chunk, std::size_t item) noexcept
        : root_(root), chunk_(chunk), item_(item) {}

    const Root* root_ = nullptr;
    std::size_t chunk_ = 0;
    std::size_t item_ = 0;
  };

  DescriptorMap();

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] ConstIterator begin() const noexcept { return {root_.get(), 0, 0}; }
  [[nodiscard]] ConstIterator end() const noexcept { return {root_.get(), root_->size(), 0}; }
  // The first one that is not before the key.
  [[nodiscard]] ConstIterator lower_bound(std::string_view key) const noexcept;
  [[nodiscard]] ConstIterator find(std::string_view key) const noexcept;
  [[nodiscard]] bool contains(std::string_view key) const noexcept { return find(key) != end(); }
  // The key must be there.
  [[nodiscard]] const DescriptorPtr& at(std::string_view key) const noexcept;

  // Changes to one map, which has all of them once finish() returns; readers of its copies see none
  // of them. One thread.
  class Edit {
   public:
    explicit Edit(DescriptorMap& map);
    Edit(const Edit&) = delete;
    Edit& operator=(const Edit&) = delete;
    ~Edit() { finish(); }

    // What is there, or null.
    [[nodiscard]] DescriptorPtr get(std::string_view key) const;
    void set(const std::string& key, DescriptorPtr value);
    void erase(std::string_view key);
    void finish();

   private:
    Chunk& own(std::size_t chunk);
    void merge_small(std::size_t chunk);

    DescriptorMap& map_;
    std::shared_ptr<Root> root_;
    const std::uint64_t id_;
  };

 private:
  struct Place {
    std::size_t chunk = 0;
    std::size_t item = 0;
    bool is_there = false;
  };
  // Where the key is, or would have to stand in its chunk.
  static Place place_of(const Root& root, std::string_view key) noexcept;

  std::shared_ptr<const Root> root_;
  std::size_t size_ = 0;
};

}  // namespace ron::chain
