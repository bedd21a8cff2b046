// FifoOrder: in which order a cache lets go of what it has. S3-FIFO: what is new waits in a small
// queue (a tenth); what was asked for again there moves to the main queue, the rest leaves and is
// to be remembered by its key for a while. What comes back while it is remembered goes to the main
// queue at once. So a scan of many passes through the small queue and what is wanted again and
// again stays.
//
// The caller's lock guards it. Nodes are the caller's, derive from FifoLink, and count by `hits`
// how often they were asked for, up to kMaxHits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ron::kit {

template <class Node>
class FifoQueue;

template <class Node>
struct FifoLink {
  std::uint64_t bytes = 0;
  FifoQueue<Node>* in = nullptr;
  Node* older = nullptr;
  Node* newer = nullptr;
};

// An intrusive queue.
template <class Node>
class FifoQueue {
 public:
  void push(Node& node) noexcept {
    node.in = this;
    node.newer = nullptr;
    node.older = newest_;
    (newest_ != nullptr ? newest_->newer : oldest_) = &node;
    newest_ = &node;
    bytes_ += node.bytes;
    ++count_;
  }
  void unlink(Node& node) noexcept {
    (node.older != nullptr ? node.older->newer : oldest_) = node.newer;
    (node.newer != nullptr ? node.newer->older : newest_) = node.older;
    bytes_ -= node.bytes;
    --count_;
    node.in = nullptr;
  }
  [[nodiscard]] Node* oldest() const noexcept { return oldest_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  Node* oldest_ = nullptr;
  Node* newest_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::size_t count_ = 0;
};

template <class Node>
class FifoOrder {
 public:
  static constexpr std::uint8_t kMaxHits = 3;

  // The node's bytes are set. `was_remembered`: it left not long ago.
  void add(Node& node, bool was_remembered) noexcept {
    node.hits = 0;
    (was_remembered ? main_ : small_).push(node);
  }

  struct Victim {
    Node* node = nullptr;
    bool was_new = false;  // nobody asked for it again: its key is to be remembered
  };
  // Whoever has to leave next, in a cache of that many bytes and nodes; it is in no queue any more.
  // There is at least one node.
  Victim next(std::uint64_t bytes, std::size_t nodes = SIZE_MAX) noexcept {
    for (;;) {
      const bool from_small = main_.count() == 0 || small_.bytes() > bytes / kSmallShare ||
                              small_.count() > nodes / kSmallShare;
      FifoQueue<Node>& queue = from_small ? small_ : main_;
      Node& node = *queue.oldest();
      queue.unlink(node);
      if (node.hits == 0) return {&node, from_small};
      if (from_small) {
        node.hits = 0;
      } else {
        --node.hits;
      }
      main_.push(node);
    }
  }

  // It was asked for again since it came.
  [[nodiscard]] bool is_proven(const Node& node) const noexcept { return node.in == &main_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return small_.bytes() + main_.bytes(); }
  [[nodiscard]] std::size_t count() const noexcept { return small_.count() + main_.count(); }

 private:
  static constexpr std::uint64_t kSmallShare = 10;  // a tenth

  FifoQueue<Node> small_;
  FifoQueue<Node> main_;
};

}  // namespace ron::kit
