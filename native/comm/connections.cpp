// Found among the files of this process.
#include "comm/connections.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <sstream>
#include <system_error>

#include "comm/store.h"

namespace seekrl::comm {

namespace {

namespace fs = std::filesystem;

std::string ends_key(int rank) { return "ends/" + std::to_string(rank); }

// Of all sockets of this process, by the names that the system gives them.
std::map<std::string, int> open_sockets() {
  std::map<std::string, int> sockets;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd", error)) {
    const std::string name = fs::read_symlink(entry.path(), error).string();
    if (name.starts_with("socket:")) sockets.emplace(name, std::stoi(entry.path().filename().string()));
  }
  return sockets;
}

// This end's address as Gloo writes it, "[127.0.0.1]:29500"; empty where it is no TCP socket.
std::string own_end(int socket_id) {
  int protocol = 0;
  socklen_t length = sizeof(protocol);
  if (getsockopt(socket_id, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) != 0 || protocol != IPPROTO_TCP) return "";
  sockaddr_storage address{};
  length = sizeof(address);
  if (getsockname(socket_id, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
  const std::optional<std::pair<std::string, std::string>> name = numeric_name(address, length);
  return name ? "[" + name->first + "]:" + name->second : "";
}

void end_when_silent(int socket_id, std::chrono::milliseconds patience) {
  const auto set = [&](int level, int option, int value) {
    setsockopt(socket_id, level, option, &value, sizeof(value));
  };
  const auto seconds = static_cast<int>(patience.count() / 1000);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(patience.count()));
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, seconds / 3));
  set(IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, seconds / 3));
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

bool names(const std::string& message, const std::string& end) {
  const size_t at = message.find(end);
  return at != std::string::npos && std::isdigit(static_cast<unsigned char>(message[at + end.size()])) == 0;
}

}  // namespace

Connections::Connections() {
  for (const auto& [name, socket_id] : open_sockets()) others_.insert(name);
}

void Connections::hold(c10d::Store& store, const Place& place) {
  std::string ends;
  for (const auto& [name, socket_id] : open_sockets()) {
    const std::string end = others_.contains(name) ? "" : own_end(socket_id);
    if (end.empty()) continue;
    end_when_silent(socket_id, place.patience);
    ends += end + "\n";
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
