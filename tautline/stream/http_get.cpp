#include <fmt/format.h>

#include <algorithm>

#include "tautline/core/error.h"
#include "tautline/stream/endpoint.h"
#include "tautline/stream/http.h"

#ifdef TAUTLINE_BOOST
#include <boost/asio.hpp>
#include <boost/beast.hpp>
#endif

namespace tautline::stream {

#ifdef TAUTLINE_BOOST

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using core::Error;
using core::ErrorKind;

constexpr std::size_t kMostFetched = std::size_t{16} << 20;

}  // namespace

std::string http_get(const std::string& url, std::chrono::milliseconds patience) {
  constexpr std::string_view kScheme = "http://";
  const std::size_t slash = url.find('/', kScheme.size());
  const std::string place =
      url.substr(std::min(kScheme.size(), url.size()), slash - kScheme.size());
  const auto at = parse_host_port(place);
  if (!url.starts_with(kScheme) || !at || slash == std::string::npos)
    throw Error(ErrorKind::config, "url", url, "http://HOST:PORT/PATH");
  asio::io_context io{1};
  error_code failed;
  const auto found = tcp::resolver(io).resolve(at->host, std::to_string(at->port), failed);
  if (failed) throw Error(ErrorKind::io, url, failed.message(), "a host that this machine knows");
  beast::tcp_stream stream(io);
  http::request<http::empty_body> request{http::verb::get, url.substr(slash), 11};
  request.set(http::field::host, place);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kMostFetched);
  stream.expires_after(patience);
  stream.async_connect(found, [&](const error_code& unconnected, const tcp::endpoint&) {
    failed = unconnected;
    if (failed) return;
    http::async_write(stream, request, [&](const error_code& unsent, std::size_t) {
      failed = unsent;
      if (failed) return;
      http::async_read(stream, buffer, parser,
                       [&](const error_code& unread, std::size_t) { failed = unread; });
    });
  });
  io.run();
  if (failed)
    throw Error(ErrorKind::io, url, failed.message(), "an answer",
                "is the run that it belongs to over?");
  if (parser.get().result() != http::status::ok)
    throw Error(ErrorKind::io, url, fmt::format("status {}", parser.get().result_int()), "200",
                parser.get().result_int() == 401 ? "give the address with its token" : "");
  return std::move(parser.get().body());
}

#else

std::string http_get(const std::string&, std::chrono::milliseconds) {
  throw core::Error(core::ErrorKind::unsupported, "http", "a build without Boost",
                    "a build with it", "install libboost-dev and build again");
}

#endif

}  // namespace tautline::stream
