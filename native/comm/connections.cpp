// Found among the files of this process.
#include "comm/connections.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cctype>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "base/platform/system_calls.h"
#include "comm/store.h"

namespace seekrl::comm {

namespace {

std::string ends_key(int rank) { return "ends/" + std::to_string(rank); }

// An end's address as Gloo writes it, "[127.0.0.1]:29500", by getsockname or getpeername; empty where there is none.
std::string end_of(int socket_id, decltype(getsockname)* find) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (find(socket_id, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6) return "";
  const std::optional<std::pair<std::string, std::string>> name = numeric_name(address, length);
  return name ? "[" + name->first + "]:" + name->second : "";
}

bool is_stream(int socket_id) {
  int type = 0;
  socklen_t length = sizeof(type);
  return getsockopt(socket_id, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

// This process's sockets of TCP by the addresses of their ends, this one first.
std::map<std::pair<std::string, std::string>, int> open_sockets() {
  std::map<std::pair<std::string, std::string>, int> sockets;
  for (const int descriptor : open_descriptors()) {
    const std::string own = is_stream(descriptor) ? end_of(descriptor, getsockname) : "";
    if (!own.empty()) sockets.emplace(std::pair(own, end_of(descriptor, getpeername)), descriptor);
  }
  return sockets;
}

bool names(const std::string& message, const std::string& end) {
  const size_t at = message.find(end);
  return at != std::string::npos && std::isdigit(static_cast<unsigned char>(message[at + end.size()])) == 0;
}

}  // namespace

Connections::Connections() {
  for (const auto& [ends, socket_id] : open_sockets()) others_.insert(ends);
}

void Connections::hold(c10d::Store& store, const Place& place) {
  std::string ends;
  for (const auto& [both, socket_id] : open_sockets()) {
    if (others_.contains(both)) continue;
    end_when_silent(socket_id, place.patience);
    ends += both.first + "\n";
  }
  store.set(ends_key(place.rank), ends);
}

std::string rank_in(const std::string& message, c10d::Store& store, const Place& place) {
  for (int rank = 0; rank < place.size; ++rank) {
    if (rank == place.rank || !store.check({ends_key(rank)})) continue;
    std::istringstream ends(store.get_to_str(ends_key(rank)));
    for (std::string end; std::getline(ends, end);) {
      if (names(message, end)) return place.name_of(rank);
    }
  }
  return "";
}

}  // namespace seekrl::comm
