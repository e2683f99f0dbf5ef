#include "tautline/stream/endpoint.h"

#include <gtest/gtest.h>

#include "tautline/core/error.h"

namespace tautline::stream {
namespace {

TEST(Endpoints, AreReadAndWritten) {
  for (const char* text : {"tcp://127.0.0.1:9032", "udp://correlator.local:1", "tcp://[::1]:65535",
                           "tcp://localhost:0"})
    EXPECT_EQ(to_string(parse_endpoint("listen", text)), text);
  EXPECT_EQ(parse_endpoint("to", "udp://[::1]:7").host, "::1");
  EXPECT_EQ(parse_endpoint("to", "udp://[::1]:7").transport, Endpoint::Transport::udp);
}

TEST(Endpoints, HostsAndPortsAreReadAlone) {
  EXPECT_EQ(parse_host_port("127.0.0.1:8470")->port, 8470);
  EXPECT_EQ(parse_host_port("[fe80::1]:65535")->host, "fe80::1");
  for (const char* text : {"", ":", "host", "host:", "host:65536", ":80", "fe80::1:80", "a/b:1"})
    EXPECT_FALSE(parse_host_port(text)) << text;
}

TEST(Endpoints, ThatAreNoneAreRefused) {
  for (const char* text :
       {"", "127.0.0.1:9032", "http://127.0.0.1:1", "tcp://", "tcp://127.0.0.1", "tcp://:1",
        "tcp://a:", "tcp://a:65536", "tcp://a:-1", "tcp://a:1x", "tcp://a:1/", "tcp://::1:5",
        "tcp://[]:5", "tcp://[::1:5", "tcp://a b:5"})
    EXPECT_THROW((void)parse_endpoint("listen", text), core::Error) << text;
}

}  // namespace
}  // namespace tautline::stream
