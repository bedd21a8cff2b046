#include "platform/tls.h"

#include <array>
#include <cassert>
#include <ctime>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "platform/tls_stream.h"

namespace ron::platform {
namespace {

using BioPtr = std::unique_ptr<BIO, OpensslRelease<BIO_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpensslRelease<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, OpensslRelease<X509_free>>;
using SessionPtr = std::unique_ptr<SSL_SESSION, OpensslRelease<SSL_SESSION_free>>;

// What the two sides will speak inside, in ALPN's form: each name behind its length.
constexpr std::array<unsigned char, 9> kProtocols = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
constexpr std::size_t kTicketKeyBytes = 80;  // as OpenSSL lays them out
constexpr std::size_t kSessions = 256;       // a client keeps

template <class T>
T checked(T made) {
  if (!made) throw std::bad_alloc();
  return made;
}

SslContextPtr new_context(const SSL_METHOD* method) {
  SslContextPtr context = checked(SslContextPtr(SSL_CTX_new(method)));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  return context;
}

BioPtr reading(std::string_view text) {
  return checked(BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))));
}

// A key with a passphrase is refused instead of asking at a terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

CertificatePtr next_certificate(BIO* from) {
  return CertificatePtr(PEM_read_bio_X509(from, nullptr, no_passphrase, nullptr));
}

std::unexpected<base::Error> unusable(std::string_view what) {
  return base::fail(base::Code::Malformed, std::string(what) + ": " + openssl_error());
}

base::Result<> use_certificates(SSL_CTX* context, std::string_view pem) {
  const BioPtr text = reading(pem);
  ERR_clear_error();
  const CertificatePtr own = next_certificate(text.get());
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) {
    return unusable("the certificate cannot be used");
  }
  while (CertificatePtr issuer = next_certificate(text.get())) {
    if (SSL_CTX_add1_chain_cert(context, issuer.get()) != 1) {
      return unusable("a certificate of the chain cannot be used");
    }
  }
  ERR_clear_error();
  return {};
}

base::Result<> use_key(SSL_CTX* context, std::string_view pem) {
  const BioPtr text = reading(pem);
  ERR_clear_error();
  const KeyPtr key(PEM_read_bio_PrivateKey(text.get(), nullptr, no_passphrase, nullptr));
  if (!key) return unusable("the private key cannot be used");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return unusable("the private key is not the certificate's");
  }
  return {};
}

int select_protocol(SSL*, const unsigned char** out, unsigned char* out_bytes,
                    const unsigned char* offered, unsigned int offered_bytes, void*) {
  unsigned char* chosen = nullptr;
  const int outcome = SSL_select_next_proto(&chosen, out_bytes, kProtocols.data(),
                                            kProtocols.size(), offered, offered_bytes);
  *out = chosen;
  return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

std::int64_t unix_s(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return timegm(&parts);
}

}  // namespace

struct TlsServer::Context {
  SslContextPtr ssl = new_context(TLS_server_method());
};

TlsServer::TlsServer(std::unique_ptr<Context> context) noexcept : context_(std::move(context)) {}
TlsServer::~TlsServer() = default;

base::Result<std::shared_ptr<const TlsServer>> TlsServer::make(const TlsIdentity& identity,
                                                               const TlsServer* previous) {
  auto context = std::make_unique<Context>();
  SSL_CTX* const ssl = context->ssl.get();
  if (auto used = use_certificates(ssl, identity.certificates); !used) {
    return base::fail(std::move(used.error()));
  }
  if (auto used = use_key(ssl, identity.key); !used) return base::fail(std::move(used.error()));
  SSL_CTX_set_alpn_select_cb(ssl, &select_protocol, nullptr);
  // Tickets hold the sessions, so that no core needs another's memory.
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
  if (!identity.resumable) SSL_CTX_set_num_tickets(ssl, 0);
  constexpr std::string_view kSessionContext = "ron";
  SSL_CTX_set_session_id_context(
      ssl, reinterpret_cast<const unsigned char*>(kSessionContext.data()), kSessionContext.size());
  if (previous != nullptr) {
    std::array<unsigned char, kTicketKeyBytes> keys{};
    SSL_CTX* const old = previous->context_->ssl.get();
    if (SSL_CTX_get_tlsext_ticket_keys(old, keys.data(), keys.size()) == 1) {
      SSL_CTX_set_tlsext_ticket_keys(ssl, keys.data(), keys.size());
    }
    OPENSSL_cleanse(keys.data(), keys.size());
  }
  return std::shared_ptr<const TlsServer>(new TlsServer(std::move(context)));
}

