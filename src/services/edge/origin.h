// Origin: where the names, manifests and files of sites come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/buffer.h"
#include "base/object_id.h"
#include "base/result.h"
#include "catalog/name.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/shutdown.h"
#include "services/index/api/api.h"
#include "services/storage/api/api.h"

namespace ron::edge {

// Names on cores[0], objects on any core.
class Origin {
 public:
  Origin() = default;
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;
  virtual ~Origin() = default;

  // NotFound when there is no such name or version. Cancel-safe.
  virtual platform::Task<base::Result<index_api::NamedTarget>> look_up(
      catalog::NameRef name, runtime::Deadline deadline) = 0;
  // How long an object is, without reading it. NotFound. Cancel-safe.
  virtual platform::Task<base::Result<std::uint64_t>> stat(base::ObjectId address,
                                                           runtime::Deadline deadline) = 0;
  // All of an object or a part of it, as StorageApi::open: no byte leaves before it was verified.
  // Cancel-safe.
  virtual platform::Task<base::Result<storage_api::ObjectStream>> open(
      base::ObjectId address, std::optional<storage_api::Range> range,
      runtime::Deadline deadline) = 0;
  // A part of an object costs no more than that part.
  [[nodiscard]] virtual bool has_parts() const noexcept = 0;

  // The body of a core's dialer: keeps its connections and closes them in the end.
  virtual platform::Task<void> dial(std::size_t core, runtime::Shutdown shutdown) = 0;
};

// The index and the storage of this process, which outlive it.
class LocalOrigin final : public Origin {
 public:
  LocalOrigin(index_api::IndexApi& index, storage_api::StorageApi& storage) noexcept
      : index_(index), storage_(storage) {}

  platform::Task<base::Result<index_api::NamedTarget>> look_up(catalog::NameRef name,
                                                               runtime::Deadline deadline) override;
  platform::Task<base::Result<std::uint64_t>> stat(base::ObjectId address,
                                                   runtime::Deadline deadline) override;
  platform::Task<base::Result<storage_api::ObjectStream>> open(
      base::ObjectId address, std::optional<storage_api::Range> range,
      runtime::Deadline deadline) override;
  [[nodiscard]] bool has_parts() const noexcept override { return true; }
  platform::Task<void> dial(std::size_t core, runtime::Shutdown shutdown) override;

 private:
  index_api::IndexApi& index_;
  storage_api::StorageApi& storage_;
};

// All of an object, which has exactly `length` bytes: IntegrityFail if it does not. Cancel-safe.
platform::Task<base::Result<base::Buffer>> read_object(Origin* origin, base::ObjectId address,
                                                       std::uint64_t length,
                                                       runtime::Deadline deadline);
// All of an object of at most `most` bytes; BodyCap if it has more. Cancel-safe.
platform::Task<base::Result<base::Buffer>> read_at_most(Origin* origin, base::ObjectId address,
                                                        std::uint64_t most,
                                                        runtime::Deadline deadline);

}  // namespace ron::edge
