"""Ed25519 for tests that sign and verify by themselves: OpenSSL's, without the product's code."""

import base64
import ctypes
import ctypes.util
import os
import pathlib

ED25519 = 1087  # its number in OpenSSL

_crypto = ctypes.CDLL(ctypes.util.find_library("crypto") or "libcrypto.so.3")
for _name in ("EVP_PKEY_new_raw_private_key", "EVP_PKEY_new_raw_public_key", "EVP_MD_CTX_new"):
    getattr(_crypto, _name).restype = ctypes.c_void_p


def _with_context(act):
    context = ctypes.c_void_p(_crypto.EVP_MD_CTX_new())
    try:
        return act(context)
    finally:
        _crypto.EVP_MD_CTX_free(context)


class Key:
    """A key pair, from its seed of 32 bytes. Any thread."""

    def __init__(self, seed=None):
        self._key = ctypes.c_void_p(_crypto.EVP_PKEY_new_raw_private_key(
            ED25519, None, seed or os.urandom(32), ctypes.c_size_t(32)))
        public = ctypes.create_string_buffer(32)
        size = ctypes.c_size_t(32)
        _crypto.EVP_PKEY_get_raw_public_key(self._key, public, ctypes.byref(size))
        self.public = public.raw

    @property
    def text(self):
        """The public key, as configurations and changes have it."""
        return base64.b64encode(self.public).decode()

    def sign(self, text):
        signature, size = ctypes.create_string_buffer(64), ctypes.c_size_t(64)

        def act(context):
            assert _crypto.EVP_DigestSignInit(context, None, None, None, self._key) == 1
            assert _crypto.EVP_DigestSign(context, signature, ctypes.byref(size), text,
                                          ctypes.c_size_t(len(text))) == 1
            return signature.raw

        return _with_context(act)


def seed_of(path):
    """Of a PKCS#8 PEM file: what its DER ends with."""
    lines = pathlib.Path(path).read_text().splitlines()
    return base64.b64decode("".join(lines[1:-1]))[-32:]


def verifies(public, text, signature):
    key = ctypes.c_void_p(_crypto.EVP_PKEY_new_raw_public_key(ED25519, None, public,
                                                              ctypes.c_size_t(32)))

    def act(context):
        _crypto.EVP_DigestVerifyInit(context, None, None, None, key)
        return _crypto.EVP_DigestVerify(context, signature, ctypes.c_size_t(64), text,
                                        ctypes.c_size_t(len(text))) == 1

    try:
        return _with_context(act)
    finally:
        _crypto.EVP_PKEY_free(key)
