// The uploads of amnesia mode under every schedule: committed, looked at, put again and aborted at
// once. An upload is seen whole or not at all, its bytes have one owner, and all who commit it hear
// the same.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "expect.h"
#include "explorer.h"
#include "seeded.h"
#include "services/storage/ram_uploads.h"

namespace ron::models {
namespace {

constexpr std::int64_t kNow = 1000;
constexpr std::uint64_t kParts = 2;
constexpr int kGone = 0;

// The bytes of a part, told apart by a number. They can be interrupted while they change hands.
class Bytes {
 public:
  Bytes(std::uint64_t size, int content) : size_(size), content_(content) {}
  Bytes(Bytes&& other) noexcept : size_(other.size_) {
    point();
    content_ = std::exchange(other.content_, kGone);
  }
  Bytes& operator=(Bytes&& other) noexcept {
    point();
    content_ = std::exchange(other.content_, kGone);
    return *this;
  }
  ~Bytes() = default;
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] int content() const noexcept { return content_; }

 private:
  std::uint64_t size_;
  int content_ = kGone;
};

b3::ChainingValue value_of(int content) {
  b3::ChainingValue value;
  value.bytes[0] = static_cast<std::byte>(content);
  return value;
}

base::ObjectId address_of(int first, int second) {
  std::array<std::byte, base::ObjectId::kBytes> digest{};
  digest[0] = static_cast<std::byte>(first);
  digest[1] = static_cast<std::byte>(second);
  return base::ObjectId(digest);
}

// What one client is told.
struct Told {
  int answers = 0;
  base::Code code = base::Code::Internal;  // of a failure
  base::ObjectId address;
  bool stored = false;
  bool is_new = false;
};

class Reply {
 public:
  explicit Reply(Told& told) : told_(&told) {}
  void send(base::Result<volume::Added> added) && {
    ++told_->answers;
    told_->stored = added.has_value();
    if (!added) {
      told_->code = added.error().code;
      return;
    }
    told_->address = added->id;
    told_->is_new = added->is_new;
  }

 private:
  Told* told_;
};

// One upload whose parts 1 and 2 have arrived. Clients note what they were told in the step in
// which they were, and let go of it: a frozen thread must not own memory.
template <class Sync>
struct Uploads {
  using Core = storage::RamUploads<Sync, Bytes, Reply>;

  Uploads() {
    upload.id = volume::UploadId(1, 2, 3);
    upload.length = volume::kPartBytes + 1;
    upload.expires_unix_s = kNow + 1;
  }
  // Before the threads run.
  void arrive() {
    core.begin(upload);
    for (int part = 0; part < 2; ++part) static_cast<void>(put(part, part + 1));
  }
  base::Code put(int part, int content) {
    const auto number = static_cast<std::uint64_t>(part);
    const auto kept = core.keep(upload.id, number, Bytes(upload.part_length(number), content),
                                value_of(content), kNow);
    return kept ? kNothing : kept.error().code;
  }

  void commit(Told& told) {
    core.commit(upload.id, kNow, Reply(told), [this](auto claimed) { return make(claimed); });
  }
  // The object has the bytes of every part, those that its value says.
  base::Result<volume::Added> make(typename Core::Claimed claimed) {
    check(++makers == 1, "one at a time makes the object");
    check(claimed.bytes.size() == kParts, "whoever commits has every part");
    std::array<int, kParts> contents{};
    std::size_t next = 0;
    for (const auto& [number, part] : claimed.parts) {
      contents[next] = claimed.bytes[next].content();
      check(part.value == value_of(contents[next]), "whoever commits has the bytes of each value");
      ++next;
    }
    point();
    --makers;
    if (failures > 0 && --failures >= 0) {
      if (loses_bytes) claimed.bytes[0] = Bytes(1, kGone);
      return base::fail(base::Code::HashMismatch, "");
    }
    if (clears_parts) {
      const_cast<typename Core::Parts&>(claimed.parts).clear();
      point();
    }
    ++made;
    object = address_of(contents[0], contents[1]);
    return volume::Added{object, upload.length, true};
  }

  // An upload that is there has all its parts; one that was committed stays so.
  void look() {
    std::uint64_t arrived = 0;
    bool open = false;
    {
      const auto state = core.find(upload.id, kNow);
      open = state && !state->committed;
      if (open && !state->arrived.empty()) arrived = state->arrived[0].last + 1;
      if (state && state->committed) seen_committed = true;
    }
    check(!open || arrived == kParts, "an open upload shows every part that arrived");
    check(!open || !seen_committed, "what was committed is not open again");
  }
  base::Code abort() {
    const auto aborted = core.abort(upload.id);
    return aborted ? kNothing : aborted.error().code;
  }

  // All who commit hear the same, and one of them that the object is new.
  void check_committed(const std::vector<Told*>& all) {
    int news = 0;
    for (const Told* const told : all) {
      check(told->answers == 1, "everyone is answered once");
      check(told->stored && told->address == object, "all who commit hear the same");
      news += told->is_new ? 1 : 0;
    }
    check(made == 1 && news == 1, "the object is made once");
    check(core.committed(upload.id, kNow).has_value(), "a commit is remembered");
    check(!core.committed(upload.id, kNow + 1), "until the upload would have expired");
    check(core.count_open() == 0, "a committed upload is not open");
  }

