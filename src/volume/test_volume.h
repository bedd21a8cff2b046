// For the tests of this folder: a volume on a simulated machine, used step by step.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "b3/hash.h"
#include "runtime/test_wires.h"
#include "volume/disk_volume.h"
#include "volume/test_support.h"

namespace ron::volume {

// All indexes that the volume may have are gone.
inline void lose_index(Machine& machine) {
  for (int i = 1; i < 20; ++i) {
    machine.node.key_values().damage("/data/index." + std::to_string(i));
  }
}

inline Options small_options() {
  Options options;
  options.directory = "/data";
  options.segment_bytes = 256 * base::kKiB;
  options.fingerprint_bytes = 64 * base::kKiB;  // few enough to be forgotten
  options.tuning.min_free_bytes = 0;
  options.tuning.scrub_rate = base::Rate{1 * base::kGiB};
  options.compact_every = std::chrono::hours(100);
  return options;
}

// One life of the volume's process: its tasks run until it is destroyed, which is a crash.
class Life {
 public:
  Life(Machine& machine, Options options)
      : Life(machine, std::move(options), machine.node.host()) {}
  Life(Machine& machine, Options options, platform::Host host)
      : machine_(machine),
        volume_(std::make_unique<DiskVolume>(
            host, service_.topology, runtime::kJobs, 1024, runtime::kTestLocks[0],
            std::move(options),
            [this](const base::ObjectId& id, std::uint64_t group) {
              corrupt.emplace_back(id, group);
            },
            [this](std::string_view text) { trouble.emplace_back(text); })) {
    machine_.run(open(volume_.get(), &opened));
    if (!opened) return;
    start_task(supervised(volume_.get(), shutdown, &committer_failures));
    start_task(volume_->recoverer(shutdown));
    start_task(volume_->compactor(shutdown));
    start_task(volume_->scrubber(shutdown));
  }

  DiskVolume& volume() { return *volume_; }
  // Stops it the proper way.
  void stop() {
    shutdown.trigger(runtime::StopReason::Signal);
    machine_.run_until([&] { return all_done(); });
  }
  void wait_readable() {
    machine_.run_until([&] { return volume_->health().readable; });
  }

  base::Result<void> opened;
  runtime::Shutdown shutdown;
  std::vector<std::pair<base::ObjectId, std::uint64_t>> corrupt;
  std::vector<std::string> trouble;
  int committer_failures = 0;

 private:
  // As its supervisor has it: again after a failure.
  static platform::Task<void> supervised(DiskVolume* volume, runtime::Shutdown shutdown,
                                         int* failures) {
    for (;;) {
      try {
        co_await volume->committer(shutdown);
        co_return;
      } catch (const std::exception&) {
        ++*failures;
      }
    }
  }
  static platform::Task<void> open(DiskVolume* volume, base::Result<void>* result) {
    *result = co_await volume->open();
  }
  void start_task(platform::Task<void> task) {
    tasks_.push_back(std::make_unique<platform::test::Root>(machine_.node.core(), std::move(task)));
  }
  bool all_done() {
    return std::ranges::all_of(tasks_, [](const auto& task) { return task->done(); });
  }

  Machine& machine_;
  runtime::TestService service_;
  std::unique_ptr<DiskVolume> volume_;
  std::vector<std::unique_ptr<platform::test::Root>> tasks_;
};

template <class T>
using Answer = std::shared_ptr<std::optional<base::Result<T>>>;

template <class T>
platform::Task<void> wait_answer(
    platform::Task<void> submitted,
    std::shared_ptr<runtime::OneshotReceiver<base::Result<T>>> receiver, Answer<T> answer) {
  co_await submitted;
  auto received = co_await receiver->recv(runtime::Deadline());
  if (received) {
    *answer = std::move(*received);
  } else {
    *answer = base::fail(base::Code::Canceled, "dropped");
  }
}

// A write under way: `submit` gets the reply and returns the task that submits it.
template <class T>
class Write {
 public:
  template <class Submit>
  Write(Machine& machine, Submit submit) : machine_(machine) {
    auto [sender, receiver] = runtime::oneshot<base::Result<T>>();
    auto shared = std::make_shared<runtime::OneshotReceiver<base::Result<T>>>(std::move(receiver));
    root_ = std::make_unique<platform::test::Root>(
        machine.node.core(), wait_answer<T>(submit(std::move(sender)), shared, answer_));
  }
  [[nodiscard]] bool done() const { return answer_->has_value(); }
  base::Result<T> get() {
    machine_.run_until([&] { return done(); });
    return **answer_;
  }

