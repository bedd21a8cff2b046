#include "services/edge/egress.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "config/load.h"
#include "http/uri.h"
#include "services/edge/config.h"

namespace ron::edge {
namespace {

using base::Code;

platform::Endpoint at(std::string_view text) { return platform::Endpoint::parse(text).value(); }

TEST(IsPublic, OrdinaryAddressesAre) {
  for (const std::string_view text :
       {"1.1.1.1:443", "93.184.216.34:443", "172.15.255.255:443", "172.32.0.0:443",
        "100.63.255.255:443", "100.128.0.0:443", "192.167.0.1:443", "198.17.0.1:443",
        "223.255.255.255:443", "[2606:4700::1111]:443", "[2a00:1450::1]:443",
        "[64:ff9b::101:101]:443", "[2002:101:101::]:443", "[::ffff:1.1.1.1]:443"}) {
    EXPECT_TRUE(is_public(at(text))) << text;
  }
}

TEST(IsPublic, WhatStrangersMayNotNameIsNot) {
  for (const std::string_view text : {"0.0.0.0:443",
                                      "0.1.2.3:443",
                                      "10.0.0.1:443",
                                      "100.64.0.1:443",
                                      "100.127.255.255:443",
                                      "127.0.0.1:443",
                                      "127.255.255.255:443",
                                      "169.254.169.254:443",
                                      "172.16.0.1:443",
                                      "172.31.255.255:443",
                                      "192.0.0.1:443",
                                      "192.0.2.1:443",
                                      "192.88.99.1:443",
                                      "192.168.1.1:443",
                                      "198.18.0.1:443",
                                      "198.19.255.255:443",
                                      "198.51.100.1:443",
                                      "203.0.113.1:443",
                                      "224.0.0.1:443",
                                      "239.255.255.255:443",
                                      "240.0.0.1:443",
                                      "255.255.255.255:443",
                                      "[::]:443",
                                      "[::1]:443",
                                      "[::7f00:1]:443",
                                      "[fc00::1]:443",
                                      "[fd12:3456::1]:443",
                                      "[fe80::1]:443",
                                      "[fec0::1]:443",
                                      "[ff02::1]:443",
                                      "[2001::1]:443",
                                      "[2001:db8::1]:443",
                                      "[3fff::1]:443",
                                      "[64:ff9b:1::1]:443",
                                      "[::ffff:127.0.0.1]:443",
                                      "[::ffff:10.0.0.1]:443",
                                      "[64:ff9b::7f00:1]:443",
                                      "[64:ff9b::a9fe:a9fe]:443",
                                      "[2002:7f00:1::]:443",
                                      "[2002:c0a8:101::1]:443",
                                      "[100::1]:443",
                                      "unix:/run/x.sock"}) {
    EXPECT_FALSE(is_public(at(text))) << text;
  }
}

TEST(IsPublic, DressingAnAddressChangesNothing) {
  EXPECT_TRUE(rc::check("mapped, NAT64 and 6to4 are what is in them", [] {
    const auto bytes =
        *rc::gen::container<std::array<std::uint8_t, 4>>(rc::gen::arbitrary<std::uint8_t>());
    platform::Endpoint plain = platform::Endpoint::loopback(443);
    platform::Endpoint nat64;
    platform::Endpoint relayed;
    nat64.ip = {0x00, 0x64, 0xff, 0x9b};
    relayed.ip = {0x20, 0x02};
    for (std::size_t i = 0; i < 4; ++i) {
      plain.ip[12 + i] = nat64.ip[12 + i] = relayed.ip[2 + i] = bytes[i];
    }
    RC_ASSERT(is_public(plain) == is_public(nat64));
    RC_ASSERT(is_public(plain) == is_public(relayed));
  }));
}

OriginUrl url(std::string_view host_port, std::string_view target) {
  return parse_origin(host_port, target).value();
}

TEST(ParseOrigin, IsInOneForm) {
  EXPECT_EQ(url("Example.ORG", "/a?b=%20").text(), "https://example.org/a?b=%20");
  EXPECT_EQ(url("example.org:443", "/").text(), "https://example.org/");
  EXPECT_EQ(url("example.org:8443", "/").authority(), "example.org:8443");
  EXPECT_EQ(url("[2606:4700::1]:8443", "/").authority(), "[2606:4700::1]:8443");
  EXPECT_EQ(url("example.org", "/a?token=secret").without_query(),
            "https://example.org/a?(12 bytes)");
}

TEST(ParseOrigin, HasOneSpelling) {
  for (const auto& [sent, spelled] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"/a", "/a"},
           {"/%61", "/a"},
           {"/a?", "/a"},
           {"/%7euser/%2D.%5f", "/~user/-._"},
           {"/a%3bb%C3%a4", "/a%3Bb%C3%A4"},
           {"/%252e%252E/x", "/%252e%252E/x"},
           {"/a?b=%2f%41&c=%20", "/a?b=%2FA&c=%20"},
           {"/a?b[]=\"1\"|{2}", "/a?b%5B%5D=%221%22%7C%7B2%7D"},
           {"/a?100%&%zz&%4", "/a?100%25&%25zz&%254"},
           {"/a??", "/a??"},
           {"/a!$&'()*+,;=:@b", "/a!$&'()*+,;=:@b"},
           {"/a%21%2B", "/a%21%2B"}}) {
    EXPECT_EQ(url("example.org", sent).target, spelled) << sent;
  }
  EXPECT_EQ(url("[2606:4700:0:0::0001]", "/").host, "2606:4700::1");
  EXPECT_EQ(url("[2606:4700::A]:443", "/").text(), "https://[2606:4700::a]/");
  // Three bytes for one.
  EXPECT_EQ(parse_origin("example.org", "/a?" + std::string(4000, '|')).error().code,
            Code::UriTooLong);
}