  static constexpr base::Code kNothing = base::Code::Canceled;  // nothing went wrong
  volume::Upload upload;
  Core core;
  Told first;
  Told second;
  int makers = 0;
  int made = 0;
  int failures = 0;           // of the next commits
  bool loses_bytes = false;   // a commit that fails keeps a part
  bool clears_parts = false;  // whoever commits takes away what others look at
  bool seen_committed = false;
  base::Code put_code = kNothing;
  base::Code abort_code = kNothing;
  base::ObjectId object;
};

template <class Sync>
using Case = std::shared_ptr<Uploads<Sync>>;

// A committer, and whatever else happens to the upload.
template <class Sync = ModelSync>
Scenario commit_against(std::function<void(Model&, Case<Sync>)> others,
                        std::function<void(Uploads<Sync>&)> expected) {
  return [=](Model& model) {
    auto uploads = std::make_shared<Uploads<Sync>>();
    uploads->arrive();
    model.thread("committer", [=] { uploads->commit(uploads->first); });
    others(model, uploads);
    model.finally([=] { expected(*uploads); });
  };
}

template <class Sync>
void commits_too(Model& model, const Case<Sync>& uploads) {
  model.thread("second committer", [=] { uploads->commit(uploads->second); });
}
template <class Sync>
void looks(Model& model, const Case<Sync>& uploads, int times) {
  model.thread("viewer", [=] {
    for (int i = 0; i < times; ++i) uploads->look();
  });
}

template <class Sync = ModelSync>
Scenario commit_and_look(bool clears_parts = false) {
  return commit_against<Sync>(
      [=](Model& model, const Case<Sync>& uploads) {
        uploads->clears_parts = clears_parts;
        looks(model, uploads, 3);
      },
      [](Uploads<Sync>& uploads) { uploads.check_committed({&uploads.first}); });
}

TEST(UploadsModel, AnUploadIsSeenWholeWhileItIsCommitted) {
  expect_holds("uploads/commit, 3 looks", commit_and_look());
}

TEST(UploadsModel, AllWhoCommitHearTheSame) {
  expect_holds("uploads/2 commits, 2 looks",
               commit_against<ModelSync>(
                   [](Model& model, const Case<ModelSync>& uploads) {
                     commits_too(model, uploads);
                     looks(model, uploads, 2);
                   },
                   [](Uploads<ModelSync>& uploads) {
                     uploads.check_committed({&uploads.first, &uploads.second});
                   }));
}

TEST(UploadsModel, ACommitOrAnAbortWins) {
  using base::Code;
  expect_holds("uploads/commit, abort, look",
               commit_against<ModelSync>(
                   [](Model& model, const Case<ModelSync>& uploads) {
                     model.thread("aborter", [=] { uploads->abort_code = uploads->abort(); });
                     looks(model, uploads, 2);
                   },
                   [](Uploads<ModelSync>& uploads) {
                     const bool aborted = uploads.abort_code == Uploads<ModelSync>::kNothing;
                     if (!aborted) return uploads.check_committed({&uploads.first});
                     check(!uploads.first.stored && uploads.first.code == Code::NotFound,
                           "what was aborted is not committed");
                     check(uploads.made == 0 && uploads.core.count_open() == 0,
                           "what was aborted is gone");
                   }));
}

// A part with other bytes counts before the commit or is refused; the same bytes are always fine
// while the upload is there.
template <class Sync = ModelSync>
Scenario part_put_again(int content) {
  return commit_against<Sync>(
      [=](Model& model, const Case<Sync>& uploads) {
        model.thread("putter", [=] { uploads->put_code = uploads->put(0, content); });
        looks(model, uploads, 1);
      },
      [=](Uploads<Sync>& uploads) {
        const bool kept = uploads.put_code == Uploads<Sync>::kNothing;
        const bool counts = uploads.object == address_of(content, 2);
        check(counts == kept || content == 1, "a part that was kept counts");
        check(kept || content != 1 || uploads.put_code == base::Code::NotFound,
              "a repetition is refused only once the upload is gone");
        uploads.check_committed({&uploads.first});
      });
}

TEST(UploadsModel, APartCountsOrIsRefused) {
  expect_holds("uploads/commit, the same part again, look", part_put_again(1));
  expect_holds("uploads/commit, another part instead, look", part_put_again(7));
}

// The first to commit fails; whoever waited for it fails as well, whoever comes later does not.
template <class Sync = ModelSync>
Scenario failed_commit(bool loses_bytes = false) {
  return commit_against<Sync>(
      [=](Model& model, const Case<Sync>& uploads) {
        uploads->failures = 1;
        uploads->loses_bytes = loses_bytes;
        commits_too(model, uploads);
        looks(model, uploads, 1);
      },
      [](Uploads<Sync>& uploads) {
        check(uploads.first.answers == 1 && uploads.second.answers == 1,
              "everyone is answered once");
        if (uploads.made == 0) {
          check(uploads.core.count_open() == 1, "a commit that failed leaves the upload");
          uploads.first = {};
          uploads.commit(uploads.first);
        }
        check(uploads.made == 1 && uploads.first.stored != uploads.second.stored,
              "what is handed back can be committed");
      });
}

TEST(UploadsModel, ACommitThatFailsLeavesTheUpload) {
  expect_holds("uploads/failing commit, commit, look", failed_commit());
}

TEST(UploadsModel, SeededBugsAreCaught) {
  expect_caught("uploads/committer takes the parts others look at", commit_and_look(true));
  expect_caught("uploads/no lock, a part replaced", part_put_again<OpenSync>(7));
  expect_caught("uploads/failed commit keeps a part", failed_commit(true));
}

}  // namespace
}  // namespace ron::models
