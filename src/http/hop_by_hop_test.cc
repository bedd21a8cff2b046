#include "http/hop_by_hop.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "http/field_list.h"
#include "http/head.h"
#include "http/message.h"
#include "http/response_head.h"

namespace ron::http {
namespace {

using Names = std::vector<std::string>;

Names forwarded(MessageKind kind, const std::vector<Field>& received) {
  Names names;
  for (const Field& field : ForwardedFields(kind, received).fields())
    names.emplace_back(field.name);
  return names;
}

TEST(HopByHop, FieldsOfTheConnectionAreKnownInAnyCase) {
  for (const std::string_view name :
       {"Connection", "keep-alive", "TE", "te", "Trailer", "UPGRADE", "Transfer-Encoding",
        "Proxy-Connection", "Proxy-Authenticate", "proxy-authorization", "Proxy-X"}) {
    EXPECT_TRUE(is_hop_by_hop(name)) << name;
  }
  for (const std::string_view name :
       {"Host", "Content-Length", "Proxy", "X-Proxy-Y", "Trailers", "Via", "TEE", "Keep-Alives",
        "Authorization", "Upgrade-Insecure-Requests", "Transfer-Encodings"}) {
    EXPECT_FALSE(is_hop_by_hop(name)) << name;
  }
}

TEST(ForwardedFields, KeepsTheOrderOfWhatGoesOn) {
  EXPECT_EQ(forwarded(MessageKind::Request, {{"Accept", "*/*"},
                                             {"Connection", "close"},
                                             {"X-One", "1"},
                                             {"Keep-Alive", "timeout=5"},
                                             {"Cookie", "a"},
                                             {"Cookie", "b"}}),
            (Names{"Accept", "X-One", "Cookie", "Cookie"}));
}

TEST(ForwardedFields, DropsWhatConnectionNamesOnAnyLine) {
  EXPECT_EQ(forwarded(MessageKind::Response, {{"x-secret", "1"},
                                              {"Connection", " X-Secret ,, close"},
                                              {"X-Other", "2"},
                                              {"X-Kept", "3"},
                                              {"connection", "x-other"}}),
            (Names{"X-Kept"}));
}

TEST(ForwardedFields, LeavesFramingAndHostToTheWriter) {
  const std::vector<Field> received = {
      {"Host", "a"}, {"Content-Length", "3"}, {"Expect", "100-continue"}, {"ETag", "\"e\""}};
  EXPECT_EQ(forwarded(MessageKind::Request, received), (Names{"ETag"}));
  EXPECT_EQ(forwarded(MessageKind::Response, received), (Names{"Host", "Expect", "ETag"}));
}

TEST(ForwardedFields, TakesFieldsOfTheForwarder) {
  const std::vector<Field> received = {{"Via", "x"}, {"X-Corr-ID", "client's"}, {"x-corr-id", "2"}};
  ForwardedFields fields(MessageKind::Request, received);
  fields.remove("X-Corr-ID");
  fields.add("X-Corr-ID", "ours");
  ASSERT_EQ(fields.fields().size(), 2U);
  EXPECT_EQ(fields.fields()[1].value, "ours");
}

TEST(ForwardedFields, HasRoomForAFullHead) {
  const std::vector<Field> received(base::limits::kHeadFields, Field{"X", "y"});
  ForwardedFields fields(MessageKind::Response, received);
  for (std::size_t i = 0; i < ForwardedFields::kOwnFields; ++i) fields.add("Z", "z");
  EXPECT_EQ(fields.fields().size(), base::limits::kHeadFields + ForwardedFields::kOwnFields);
}

// A name that is interesting here, in random case, or one that nobody knows.
rc::Gen<std::string> some_name() {
  const auto known = rc::gen::element<std::string>("connection", "keep-alive", "te", "trailer",
                                                   "upgrade", "proxy-connection", "proxy-z", "via",
                                                   "cookie", "etag", "x-a", "x-b", "x-c");
  return rc::gen::map(rc::gen::pair(known, rc::gen::arbitrary<std::uint32_t>()),
                      [](std::pair<std::string, std::uint32_t> drawn) {
                        for (std::size_t i = 0; i < drawn.first.size(); ++i) {
                          char& c = drawn.first[i];
                          const bool raise = ((drawn.second >> (i % 32)) & 1U) != 0;
                          if (raise && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
                        }
                        return drawn.first;
                      });
}

// What a proxy does with a head: parse, filter, write anew, and the next hop parses that. It sees
// every end-to-end field as it was, in order, and nothing that was for this hop.
TEST(ForwardedFields, WhatIsWrittenAnewIsReadAsTheEndToEndFields) {
  EXPECT_TRUE(rc::check("parse(render(forward(fields)))", [] {
    std::vector<std::pair<std::string, std::string>> lines;
    const auto count = *rc::gen::inRange<std::size_t>(0, 12);
    for (std::size_t i = 0; i < count; ++i) {
      std::string name = *some_name();
      std::string value = std::to_string(i);
      if (iequals(name, "connection")) {
        value = *rc::gen::element<std::string>("close", "keep-alive", "x-a", "close, X-B",
                                               "x-c,x-a", " , te");
      }
      lines.emplace_back(std::move(name), std::move(value));
    }
    std::string text = "GET / HTTP/1.1\r\nHost: a\r\n";
    for (const auto& [name, value] : lines) text.append(name + ": " + value + "\r\n");
    text += "\r\n";
    RequestHead received;
    HeadParser parser;
    RC_ASSERT(parser.parse(text, received).progress == Progress::Done);

    const ForwardedFields onward(MessageKind::Request, received.fields());
    std::array<char, 4096> memory;
    HeadBuffer out(memory);
    RC_ASSERT(render(RequestOut{.host = "b", .fields = onward.fields()}, out));
    RequestHead seen;
    RC_ASSERT(parser.parse(out.view(), seen).progress == Progress::Done);
    RC_ASSERT(seen.host == "b");

    std::vector<std::string> expected;
    for (const auto& [name, value] : lines) {
      bool named = false;
      for (const auto& [other, options] : lines) {
        if (!iequals(other, "connection")) continue;
        ListReader reader(options);
        while (const auto option = reader.next()) named |= iequals(*option, name);
      }
      if (!named && !is_hop_by_hop(name)) expected.push_back(name + ": " + value);
    }
    std::vector<std::string> actual;
    for (const Field& field : seen.fields()) {
      if (known_field(field.name) == KnownField::Host) continue;
      actual.push_back(std::string(field.name) + ": " + std::string(field.value));
    }
    RC_ASSERT(actual == expected);
    const ForwardedFields again(MessageKind::Request, seen.fields());
    RC_ASSERT(again.fields().size() == expected.size());
  }));
}

}  // namespace
}  // namespace ron::http