TEST(ParseOrigin, ASpellingIsItsOwn) {
  EXPECT_TRUE(rc::check("what is spelled once stays so, and means the same", [] {
    const auto pieces = *rc::gen::container<std::vector<std::string>>(
        rc::gen::elementOf(std::vector<std::string>{"/a", "%61", "%2F", "%2f", "%", "?", "|", "%25",
                                                    "41", "%3b", ";", "[", "~", "%7E", "&x="}));
    std::string target = "/";
    for (const std::string& piece : pieces) target += piece;
    const auto once = parse_origin("example.org", target);
    if (!once) return;
    const auto again = parse_origin("example.org", once->target);
    RC_ASSERT(again.has_value());
    RC_ASSERT(again->target == once->target);
    http::UriScratch before;
    http::UriScratch after;
    RC_ASSERT(*http::decode_path(http::split_target(target).path, before) ==
              *http::decode_path(once->path(), after));
  }));
}

TEST(ParseOrigin, RefusesWhatTwoReadersCouldTakeDifferently) {
  for (const std::string_view host :
       {"", ":443", "example.org.", ".example.org", "a..b", "a b", "user@example.org",
        "example.org:0", "example.org:65536", "example.org:x", "example.org/", "1.2.3.400", "[::1",
        "[zz]", "a,b", "a%2eb", "example.org#x", "example.org?x", "unix:/x"}) {
    EXPECT_FALSE(parse_origin(host, "/")) << host;
  }
  for (const std::string_view target :
       {"", "a", "//a", "/a//b", "/a/../b", "/.", "/a/%2e%2e/b", "/a%2fb", "/a%5cb/..", "/%",
        "/a b", "/a#b", "/\x7f", "/a\r\nHost: x"}) {
    EXPECT_FALSE(parse_origin("example.org", target)) << target;
  }
  EXPECT_EQ(parse_origin("example.org", "/" + std::string(5000, 'a')).error().code,
            Code::UriTooLong);
}

TEST(ParseLocation, LeadsToHttpsOnly) {
  const OriginUrl from = url("example.org:8443", "/a/b?c");
  const auto to = [&](std::string_view location) {
    const auto next = parse_location(from, location);
    return next ? next->text() : std::string(next.error().name());
  };
  EXPECT_EQ(to("https://other.org/x?y#z"), "https://other.org/x?y");
  EXPECT_EQ(to("HTTPS://Other.org"), "https://other.org/");
  EXPECT_EQ(to("https://other.org?q"), "https://other.org/?q");
  EXPECT_EQ(to("//other.org/x"), "https://other.org/x");
  EXPECT_EQ(to("/x"), "https://example.org:8443/x");
  EXPECT_EQ(to("x?y"), "https://example.org:8443/a/x?y");
  EXPECT_EQ(to("?y"), "https://example.org:8443/a/b?y");
  EXPECT_EQ(to("https://other.org/%7ex?%2f"), "https://other.org/~x?%2F");
  for (const std::string_view location :
       {"http://other.org/", "HTTP://other.org/", "ftp://x/", "javascript:1", "file:///etc/x"}) {
    EXPECT_EQ(to(location), "NotAllowed") << location;
  }
  for (const std::string_view location :
       {"", "#x", "../x", "/a/../x", "https://", "https:///x", "https://u:p@other.org/",
        "//other.org:99999/", "/a b", "/\xc3\xa4", "https://other.org:80:80/", "/%2e%2e/x"}) {
    EXPECT_EQ(to(location), "UpstreamFail") << location;
  }
}

bool covers(const std::string& entry, std::string_view host_port, std::string_view target) {
  const std::vector<std::string> entries = {entry};
  return AllowList(entries).covers(url(host_port, target));
}

