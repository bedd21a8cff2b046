#include "services/kit/budget.h"

#include <algorithm>

#include "http/decode_guard.h"
#include "http/wire.h"
#include "platform/tls.h"

namespace ron::kit {
namespace {

// Both listeners have the section's connection limits.
constexpr std::uint64_t kListeners = 2;
// A busy connection: the head it works on and the buffer it reads a body with, and below that the
// request's state and coroutine frames, rounded up.
constexpr std::uint64_t kRequestStateBytes = 16 * base::kKiB;
constexpr std::uint64_t kConnectionBytes = 2 * http::ReadBuffer::kBytes + kRequestStateBytes;
// Cores of the operators' listener, which has decoders of its own.
constexpr std::uint64_t kAdminCores = 1;
// A body in chunks and a decoded one grow by doubling and are copied once to their final size.
constexpr std::uint64_t kBodyGrowth = 3;

}  // namespace

std::uint64_t total_bytes(const std::vector<Addend>& budget) noexcept {
  std::uint64_t total = 0;
  for (const Addend& addend : budget) total += addend.bytes();
  return total;
}

std::vector<Addend> listener_budget(std::string_view section, const ServiceConfig& config,
                                    std::size_t cores) {
  const std::string own(section);
  const http::ServerSettings& server = config.server;
  const std::uint64_t decode_cap = server.decode_abs_cap_bytes.bytes;
  const std::uint64_t decoded =
      std::min(decode_cap, server.max_body_bytes.bytes * server.decode_ratio_max);
  std::vector<Addend> sum = {
      {"bodies (" + own + ".server.max_inflight, " + own + ".limits.max_body_bytes, " + own +
           ".limits.decode_abs_cap_bytes)",
       server.max_inflight, std::max(kBodyGrowth * server.max_body_bytes.bytes, decoded)},
      {"bodies being decoded, and their decoders (--cores, " + own +
           ".limits.decode_abs_cap_bytes)",
       (cores + kAdminCores) * http::kDecodersPerCore,
       kBodyGrowth * decoded + http::decoder_bytes(decode_cap) + http::DecodeGuard::kPieceBytes},
      {"connections (" + own + ".max_conns, both listeners)", kListeners * server.max_conns,
       kConnectionBytes},
  };
  if (config.tls.enabled()) {
    sum.push_back({"TLS (" + own + ".tls.cert_path, " + own + ".max_conns, both listeners)",
                   kListeners * server.max_conns, platform::kTlsStreamBytes});
  }
  return sum;
}

}  // namespace ron::kit
