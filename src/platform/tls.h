// TLS 1.3 around a Stream, for both sides, with OpenSSL over our own reads and writes: it runs on
// sockets and in a simulation alike.
//
//   auto server = TlsServer::make({.certificates = chain_pem, .key = key_pem});
//   std::unique_ptr<Stream> secured = (*server)->secure(std::move(accepted));
//   auto agreed = co_await secured->handshake(deadline);
//
// A secured stream behaves as Stream says, with one addition: bytes of a write that would block
// must be offered again first, as every caller of try_write does anyway. Large pieces are encrypted
// 64 KiB at a time, so what a blocked stream holds is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "platform/net.h"

namespace ron::platform {

// The most a secured stream holds besides the stream inside: OpenSSL's state, a record each way,
// and what is sealed and waits to be sent. One that waits for its peer holds about 18 KiB.
inline constexpr std::size_t kTlsStreamBytes = 128 * 1024;

// What a server shows: its certificate with those that lead to a root, and the private key, as PEM.
struct TlsIdentity {
  std::string certificates;
  std::string key;
  bool resumable = true;  // gives out sessions; their length is random, which a simulation minds
};

// Immutable; any thread. A renewed certificate is another TlsServer: streams keep the one they were
// made with.
class TlsServer {
 public:
  // Malformed says which of the two cannot be used. Sessions that `previous` gave out can be
  // resumed.
  static base::Result<std::shared_ptr<const TlsServer>> make(const TlsIdentity& identity,
                                                             const TlsServer* previous = nullptr);
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;
  ~TlsServer();

  [[nodiscard]] std::unique_ptr<Stream> secure(std::unique_ptr<Stream> stream) const;
  // The last second the certificate is good for.
  [[nodiscard]] std::int64_t expires_unix_s() const noexcept;

 private:
  struct Context;
  explicit TlsServer(std::unique_ptr<Context> context) noexcept;
  std::unique_ptr<Context> context_;
};

// Any thread. Remembers the last session of each server, to resume it.
class TlsClient : public std::enable_shared_from_this<TlsClient> {
 public:
  // Trusts what the system trusts.
  static base::Result<std::shared_ptr<const TlsClient>> make();
  // Trusts the certificates of this PEM text only. Malformed when it has none.
  static base::Result<std::shared_ptr<const TlsClient>> trusting(std::string_view certificates);
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;
  ~TlsClient();

  // The server must show a certificate for `host`, a name or an address, that is good at that time.
  [[nodiscard]] std::unique_ptr<Stream> secure(std::unique_ptr<Stream> stream, std::string host,
                                               std::int64_t now_unix_s) const;

 private:
  struct Context;
  explicit TlsClient(std::unique_ptr<Context> context) noexcept;
  std::unique_ptr<Context> context_;
};

}  // namespace ron::platform
