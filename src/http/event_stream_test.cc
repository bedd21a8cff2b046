#include "http/event_stream.h"

#include <gtest/gtest.h>

namespace ron::http {
namespace {

TEST(EventStream, AnEventIsItsFieldsAndAnEmptyLine) {
  EXPECT_EQ(render({.id = "7", .name = "RegistryUpdated", .data = "{\"version\":7}"}),
            "id: 7\nevent: RegistryUpdated\ndata: {\"version\":7}\n\n");
  EXPECT_EQ(render({.data = "x"}), "data: x\n\n");
}

TEST(EventStream, EachLineOfTheDataIsALineOfItsOwn) {
  EXPECT_EQ(render({.data = "a\nb\r\nc\rd"}), "data: a\ndata: b\ndata: c\ndata: d\n\n");
  EXPECT_EQ(render({.data = ""}), "data: \n\n");
}

TEST(EventStream, IdAndNameCannotBreakOutOfTheirLine) {
  EXPECT_EQ(render({.id = "1\n\ndata: forged", .name = "a\rb", .data = "x"}),
            "id: 1data: forged\nevent: ab\ndata: x\n\n");
  EXPECT_EQ(render({.id = std::string("a\0b", 3), .data = "x"}), "id: ab\ndata: x\n\n");
}

}  // namespace
}  // namespace ron::http