 private:
  Machine& machine_;
  Answer<T> answer_ = std::make_shared<std::optional<base::Result<T>>>();
  std::unique_ptr<platform::test::Root> root_;
};

inline Write<Added> put(Machine& machine, DiskVolume& volume, base::ByteView bytes,
                        std::string tenant = "acme") {
  NewObject object{b3::hash(bytes), buffer_of(bytes), std::move(tenant), {}};
  return {machine, [&](Reply<Added> reply) {
            return volume.put(std::move(object), runtime::Deadline(), std::move(reply));
          }};
}
inline Write<Removed> remove(Machine& machine, DiskVolume& volume, base::ObjectId id,
                             std::optional<std::string> tenant = "acme") {
  return {machine, [&](Reply<Removed> reply) {
            return volume.remove({id, std::move(tenant)}, runtime::Deadline(), std::move(reply));
          }};
}
inline Write<bool> begin(Machine& machine, DiskVolume& volume, Upload upload) {
  return {machine, [&](Reply<bool> reply) {
            return volume.begin_upload(std::move(upload), runtime::Deadline(), std::move(reply));
          }};
}
inline Write<b3::ChainingValue> put_part(Machine& machine, DiskVolume& volume, UploadId upload,
                                         std::uint64_t part, base::ByteView bytes) {
  return {machine, [&](Reply<b3::ChainingValue> reply) {
            return volume.put_part({upload, part, buffer_of(bytes)}, runtime::Deadline(),
                                   std::move(reply));
          }};
}
inline Write<Added> commit(Machine& machine, DiskVolume& volume, UploadId upload) {
  return {machine, [&](Reply<Added> reply) {
            return volume.commit_upload(upload, runtime::Deadline(), std::move(reply));
          }};
}
inline Write<bool> abort(Machine& machine, DiskVolume& volume, UploadId upload) {
  return {machine, [&](Reply<bool> reply) {
            return volume.abort_upload(upload, runtime::Deadline(), std::move(reply));
          }};
}

// A whole upload, part by part.
inline base::Result<Added> store_in_parts(Machine& machine, DiskVolume& volume, UploadId id,
                                          base::ByteView object, std::int64_t expires_unix_s = 0) {
  const Upload upload{id, object.size(), std::nullopt, "acme", expires_unix_s};
  static_cast<void>(begin(machine, volume, upload).get());
  for (std::uint64_t part = 0; part < upload.parts(); ++part) {
    const base::ByteView bytes = object.subspan(part * kPartBytes, upload.part_length(part));
    static_cast<void>(put_part(machine, volume, id, part, bytes).get());
  }
  return commit(machine, volume, id).get();
}

inline platform::Task<void> read_all(DiskVolume* volume, base::ObjectId id,
                                     base::Result<std::vector<std::byte>>* out) {
  auto located = co_await volume->locate(id, {});
  if (!located) {
    *out = base::fail(std::move(located.error()));
    co_return;
  }
  std::vector<std::byte> bytes;
  while (bytes.size() < located->length) {
    auto piece = co_await volume->read(*located, bytes.size(), kPartBytes, {});
    if (!piece) {
      *out = base::fail(std::move(piece.error()));
      co_return;
    }
    bytes.insert(bytes.end(), piece->bytes.begin(), piece->bytes.end());
  }
  *out = std::move(bytes);
}
inline base::Result<std::vector<std::byte>> get(Machine& machine, DiskVolume& volume,
                                                base::ObjectId id) {
  base::Result<std::vector<std::byte>> out;
  machine.run(read_all(&volume, id, &out));
  return out;
}

// The answer of any awaiting call.
template <class T>
platform::Task<void> keep(platform::Task<T> task, std::optional<T>* out) {
  *out = co_await task;
}
template <class T>
T run(Machine& machine, platform::Task<T> task) {
  std::optional<T> out;
  machine.run(keep<T>(std::move(task), &out));
  return std::move(*out);
}

}  // namespace ron::volume