TEST(AllowList, HostsAreExactUnlessTheySayOtherwise) {
  EXPECT_TRUE(covers("example.org", "example.org", "/x"));
  EXPECT_TRUE(covers("Example.org", "EXAMPLE.ORG", "/x"));
  EXPECT_FALSE(covers("example.org", "www.example.org", "/x"));
  EXPECT_FALSE(covers("example.org", "badexample.org", "/x"));
  EXPECT_TRUE(covers("*.example.org", "a.b.example.org", "/x"));
  EXPECT_FALSE(covers("*.example.org", "example.org", "/x"));
  EXPECT_FALSE(covers("*.example.org", "badexample.org", "/x"));
  EXPECT_TRUE(covers("1.1.1.1", "1.1.1.1", "/x"));
  EXPECT_FALSE(AllowList().covers(url("example.org", "/x")));
}

TEST(AllowList, PortsAre443UnlessAnEntryNamesOne) {
  EXPECT_FALSE(covers("example.org", "example.org:8443", "/x"));
  EXPECT_TRUE(covers("example.org:8443", "example.org:8443", "/x"));
  EXPECT_FALSE(covers("example.org:8443", "example.org", "/x"));
  EXPECT_TRUE(covers("example.org:443", "example.org", "/x"));
}

TEST(AllowList, PrefixesCountInWholeSegmentsOfTheDecodedPath) {
  EXPECT_TRUE(covers("example.org/maps", "example.org", "/maps"));
  EXPECT_TRUE(covers("example.org/maps", "example.org", "/maps/a?b"));
  EXPECT_TRUE(covers("example.org/maps/", "example.org", "/maps"));
  EXPECT_TRUE(covers("example.org/maps", "example.org", "/m%61ps/a"));
  EXPECT_FALSE(covers("example.org/maps", "example.org", "/mapsx"));
  EXPECT_FALSE(covers("example.org/maps", "example.org", "/"));
  EXPECT_FALSE(covers("example.org/maps", "example.org", "/a?/maps"));
  EXPECT_TRUE(covers("example.org/", "example.org", "/a"));
}

// Servers take these for a way out of the prefix, or at least not all for the same.
TEST(AllowList, PrefixesCoverNothingThatServersReadInDifferentWays) {
  for (const std::string_view below :
       {"/..;/secret", "/..;x=1/secret", "/a;/b", "/;/a", "/a;v=1", "/%3b/a", "/..%3B/secret",
        "/%252e%252e/secret", "/%25252e/secret", "/%255c..", "/a%252fb", "/%25u002e%25u002e/secret",
        "/%c0%ae%c0%ae/secret", "/%ff", "/..%20/secret", "/%20/secret", "/.../secret", "/a/..."}) {
    const std::string path = "/maps" + std::string(below);
    EXPECT_FALSE(covers("example.org/maps", "example.org", path)) << path;
    EXPECT_TRUE(covers("example.org", "example.org", path)) << path;
    // Purges are about what is there, whoever let it in.
    EXPECT_TRUE(AllowedOrigin::parse("example.org/maps")->has(url("example.org", path))) << path;
  }
  for (const std::string_view fine :
       {"", "/", "/a", "/a..b/.c/..d", "/100%25", "/100%25.png", "/%C3%A4", "/a%20b", "/a/?x=;..;/",
        "/a?%252e", "/.well-known/x", "/a+b=c,d:e@f!"}) {
    EXPECT_TRUE(covers("example.org/maps", "example.org", "/maps" + std::string(fine))) << fine;
  }
  for (const std::string_view aside : {"/maps;/a", "/maps%3b/a", "/x;/maps/a"}) {
    EXPECT_FALSE(covers("example.org/maps", "example.org", aside)) << aside;
  }
}

TEST(EdgeConfig, AnEntryOfAllowThatIsNoneIsNamed) {
  config::Schema schema;
  schema.add(edge_section());
  for (const std::string_view entry :
       {"https://example.org", "*", "*.", "*.1.2.3.4", "a b", "example.org/a/../b", "example.org?x",
        "example.org/a?b", "user@example.org", "example.org:0", "[::1", ""}) {
    config::Inputs inputs;
    inputs.file_text = "[edge]\nallow = [\"" + std::string(entry) + "\"]\n";
    const auto loaded = config::load(schema, inputs);
    ASSERT_FALSE(loaded) << entry;
    EXPECT_NE(loaded.error().text().find("edge.allow: '" + std::string(entry) + "'"),
              std::string::npos)
        << loaded.error().text();
  }
  config::Inputs inputs;
  inputs.file_text =
      "[edge]\nallow = [\"example.org\", \"a.b:8443/x/y\", \"*.example.org\", \"[::1]:1\"]\n";
  EXPECT_TRUE(config::load(schema, inputs));
}

}  // namespace
}  // namespace ron::edge
