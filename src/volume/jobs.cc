#include "volume/jobs.h"

namespace ron::volume {
namespace {

struct PayloadBytes {
  std::uint64_t operator()(const PutJob& job) const { return job.object.bytes.size(); }
  std::uint64_t operator()(const PartJob& job) const { return job.part.bytes.size(); }
  std::uint64_t operator()(const CommitJob&) const { return kPartBytes; }  // may copy its part
  std::uint64_t operator()(const CopyJob& job) const {
    std::uint64_t sum = 0;
    for (const Copy& copy : job.copies) sum += copy.payload.size();
    return sum;
  }
  template <class Other>
  std::uint64_t operator()(const Other&) const {
    return 0;
  }
};

struct Refuse {
  const base::Error& error;
  template <class Owing>
  void operator()(Owing& job) const {
    if constexpr (requires { job.reply; }) std::move(job.reply).send(base::fail(error));
  }
};

}  // namespace

std::uint64_t payload_bytes(const Job& job) noexcept { return std::visit(PayloadBytes{}, job); }

void has_arrived(Job& job) noexcept {
  if (auto* const put = std::get_if<PutJob>(&job)) put->object.announced.withdraw();
  if (auto* const part = std::get_if<PartJob>(&job)) part->part.announced.withdraw();
}

void refuse(Job job, const base::Error& error) { std::visit(Refuse{error}, job); }

}  // namespace ron::volume
