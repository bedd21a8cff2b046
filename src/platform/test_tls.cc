#include "platform/test_tls.h"

#include <memory>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "platform/tls_stream.h"

namespace ron::platform::test {
namespace {

using CertificatePtr = std::unique_ptr<X509, OpensslRelease<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpensslRelease<EVP_PKEY_free>>;
using BioPtr = std::unique_ptr<BIO, OpensslRelease<BIO_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, OpensslRelease<X509_EXTENSION_free>>;

std::string text_of(const BioPtr& bio) {
  char* data = nullptr;
  const long bytes = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(bytes)};
}

void add_name(X509* certificate, const std::string& host) {
  const bool is_address = host.find_first_not_of("0123456789.") == std::string::npos;
  const std::string value = (is_address ? "IP:" : "DNS:") + host;
  const ExtensionPtr names(
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, value.c_str()));
  X509_add_ext(certificate, names.get(), -1);
}

}  // namespace

TlsIdentity make_identity(const MadeIdentity& wanted) {
  const KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  const CertificatePtr certificate(X509_new());
  X509* const it = certificate.get();
  X509_set_version(it, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(it), 1);
  ASN1_TIME_set(X509_getm_notBefore(it), wanted.from_unix_s);
  ASN1_TIME_set(X509_getm_notAfter(it), wanted.until_unix_s);
  // Whoever trusts several of them tells them apart by their subjects.
  const std::string subject = "ron test " + wanted.host;
  X509_NAME_add_entry_by_txt(X509_get_subject_name(it), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(subject.c_str()), -1, -1, 0);
  X509_set_issuer_name(it, X509_get_subject_name(it));
  X509_set_pubkey(it, key.get());
  add_name(it, wanted.host);
  X509_sign(it, key.get(), nullptr);
  const BioPtr certificate_out(BIO_new(BIO_s_mem()));
  const BioPtr key_out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(certificate_out.get(), it);
  PEM_write_bio_PrivateKey(key_out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {text_of(certificate_out), text_of(key_out)};
}

TlsPair::TlsPair(const MadeIdentity& wanted) {
  const TlsIdentity identity = make_identity(wanted);
  server = TlsServer::make(identity).value();
  client = TlsClient::trusting(identity.certificates).value();
}

}  // namespace ron::platform::test