std::unique_ptr<Stream> TlsServer::secure(std::unique_ptr<Stream> stream) const {
  SslPtr ssl = checked(SslPtr(SSL_new(context_->ssl.get())));
  SSL_set_accept_state(ssl.get());
  return std::make_unique<TlsStream>(std::move(stream), std::move(ssl), std::string(), nullptr);
}

std::int64_t TlsServer::expires_unix_s() const noexcept {
  return unix_s(X509_get0_notAfter(SSL_CTX_get0_certificate(context_->ssl.get())));
}

struct TlsClient::Context {
  SslContextPtr ssl = new_context(TLS_client_method());
  std::mutex mutex;
  std::map<std::string, SessionPtr, std::less<>> sessions;  // guarded by mutex; by server name

  Context() {
    SSL_CTX_set_verify(ssl.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_alpn_protos(ssl.get(), kProtocols.data(), kProtocols.size());
    SSL_CTX_set_session_cache_mode(ssl.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_set_app_data(ssl.get(), this);
    SSL_CTX_sess_set_new_cb(ssl.get(), &Context::remember);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() = default;

  // OpenSSL's callback; 1 takes the reference over.
  static int remember(SSL* connection, SSL_SESSION* session) {
    auto& self = *static_cast<Context*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(connection)));
    const auto* const host = static_cast<const std::string*>(SSL_get_app_data(connection));
    if (host == nullptr) return 0;
    const std::lock_guard lock(self.mutex);
    const auto known = self.sessions.find(*host);
    if (known == self.sessions.end() && self.sessions.size() >= kSessions) {
      self.sessions.erase(self.sessions.begin());
    }
    self.sessions[*host] = SessionPtr(session);
    return 1;
  }
};

TlsClient::TlsClient(std::unique_ptr<Context> context) noexcept : context_(std::move(context)) {}
TlsClient::~TlsClient() = default;

base::Result<std::shared_ptr<const TlsClient>> TlsClient::make() {
  auto context = std::make_unique<Context>();
  ERR_clear_error();
  if (SSL_CTX_set_default_verify_paths(context->ssl.get()) != 1) {
    return unusable("the system's trust store cannot be used");
  }
  return std::shared_ptr<const TlsClient>(new TlsClient(std::move(context)));
}

base::Result<std::shared_ptr<const TlsClient>> TlsClient::trusting(std::string_view certificates) {
  auto context = std::make_unique<Context>();
  X509_STORE* const store = SSL_CTX_get_cert_store(context->ssl.get());
  const BioPtr text = reading(certificates);
  std::size_t count = 0;
  ERR_clear_error();
  while (CertificatePtr root = next_certificate(text.get())) {
    if (X509_STORE_add_cert(store, root.get()) != 1) {
      return unusable("a trusted certificate cannot be used");
    }
    ++count;
  }
  if (count == 0) return unusable("no certificate to trust");
  ERR_clear_error();
  return std::shared_ptr<const TlsClient>(new TlsClient(std::move(context)));
}

std::unique_ptr<Stream> TlsClient::secure(std::unique_ptr<Stream> stream, std::string host,
                                          std::int64_t now_unix_s) const {
  SslPtr ssl = checked(SslPtr(SSL_new(context_->ssl.get())));
  SSL_set_connect_state(ssl.get());
  X509_VERIFY_PARAM* const rules = SSL_get0_param(ssl.get());
  X509_VERIFY_PARAM_set_time(rules, now_unix_s);
  X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  // An address is no name: it is looked for among the certificate's addresses, and not announced.
  if (X509_VERIFY_PARAM_set1_ip_asc(rules, host.c_str()) != 1) {
    checked(X509_VERIFY_PARAM_set1_host(rules, host.data(), host.size()) == 1 &&
            SSL_set_tlsext_host_name(ssl.get(), host.c_str()) == 1);
  }
  {
    const std::lock_guard lock(context_->mutex);
    const auto known = context_->sessions.find(host);
    if (known != context_->sessions.end()) SSL_set_session(ssl.get(), known->second.get());
  }
  return std::make_unique<TlsStream>(std::move(stream), std::move(ssl), std::move(host),
                                     shared_from_this());
}

}  // namespace ron::platform
