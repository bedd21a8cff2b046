// A volume for tests: does what a RamVolume does, and fails or waits where it is told to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "platform/wait.h"
#include "runtime/deadline.h"
#include "runtime/within.h"
#include "services/storage/ram_volume.h"

namespace ron::storage::testing {

class TestVolume final : public volume::Volume {
 public:
  TestVolume(std::uint64_t capacity, platform::SendArena& arena, const platform::Clock& clock)
      : inner_(capacity, arena, clock) {}

  std::optional<base::Error> read_error;
  base::Duration locate_takes{};  // before it looks, as read_takes
  base::Duration read_takes{};
  bool hold_removes = false;  // done, but not answered before release_removes()
  std::uint64_t reads = 0;
  std::vector<std::uint64_t> read_lengths;

  void release_removes() {
    for (auto& [removed, reply] : std::exchange(held_, {})) std::move(reply).send(removed);
  }

  platform::Task<base::Result<volume::ObjectHandle>> locate(base::ObjectId id,
                                                            runtime::Deadline deadline) override {
    if (locate_takes > base::Duration::zero()) {
      auto waited = co_await runtime::within(deadline, pause(locate_takes));
      if (!waited) co_return base::fail(std::move(waited.error()));
    }
    co_return co_await inner_.locate(id, deadline);
  }
  platform::Task<base::Result<volume::Piece>> read(volume::ObjectHandle object,
                                                   std::uint64_t offset, std::uint64_t length,
                                                   runtime::Deadline deadline) override {
    ++reads;
    read_lengths.push_back(length);
    if (read_takes > base::Duration::zero()) {
      auto waited = co_await runtime::within(deadline, pause(read_takes));
      if (!waited) co_return base::fail(std::move(waited.error()));
    }
    if (read_error) co_return base::fail(*read_error);
    co_return co_await inner_.read(std::move(object), offset, length, deadline);
  }
  platform::Task<void> put(volume::NewObject object, runtime::Deadline deadline,
                           volume::Reply<volume::Added> reply) override {
    return inner_.put(std::move(object), deadline, std::move(reply));
  }
  platform::Task<base::Result<bool>> holds(base::ObjectId id, std::string tenant,
                                           runtime::Deadline deadline) override {
    return inner_.holds(id, std::move(tenant), deadline);
  }
  platform::Task<base::Result<volume::Holders>> holders(base::ObjectId id, std::size_t most,
                                                        runtime::Deadline deadline) override {
    return inner_.holders(id, most, deadline);
  }
  platform::Task<void> remove(volume::Removal removal, runtime::Deadline deadline,
                              volume::Reply<volume::Removed> reply) override {
    if (!hold_removes) {
      co_await inner_.remove(std::move(removal), deadline, std::move(reply));
      co_return;
    }
    auto [sender, receiver] = runtime::oneshot<base::Result<volume::Removed>>();
    co_await inner_.remove(std::move(removal), deadline, std::move(sender));
    auto done = co_await receiver.recv(deadline);
    held_.emplace_back(std::move(*done), std::move(reply));
  }
  platform::Task<void> begin_upload(volume::Upload upload, runtime::Deadline deadline,
                                    volume::Reply<bool> reply) override {
    return inner_.begin_upload(std::move(upload), deadline, std::move(reply));
  }
  platform::Task<void> put_part(volume::NewPart part, runtime::Deadline deadline,
                                volume::Reply<b3::ChainingValue> reply) override {
    return inner_.put_part(std::move(part), deadline, std::move(reply));
  }
  platform::Task<void> commit_upload(volume::UploadId upload, runtime::Deadline deadline,
                                     volume::Reply<volume::Added> reply) override {
    return inner_.commit_upload(upload, deadline, std::move(reply));
  }
  platform::Task<void> abort_upload(volume::UploadId upload, runtime::Deadline deadline,
                                    volume::Reply<bool> reply) override {
    return inner_.abort_upload(upload, deadline, std::move(reply));
  }
  platform::Task<base::Result<volume::UploadState>> find_upload(
      volume::UploadId upload, runtime::Deadline deadline) override {
    return inner_.find_upload(upload, deadline);
  }
  platform::Task<base::Result<std::vector<Listed>>> list(std::optional<base::ObjectId> after,
                                                         std::size_t limit,
                                                         runtime::Deadline deadline) override {
    return inner_.list(after, limit, deadline);
  }
  [[nodiscard]] volume::Usage usage(std::string_view tenant) const override {
    return inner_.usage(tenant);
  }
  [[nodiscard]] volume::TenantUsage tenants(std::size_t most) const override {
    return inner_.tenants(most);
  }
  [[nodiscard]] volume::VolumeStats stats() const override { return inner_.stats(); }
  [[nodiscard]] volume::VolumeHealth health() const override { return inner_.health(); }

 private:
  static platform::Task<base::Result<void>> pause(base::Duration duration) {
    co_await runtime::sleep_for(duration);
    co_return base::Result<void>();
  }

  RamVolume inner_;
  std::vector<std::pair<base::Result<volume::Removed>, volume::Reply<volume::Removed>>> held_;
};

}  // namespace ron::storage::testing
